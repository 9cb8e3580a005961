// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package session_test

import (
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/overlay/session"
)

// TestRestEndsWhatCameTogether proves that Rest is called once for messages that have
// come together, behind the last of them, and before they count as received; and that
// none is left without it when the connection breaks.
func TestRestEndsWhatCameTogether(t *testing.T) {
	var b *end
	handled, rested, rests := 0, 0, 0
	rest := func() {
		if b == nil || handled == rested {
			return
		}
		require.Less(t, b.Received()[wire.LanePub], uint64(handled))
		rested, rests = handled, rests+1
	}
	pair(t, func(t *testing.T, x, y *end) {
		b = y
		b.handler = func(wire.Lane, wire.Kind, []byte) bool {
			handled++
			return false
		}
		const count = 100
		tails := make([][]byte, count)
		n, err := session.SendRun(x.Session, wire.LanePub, wire.KindPublish, []byte("x"), tails)
		require.NoError(t, err)
		require.Equal(t, count, n)
		breaks := connect(x, b)
		synctest.Wait()
		require.Equal(t, []int{count, count}, []int{handled, rested})
		require.LessOrEqual(t, rests, 5)
		_, err = x.Send(wire.LanePub, wire.KindPublish, []byte("alone"))
		require.NoError(t, err)
		breaks()
		synctest.Wait()
		require.Equal(t, handled, rested)
		require.Equal(t, uint64(handled), b.Received()[wire.LanePub])
	}, func(c *session.Config) { c.Rest = rest })
}
