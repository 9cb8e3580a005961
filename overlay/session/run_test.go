// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package session_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/overlay/session"
)

// TestARunIsWhatItsMessagesAreOneByOne proves that messages that are queued together
// arrive as if each had been sent by itself, long ones among them, over a connection
// that breaks, and cost their receiver's writer one wake-up.
func TestARunIsWhatItsMessagesAreOneByOne(t *testing.T) {
	pair(t, func(t *testing.T, a, b *end) {
		breaks := connect(a, b)
		var tails [][]byte
		var want []string
		for i := range 100 {
			tail := fmt.Sprint(i)
			if i%40 == 7 {
				tail = strings.Repeat(tail, 100<<10)
			}
			tails, want = append(tails, []byte(tail)), append(want, "head "+tail)
		}
		n, err := session.SendRun(a.Session, wire.LanePub, wire.KindPublish, []byte("head "), tails)
		require.NoError(t, err)
		require.Equal(t, len(tails), n)
		for i := range tails {
			clear(tails[i]) // it was copied
		}
		breaks()
		synctest.Wait()
		connect(a, b)
		synctest.Wait()
		require.Equal(t, want, b.got())

		wakes := a.wakes.Load()
		n, err = session.SendRun(a.Session, wire.LanePub, wire.KindPublish, nil, tails[:7])
		require.NoError(t, err)
		require.Equal(t, 7, n)
		require.LessOrEqual(t, a.wakes.Load()-wakes, int64(1))
	})
}

// TestARunEndsWhereThereIsNoRoom proves that of a run those are queued that the window
// has room for, that the number says which, and that one that is too long, or comes
// after the session's end, is refused as by itself.
func TestARunEndsWhereThereIsNoRoom(t *testing.T) {
	pair(t, func(t *testing.T, a, b *end) {
		tails := make([][]byte, 12)
		for i := range tails {
			tails[i] = bytes.Repeat([]byte{byte(i)}, 985)
		}
		n, err := session.SendRun(a.Session, wire.LanePub, wire.KindPublish, []byte("and head, "), tails)
		require.ErrorIs(t, err, session.ErrLaneFull)
		require.Equal(t, 10, n)
		connect(a, b)
		synctest.Wait()
		require.Len(t, b.got(), 10)
		n, err = session.SendRun(a.Session, wire.LanePub, wire.KindPublish, nil, [][]byte{{1}, make([]byte, 2<<20), {3}})
		require.ErrorIs(t, err, session.ErrTooLarge)
		require.Equal(t, 1, n)
		a.End()
		n, err = session.SendRun(a.Session, wire.LanePub, wire.KindPublish, nil, tails)
		require.ErrorIs(t, err, session.ErrDown)
		require.Zero(t, n)
	}, func(c *session.Config) { c.LaneBytes[wire.LanePub], c.MaxMessage = 10_000, 1<<20 })
}
