// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package fanout

import (
	"cmp"
	"slices"

	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/patterns/pubsub/env"
)

// Branch is one of the at most fanOut ways out of a node in a tree: a head,
// which passes on what it gets to the stops behind it.
type Branch struct {
	Epoch uint32 // names the path that the head was told
	Head  *Receiver
	Stops []*Receiver // by index; nil = it has left
	Skips []*Receiver // that have something pending, or left
	told  uint64      // the hop's losses when the head was told of its stops
	Known bool        // the head has been told at all

	// What the publisher has signed of it; stops may have left since.
	Signed   []*Receiver
	signedAt uint64         // the signer's count then
	rights   uint64         // the version then
	fresh    bool           // the head has not been told of it
	proof    wire.PathProof // of a publisher's own branches

	// Of the message that is being sent.
	Matched []*Receiver
}

// Tree is the branches to an audience, or to a part of it: a pure core, guarded by
// its owner's lock.
type Tree struct {
	Branches []*Branch
	Epoch    uint32 // of the newest one
	Stale    bool   // it has leaves that are gone, or there are others
	Loose    int    // receivers that have come, or left their branch, since
	built    int64  // when all of it was made

	Signer  *Signer  // of a publisher's tree; nil = of a part of another one's
	Lineage *Lineage // of such a part; else nil
}

// Relabel takes in what the group is called from now on: paths are signed and told anew.
func (t *Tree) Relabel(label string) {
	t.Signer.Group = label
	for _, b := range t.Branches {
		b.Known, b.fresh = false, false
	}
}

// OutOfTree is the rank of who is not in a tree now.
const OutOfTree = -1

// Due says whether a message for many needs another tree.
func (t *Tree) Due(now int64) bool {
	changed := t.Stale || t.Loose > 0
	return t.Branches == nil || t.Loose > env.FanOut || changed && now-t.built >= int64(env.RebuildTime)
}

// Grow makes a tree of all whose rank allows it. Those of one rank come in an
// order that salt makes different for each publisher, so that the load is spread.
func (t *Tree) Grow(now int64, all []*Receiver, rank func(*Receiver) int, salt uint64) {
	for _, r := range all {
		r.Uproot()
	}
	t.Stale, t.Loose, t.built = false, 0, now
	t.Branches = t.plant(all, env.FanOut, rank, salt)
}

// Replant puts another branch in the place of one, with the same nodes, of which
// another one may be the head; nil if nobody is left. The rest of the
// tree stays as it is.
func (t *Tree) Replant(b *Branch, rank func(*Receiver) int, salt uint64) (fresh *Branch) {
	rs := b.members()
	for _, r := range append(b.Stops, b.Head) {
		if r != nil && r.Branch == b {
			r.Uproot()
		}
	}
	t.Branches = slices.DeleteFunc(t.Branches, func(o *Branch) bool { return o == b })
	if planted := t.plant(rs, 1, rank, salt); len(planted) > 0 {
		fresh = planted[0]
		t.Branches = append(t.Branches, fresh)
	}
	return fresh
}

// plant makes branches of those who are in none.
func (t *Tree) plant(rs []*Receiver, fan int, rank func(*Receiver) int, salt uint64) []*Branch {
	ranks := make(map[*Receiver]int, len(rs))
	in := rs[:0]
	for _, r := range rs {
		if ranks[r] = rank(r); ranks[r] != OutOfTree {
			in = append(in, r)
		}
	}
	slices.SortFunc(in, func(a, b *Receiver) int {
		return cmp.Or(cmp.Compare(ranks[a], ranks[b]), cmp.Compare(a.Hash*salt, b.Hash*salt), cmp.Compare(a.Peer, b.Peer))
	})
	branches := Cut(in, fan)
	for _, b := range branches {
		t.Epoch++
		b.Epoch = t.Epoch
	}
	return branches
}

// Cut cuts receivers into branches: the first ones become heads, the others
// are spread evenly behind them, in their order. Depth and fan-out are the
// least there can be together.
func Cut(rs []*Receiver, fan int) []*Branch {
	heads := min(len(rs), fan)
	rest := rs[heads:]
	out := make([]*Branch, 0, heads)
	for i := range heads {
		b := &Branch{Head: rs[i]}
		b.Stops = part(rest, i, heads)
		b.Head.Branch, b.Head.Index, b.Head.Pending = b, -1, 0
		for n, r := range b.Stops {
			r.Branch, r.Index, r.Pending = b, n, 0
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
func (b *Branch) members() []*Receiver {
	rs := append(make([]*Receiver, 0, 1+len(b.Stops)), b.Head)
	for _, r := range b.Stops {
		if r != nil && r.Branch == b && r.Pending != wire.SkipLeft {
			rs = append(rs, r)
		}
	}
	return rs
}

// Forwards says whether somebody is behind the head.
func (b *Branch) Forwards() bool { return len(b.Stops) > 0 }

// Leads says whether r is a head with somebody behind it.
func (r *Receiver) Leads() bool { return r.Branch != nil && r.Index < 0 && r.Branch.Forwards() }

// Direct says that r is reached on our own link, with its number beside the
// message.
func (r *Receiver) Direct() bool {
	return r.Branch == nil || r.Index < 0 || r.Pending == wire.SkipLeft
}

// PassBy notes that r was addressed on another way than through its branch.
func (r *Receiver) PassBy(n uint64) {
	if r.Direct() {
		return
	}
	if r.Pending == 0 {
		r.Branch.Skips = append(r.Branch.Skips, r)
	}
	r.Pending += uint32(min(n, uint64(wire.SkipLeft-1-r.Pending)))
}

// Uproot takes r out of the tree, which is no more, or not for it.
func (r *Receiver) Uproot() { r.Branch, r.Index, r.Pending = nil, 0, 0 }

// Leave takes r out of its branch: it is reached directly from now on. It must
// not be a head.
func (r *Receiver) Leave() {
	if r.Pending == 0 {
		r.Branch.Skips = append(r.Branch.Skips, r)
	}
	r.Pending = wire.SkipLeft
}

// skipList appends what the head has to know before its next message.
func (b *Branch) skipList(dst []wire.Skip) []wire.Skip {
	for _, r := range b.Skips {
		dst = append(dst, wire.Skip{Index: uint16(r.Index), Add: r.Pending})
	}
	return dst
}

// clearSkips notes that the head knows.
func (b *Branch) clearSkips() {
	for _, r := range b.Skips {
		if r.Pending == wire.SkipLeft {
			r.Branch = nil
			b.Stops[r.Index] = nil
		}
		r.Pending = 0
	}
	b.Skips = b.Skips[:0]
}

// compact forgets the stops that have left; the numbers that are told next
// include everything.
func (b *Branch) compact() {
	kept := make([]*Receiver, 0, len(b.Stops))
	for _, r := range b.Stops {
		switch {
		case r == nil:
		case r.Pending == wire.SkipLeft:
			r.Branch, r.Pending = nil, 0
		default:
			r.Index, r.Pending = len(kept), 0
			kept = append(kept, r)
		}
	}
	b.Stops, b.Skips = kept, b.Skips[:0]
}

// matchesHead says whether the message that is being sent is for the head, too.
func (b *Branch) matchesHead() bool { return slices.Contains(b.Matched, b.Head) }
