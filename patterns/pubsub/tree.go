// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package pubsub

import (
	"github.com/arke-mesh/arke/internal/wire"
)

// branch is one of the at most fanOut ways out of a node in a tree: a head,
// which passes on what it gets to the stops behind it.
type branch struct {
	head  *receiver
	stops []*receiver // by index
	skips []*receiver // that have something pending, or left
	told  uint64      // the pipe's loss count when the head was told of its stops
	known bool        // the head has been told at all

	// Of the message that is being sent.
	matched []*receiver
}

// grow cuts receivers into branches: the first ones become heads, the others
// are spread evenly behind them, in their order. Depth and fan-out are the
// least there can be together.
func grow(rs []*receiver, fan int) []*branch {
	heads := min(len(rs), fan)
	rest := rs[heads:]
	out := make([]*branch, 0, heads)
	for i := range heads {
		b := &branch{head: rs[i]}
		b.stops = rest[i*len(rest)/heads : (i+1)*len(rest)/heads]
		b.head.branch, b.head.index, b.head.pending = b, -1, 0
		for n, r := range b.stops {
			r.branch, r.index, r.pending = b, n, 0
		}
		out = append(out, b)
	}
	return out
}

// direct says that r is reached on our own link, with its number beside the
// message.
func (r *receiver) direct() bool {
	return r.branch == nil || r.index < 0 || r.pending == wire.SkipLeft
}

// passBy notes that r was addressed on another way than through its branch.
func (r *receiver) passBy(n uint64) {
	if r.direct() {
		return
	}
	if r.pending == 0 {
		r.branch.skips = append(r.branch.skips, r)
	}
	r.pending += uint32(min(n, uint64(wire.SkipLeft-1-r.pending)))
}

// uproot takes r out of the tree, which is no more, or not for it.
func (r *receiver) uproot() { r.branch, r.index, r.pending = nil, 0, 0 }

// leave takes r out of its branch: it is reached directly from now on. It must
// not be a head.
func (r *receiver) leave() {
	if r.pending == 0 {
		r.branch.skips = append(r.branch.skips, r)
	}
	r.pending = wire.SkipLeft
}

// skipList appends what the head has to know before its next message.
func (b *branch) skipList(dst []wire.Skip) []wire.Skip {
	for _, r := range b.skips {
		dst = append(dst, wire.Skip{Index: uint16(r.index), Add: r.pending})
	}
	return dst
}

// clearSkips notes that the head knows.
func (b *branch) clearSkips() {
	for _, r := range b.skips {
		if r.pending == wire.SkipLeft {
			r.branch = nil
			b.stops[r.index] = nil
		}
		r.pending = 0
	}
	b.skips = b.skips[:0]
}
