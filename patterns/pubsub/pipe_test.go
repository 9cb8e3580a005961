// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package pubsub

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/internal/wire"
)

func TestWhatWaitsForALinkIsBounded(t *testing.T) {
	// This test has frames wait for a link that is being established, and goes
	// one over the bound: there is no room for it. When the link fails, nobody
	// waits for room any more; what is kept is counted when it is given up.
	l := newLone(t)
	q := l.pipe("p")
	const fits = 4
	body := make([]byte, maxKept/fits-wire.MaxPayload)
	for range fits {
		require.True(t, q.hasRoom(len(body)))
		v, _ := q.send(destination{}, wire.KindPublish, body)
		require.Equal(t, sent, v)
	}
	require.False(t, q.hasRoom(len(body)))
	v, losses := q.send(destination{}, wire.KindPublish, body)
	require.Equal(t, full, v)

	q.dialFailed()
	require.True(t, q.hasRoom(len(body)))
	v, more := q.send(destination{}, wire.KindPublish, body)
	require.Equal(t, lost, v)
	require.Greater(t, more, losses)
	require.Zero(t, l.dropped(dropUnsent))
	require.Len(t, q.kept.ring, maxKept)

	q.mu.Lock()
	q.giveUp()
	q.mu.Unlock()
	require.EqualValues(t, fits*(len(body)/wire.MaxPart+1), l.dropped(dropUnsent))
	require.Empty(t, q.kept.ring)
	require.Greater(t, q.lossCount(), more)
}
