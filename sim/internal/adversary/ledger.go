// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package adversary

import (
	"slices"

	"github.com/arke-mesh/arke/internal/wire"
)

// ledger counts the numbered frames that were sent to one peer in a session. The
// numbers of a session are not on the wire: who slips frames in has to take them
// out of every count that the peer tells, or the node would be told of frames
// that it never sent.
type ledger struct {
	session uint64
	sent    wire.Counts          // by the node or in its name
	added   [wire.Lanes][]uint64 // the numbers of those that the node knows nothing of, in order
}

// begin forgets all: another session begins.
func (l *ledger) begin(session uint64) { *l = ledger{session: session} }

// resume notes what the peer has received: what was under way when the connection
// broke is sent again by the node, but nobody sends again what it does not know of.
func (l *ledger) resume(received wire.Counts) {
	for lane, n := range received {
		l.sent[lane] = n
		l.added[lane] = l.added[lane][:l.below(wire.Lane(lane), n)]
	}
}

// pass counts a frame of the node's, or what went in its place.
func (l *ledger) pass(lane wire.Lane) { l.sent[lane]++ }

// add counts a frame that the node knows nothing of.
func (l *ledger) add(lane wire.Lane) {
	l.sent[lane]++
	l.added[lane] = append(l.added[lane], l.sent[lane])
}

// own is what counts that the peer tells mean to the node.
func (l *ledger) own(told wire.Counts) (own wire.Counts) {
	for lane, n := range told {
		own[lane] = n - uint64(l.below(wire.Lane(lane), n))
	}
	return own
}

// below is how many of those that were added are among the first n of a lane.
func (l *ledger) below(lane wire.Lane, n uint64) int {
	i, found := slices.BinarySearch(l.added[lane], n)
	if found {
		i++
	}
	return i
}
