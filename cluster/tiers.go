// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"cmp"
	"maps"
	"slices"
	"sync/atomic"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"
)

// tier is members that Pick does not tell apart but by load, latency and zone: those
// of this network, or imported ones of one priority.
type tier struct {
	candidates
	pool  *pool
	spill *spill // of work to the next tier
}

// native is the rank of the members of this network. That of imported ones is their
// priority, and then how many borders they have crossed.
const (
	native    = -1
	rankShift = 4 // a rank has room for MaxNetworks there
)

func (m *Member) rank() int {
	if m.Imported {
		return m.Priority<<rankShift + len(m.Networks)
	}
	return native
}

// newTiers sorts the members into tiers, the preferred one first: those of this network,
// even if there is none, so that it is known since when there is one again.
func newTiers(p *pool, self peer.ID, zone string, members []*Member) []tier {
	if !slices.ContainsFunc(members, func(m *Member) bool { return m.Imported }) {
		return []tier{{newCandidates(self, zone, members), p, &p.spill}}
	}
	out := byRank(p, self, zone, "", members)
	if out[0].pool != p {
		out = slices.Insert(out, 0, tier{pool: p, spill: &p.spill})
	}
	return out
}

// byRank sorts members of one network, or of any if that is "", into tiers.
func byRank(p *pool, self peer.ID, zone, network string, members []*Member) (out []tier) {
	ordered := slices.Clone(members)
	slices.SortStableFunc(ordered, func(a, b *Member) int { return cmp.Compare(a.rank(), b.rank()) })
	for len(ordered) > 0 {
		n, rank := 1, ordered[0].rank()
		for n < len(ordered) && ordered[n].rank() == rank {
			n++
		}
		of := p.ofRank(rank)
		out = append(out, tier{newCandidates(self, zone, ordered[:n:n]), of, of.spillOf(network)})
		ordered = ordered[n:]
	}
	return out
}

// byNetwork has the tiers of each network that members are from; nil if there is one
// network only.
func byNetwork(v *View, self peer.ID, zone string) map[string][]tier {
	if len(v.tiers) == 1 && !slices.ContainsFunc(v.Members, func(m *Member) bool { return m.Network != v.Members[0].Network }) {
		return nil
	}
	of := make(map[string][]*Member)
	for _, m := range v.Members {
		of[m.Network] = append(of[m.Network], m)
	}
	out := make(map[string][]tier, len(of))
	for network, members := range of {
		out[network] = byRank(v.pool, self, zone, network, members)
	}
	return out
}

// from returns whom Pick may choose from: the tiers of one network, or all of them.
func (v *View) from(network string) []tier {
	if network == "" {
		return v.tiers
	}
	if t, ok := v.networks[network]; ok {
		return t
	}
	if v.networks == nil && len(v.Members) > 0 && v.Members[0].Network == network {
		return v.tiers
	}
	return nil
}

// Everybody returns whom a message for all goes to, by id: the members of this network,
// those whose own records gateways pass on, and, for each other network, a single member
// that stands for it, however many gateways lend it, and by whatever way. That is the one
// in the best state, then of the lowest priority, then across the fewest borders, then of
// the lowest id. With a network, only what is from there; with a Transit, only whom that
// permits. The caller owns the slice.
func (v *View) Everybody(network string, t *Transit) []*Member {
	var out []*Member
	elected := make(map[origin]*Member)
	for _, m := range v.Members {
		switch best := elected[originOf(m)]; {
		case network != "" && m.Network != network || !t.Permits(m):
		case !m.Imported || m.Via != nil:
			out = append(out, m)
		case best == nil || cmp.Or(cmp.Compare(m.load.state(), best.load.state()), cmp.Compare(m.rank(), best.rank())) < 0:
			elected[originOf(m)] = m
		}
	}
	out = slices.AppendSeq(out, maps.Values(elected))
	slices.SortFunc(out, compareMembers)
	return out
}

// HasNone says that the network is known to have no member in this view that t permits:
// those who can know have told of everybody.
func (v *View) HasNone(network string, t *Transit) bool {
	if !v.Whole() || len(v.Members) == 0 {
		return false
	}
	return v.from(network) == nil || t != nil && !slices.ContainsFunc(v.Members, t.Permits)
}

// condition is how well a tier serves now.
type condition uint8

const (
	conditionGood      condition = iota
	conditionSaturated           // each member in rotation has as much as it can do
	conditionGone                // none is in rotation
)

// condition looks at the members that this caller works with.
func (t *tier) condition(now int64) condition {
	c := conditionGone
	for _, m := range t.one {
		switch {
		case m.load.state() != stateLive:
		case !m.load.saturated(now):
			return conditionGood
		default:
			c = conditionSaturated
		}
	}
	return c
}

// Numbers of spilling over. A tier that is saturated gives work away quickly, and one
// that serves again gets it back slowly: all within spillAll of spillDown's steps. A
// tier that fails again and again keeps little meanwhile, so nothing flaps.
const (
	spillEvery = int64(50 * time.Millisecond)
	spillAll   = int64(1024) // everything
	spillUp    = spillAll / 8
	spillDown  = spillAll / 64
	// A member is saturated if a saturatedPart of what runs there at once waits, and
	// at least leastQueue: another network is far away. What runs there when requests
	// wait is its concurrency, so members with few handlers, and a short queue, count as
	// saturated before they refuse.
	saturatedPart = 4
	leastQueue    = 2
)

// saturated says that a request sent here would wait behind many.
func (l *load) saturated(now int64) bool {
	return l.waiting(now) >= l.enoughQueue() || l.inflight.Load() >= busyInflight*l.capacity
}

// enoughQueue is how long the queue of a saturated member is. One that has not told what
// runs there has the default concurrency for its capacity.
func (l *load) enoughQueue() int64 {
	if n := l.enough.Load(); n > 0 {
		return n
	}
	return busyInflight * l.capacity / saturatedPart
}

// learnEnough takes in how many handlers run at the member. What is told as its queue has
// so many of them in it.
func (l *load) learnEnough(running, within int64) {
	if running > 0 {
		l.enough.Store(within + max(running/saturatedPart, leastQueue))
	}
}

// spill decides which share of the work leaves a tier for the next one. It has no
// clock. It may be used concurrently: what two callers see is one step apart at most.
type spill struct {
	share  atomic.Int64 // of spillAll
	next   atomic.Int64 // when it is reckoned anew
	served atomic.Bool  // somebody was in rotation once: whom to trust slowly again
}

// away returns the share of the work that goes to the next tier now.
func (s *spill) away(now int64, look func(now int64) condition) int64 {
	at := s.next.Load()
	if now < at || !s.next.CompareAndSwap(at, now+spillEvery) {
		return s.share.Load()
	}
	share, state := s.share.Load(), look(now)
	if state != conditionGone && !s.served.Swap(true) {
		share = 0 // not back from a failure: it has just been heard of
	}
	switch state {
	case conditionGone:
		share = spillAll
	case conditionSaturated:
		share = min(share+spillUp, spillAll)
	default:
		steps := int64(1)
		if at > 0 {
			steps += min((now-at)/spillEvery, spillAll)
		}
		share = max(share-steps*spillDown, 0)
	}
	s.share.Store(share)
	return share
}
