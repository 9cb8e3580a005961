// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package pubsub

import (
	"cmp"
	"slices"

	"github.com/arke-mesh/arke/internal/wire"
)

// branch is one of the at most fanOut ways out of a node in a tree: a head,
// which passes on what it gets to the stops behind it.
type branch struct {
	epoch uint32 // names the path that the head was told
	head  *receiver
	stops []*receiver // by index; nil = it has left
	skips []*receiver // that have something pending, or left
	told  uint64      // the hop's losses when the head was told of its stops
	known bool        // the head has been told at all

	// What the publisher has signed of it; stops may have left since.
	signed   []*receiver
	signedAt uint64         // the signer's count then
	rights   uint64         // the version then
	fresh    bool           // the head has not been told of it
	proof    wire.PathProof // of a publisher's own branches

	// Of the message that is being sent.
	matched []*receiver
}

// tree is the branches to an audience, or to a part of it: a pure core, guarded by
// its owner's lock.
type tree struct {
	branches []*branch
	epoch    uint32 // of the newest one
	stale    bool   // it has leaves that are gone, or there are others
	loose    int    // receivers that have come, or left their branch, since
	built    int64  // when all of it was made

	signer  *signer  // of a publisher's tree; nil = of a part of another one's
	lineage *lineage // of such a part; else nil
}

// relabel takes in what the group is called from now on: paths are signed and told anew.
func (t *tree) relabel(label string) {
	t.signer.group = label
	for _, b := range t.branches {
		b.known, b.fresh = false, false
	}
}

// outOfTree is the rank of who is not in a tree now.
const outOfTree = -1

// due says whether a message for many needs another tree.
func (t *tree) due(now int64) bool {
	changed := t.stale || t.loose > 0
	return t.branches == nil || t.loose > fanOut || changed && now-t.built >= int64(rebuildTime)
}

// grow makes a tree of all whose rank allows it. Those of one rank come in an
// order that salt makes different for each publisher, so that the load is spread.
func (t *tree) grow(now int64, all []*receiver, rank func(*receiver) int, salt uint64) {
	for _, r := range all {
		r.uproot()
	}
	t.stale, t.loose, t.built = false, 0, now
	t.branches = t.plant(all, fanOut, rank, salt)
}

// replant puts another branch in the place of one, with the same nodes, of which
// another one may be the head; nil if nobody is left. The rest of the
// tree stays as it is.
func (t *tree) replant(b *branch, rank func(*receiver) int, salt uint64) (fresh *branch) {
	rs := b.members()
	for _, r := range append(b.stops, b.head) {
		if r != nil && r.branch == b {
			r.uproot()
		}
	}
	t.branches = slices.DeleteFunc(t.branches, func(o *branch) bool { return o == b })
	if planted := t.plant(rs, 1, rank, salt); len(planted) > 0 {
		fresh = planted[0]
		t.branches = append(t.branches, fresh)
	}
	return fresh
}

// plant makes branches of those who are in none.
func (t *tree) plant(rs []*receiver, fan int, rank func(*receiver) int, salt uint64) []*branch {
	ranks := make(map[*receiver]int, len(rs))
	in := rs[:0]
	for _, r := range rs {
		if ranks[r] = rank(r); ranks[r] != outOfTree {
			in = append(in, r)
		}
	}
	slices.SortFunc(in, func(a, b *receiver) int {
		return cmp.Or(cmp.Compare(ranks[a], ranks[b]), cmp.Compare(a.hash*salt, b.hash*salt), cmp.Compare(a.peer, b.peer))
	})
	branches := cut(in, fan)
	for _, b := range branches {
		t.epoch++
		b.epoch = t.epoch
	}
	return branches
}

// cut cuts receivers into branches: the first ones become heads, the others
// are spread evenly behind them, in their order. Depth and fan-out are the
// least there can be together.
func cut(rs []*receiver, fan int) []*branch {
	heads := min(len(rs), fan)
	rest := rs[heads:]
	out := make([]*branch, 0, heads)
	for i := range heads {
		b := &branch{head: rs[i]}
		b.stops = part(rest, i, heads)
		b.head.branch, b.head.index, b.head.pending = b, -1, 0
		for n, r := range b.stops {
			r.branch, r.index, r.pending = b, n, 0
		}
		out = append(out, b)
	}
	return out
}

// part is what the i-th of so many heads has behind it. Clipped: whoever appends
// must not write into the next one's.
func part[T any](rest []T, i, heads int) []T {
	return slices.Clip(rest[i*len(rest)/heads : (i+1)*len(rest)/heads])
}

// members lists those whom the branch reaches, the head first.
func (b *branch) members() []*receiver {
	rs := append(make([]*receiver, 0, 1+len(b.stops)), b.head)
	for _, r := range b.stops {
		if r != nil && r.branch == b && r.pending != wire.SkipLeft {
			rs = append(rs, r)
		}
	}
	return rs
}

// forwards says whether somebody is behind the head.
func (b *branch) forwards() bool { return len(b.stops) > 0 }

// leads says whether r is a head with somebody behind it.
func (r *receiver) leads() bool { return r.branch != nil && r.index < 0 && r.branch.forwards() }

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

// compact forgets the stops that have left; the numbers that are told next
// include everything.
func (b *branch) compact() {
	kept := make([]*receiver, 0, len(b.stops))
	for _, r := range b.stops {
		switch {
		case r == nil:
		case r.pending == wire.SkipLeft:
			r.branch, r.pending = nil, 0
		default:
			r.index, r.pending = len(kept), 0
			kept = append(kept, r)
		}
	}
	b.stops, b.skips = kept, b.skips[:0]
}

// matchesHead says whether the message that is being sent is for the head, too.
func (b *branch) matchesHead() bool { return slices.Contains(b.matched, b.head) }
