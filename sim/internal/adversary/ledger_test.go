// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package adversary

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/internal/wire"
)

// This test checks that what an adversary has slipped into a session shows in no
// count that its node hears: its session must not notice.
func TestTheNodeHearsOnlyOfItsOwnFrames(t *testing.T) {
	l := ledger{session: 7}
	// The numbers on the wire: 1 and 2 are the node's, 3 is added, 4 the node's, 5
	// and 6 are added, 7 the node's.
	for _, own := range []bool{true, true, false, true, false, false, true} {
		if own {
			l.pass(wire.LanePub)
		} else {
			l.add(wire.LanePub)
		}
	}
	for told, own := range []uint64{0, 1, 2, 2, 3, 3, 3, 4} {
		require.Equal(t, wire.Counts{wire.LanePub: own}, l.own(wire.Counts{wire.LanePub: uint64(told)}), "after %d", told)
	}
	require.Equal(t, wire.Counts{wire.LanePub: 7}, l.sent)
}

// This test checks that after a broken connection the count goes on from what the
// peer has received: the node sends the rest of its frames again, and what was
// added is gone.
func TestWhatWasAddedAndLostIsForgotten(t *testing.T) {
	l := ledger{session: 7}
	l.pass(wire.LaneCtl)
	l.add(wire.LaneCtl)
	l.pass(wire.LaneCtl)
	l.add(wire.LaneCtl)

	l.resume(wire.Counts{wire.LaneCtl: 2}) // 3 and 4 were lost
	require.Equal(t, wire.Counts{wire.LaneCtl: 1}, l.own(wire.Counts{wire.LaneCtl: 2}))
	l.pass(wire.LaneCtl)
	require.Equal(t, wire.Counts{wire.LaneCtl: 2}, l.own(wire.Counts{wire.LaneCtl: 3}))

	l.begin(8)
	require.Equal(t, wire.Counts{wire.LaneCtl: 3}, l.own(wire.Counts{wire.LaneCtl: 3}), "another session")
}
