// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/internal/drop"
)

// Frames beyond the bounds are dropped and counted, one peer's flood leaves
// room for the others, and nothing else is ever dropped.
func TestInboxIsBoundedForFramesOnly(t *testing.T) {
	wakes := 0
	b := newInbox(drop.New(dropReasons), func() { wakes++ })
	frame := func(from string, size int) event {
		return frameEvent{from: testPeer(from), msg: &unwatchMsg{}, size: size}
	}
	for range maxInboxPerPeer + 5 {
		b.put(frame("A", 1))
	}
	require.Equal(t, uint64(5), b.drops.ByName()["inbox_full"])
	b.put(frame("B", 1))
	b.put(frame("B", maxInboxBytes))
	require.Equal(t, uint64(6), b.drops.ByName()["inbox_full"])
	for range 10 {
		b.put(linkEvent{})
		b.put(tableEvent{})
	}
	require.Equal(t, 1, wakes, "the loop is woken once for all of it")
	require.Len(t, b.take(), maxInboxPerPeer+1+10+1, "a changed table is news once")
	require.Empty(t, b.take())
	b.put(frame("A", 1))
	require.Equal(t, 2, wakes)
	b.close()
	require.False(t, b.put(linkEvent{}))
	require.Empty(t, b.take())
}
