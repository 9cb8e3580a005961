// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"cmp"
	"slices"
	"sort"

	"github.com/libp2p/go-libp2p/core/peer"
)

// Policy is a way to choose one member. The numbers are those of
// patterns.Policy.
type Policy uint8

// The policies.
const (
	PolicyLoad       Policy = iota // power of two choices by load and latency, own zone first
	PolicyRoundRobin               // one after the other
	PolicyRandom                   // all alike
	PolicyWeighted                 // random, in proportion to capacity
	PolicySticky                   // rendezvous hash of the key
	PolicyMember                   // the member whose id is the key, and no other
)

// PickRequest says how to choose.
type PickRequest struct {
	Policy    Policy
	StickyKey string     // for PolicySticky and PolicyMember
	Exclude   []MemberID // tried before; never chosen
	Network   string     // members of that network only; empty = of any, those of this one first
	Transit   *Transit   // whom a gateway may ask; nil = anybody
}

// picking is one pick under way: the pure core of Clusters.Pick.
type picking struct {
	now     int64
	base    int64
	rng     prng
	exclude []MemberID
	transit *Transit
}

// pick chooses a member of v, or nil if there is none to choose. Whoever is
// not in rotation is chosen only if nobody else is left: ejected before
// suspect, and unreachable only on a first try, so that a link that is being
// re-established gets its chance.
func pick(v *View, r PickRequest, now int64, random uint64) *Member {
	p := picking{now: now, rng: prng(random), exclude: r.Exclude, transit: r.Transit}
	tiers := v.from(r.Network)
	switch r.Policy {
	case PolicySticky:
		return p.sticky(tiers, r.StickyKey)
	case PolicyMember:
		return p.named(v.Members, r.StickyKey)
	}
	enter := p.enter(tiers)
	for i := range enter { // who is ejected there gets its probes: nothing else brings it back
		if m := tiers[i].pool.claimProbe(&p, tiers[i].one); m != nil {
			return m
		}
	}
	for i := range tiers {
		t := &tiers[(enter+i)%len(tiers)]
		if m := p.within(t, &r); m != nil {
			return m
		}
	}
	worst := stateUnreachable
	if len(r.Exclude) > 0 {
		worst = stateSuspect
	}
	for s := stateLive; s <= worst; s++ {
		for i := range tiers {
			all := tiers[i].all
			if len(all) == 0 {
				continue
			}
			if m := p.from(all, p.rng.roll(len(all)), s); m != nil {
				return m
			}
		}
	}
	return nil
}

// enter returns the first tier that this pick looks at. Each that is not the last gives
// a share of the work away.
func (p *picking) enter(tiers []tier) int {
	for i := range len(tiers) - 1 {
		t := &tiers[i]
		away := t.spill.away(p.now, t.condition)
		if away == 0 || int64(p.rng.roll(int(spillAll))) >= away {
			return i
		}
	}
	return max(len(tiers)-1, 0)
}

// within chooses a member in rotation by the request's policy.
func (p *picking) within(t *tier, r *PickRequest) *Member {
	if m := t.pool.claimProbe(p, t.one); m != nil {
		return m
	}
	p.base = t.pool.base.Load()
	switch r.Policy {
	case PolicyRoundRobin:
		return p.from(t.one, int(t.pool.turn.Add(1)%uint64(max(len(t.one), 1))), stateLive)
	case PolicyRandom:
		return p.random(t.one)
	case PolicyWeighted:
		return p.weighted(t.one, t.upTo)
	}
	return p.byLoad(&t.candidates)
}

// byLoad takes the better of two from the own zone; if that one is busy, the
// better of two from elsewhere competes with it.
func (p *picking) byLoad(r *candidates) *Member {
	if len(r.near) == 0 {
		return p.twoChoices(r.far)
	}
	near := p.twoChoices(r.near)
	if near != nil && (len(r.far) == 0 || !near.load.busy(p.now)) {
		return near
	}
	return p.better(near, p.twoChoices(r.far))
}

// twoChoices returns the better of two random live members.
func (p *picking) twoChoices(list []*Member) *Member {
	n := len(list)
	switch n {
	case 0:
		return nil
	case 1:
		return p.from(list, 0, stateLive)
	}
	i := p.rng.roll(n)
	j := (i + 1 + p.rng.roll(n-1)) % n
	a, b := list[i], list[j]
	if p.fits(a, stateLive) && p.fits(b, stateLive) {
		return p.better(a, b)
	}
	// Somebody is out of rotation: look for the next ones that are not.
	a = p.from(list, i, stateLive)
	b = p.from(list, j, stateLive)
	return p.better(a, b)
}

// better compares costs; either may be nil. Costs that are nearly equal, four
// to five, leave it to the draw that chose a first.
func (p *picking) better(a, b *Member) *Member {
	switch {
	case a == nil:
		return b
	case b == nil || b.load.cost(p.now, p.base)*5 >= a.load.cost(p.now, p.base)*4:
		return a
	}
	return b
}

// from returns the first member in state s at or after start, going round.
func (p *picking) from(list []*Member, start int, s state) *Member {
	for i := range list {
		if m := list[(start+i)%len(list)]; p.fits(m, s) {
			return m
		}
	}
	return nil
}

func (p *picking) random(list []*Member) *Member {
	for range min(len(list), 4) {
		if m := list[p.rng.roll(len(list))]; p.fits(m, stateLive) {
			return m
		}
	}
	return nil // the caller looks for anybody, from a random start
}

func (p *picking) weighted(list []*Member, upTo []uint64) *Member {
	for range min(len(list), 8) {
		at := uint64(p.rng.roll(int(upTo[len(upTo)-1])))
		i, exact := slices.BinarySearch(upTo, at)
		if exact {
			i++ // upTo[i] is the first weight that no longer belongs to i
		}
		if m := list[i]; p.fits(m, stateLive) {
			return m
		}
	}
	return nil
}

// sticky returns the reachable member with the highest affinity to the key, of the
// first tier that has one. An ejected member keeps its keys: it lives.
func (p *picking) sticky(tiers []tier, key string) *Member {
	h := hashString(key)
	for worst := stateEjected; worst <= stateUnreachable; worst++ {
		for i := range tiers {
			if m := p.closest(tiers[i].all, h, worst); m != nil {
				return m
			}
		}
		if worst == stateSuspect && len(p.exclude) > 0 {
			return nil
		}
	}
	return nil
}

// closest returns the member with the highest affinity to a key's hash.
func (p *picking) closest(all []*Member, key uint64, worst state) (best *Member) {
	score := uint64(0)
	for _, m := range all {
		if m.load.state() > worst || p.refuses(m) {
			continue
		}
		if s := affinity(key, m.ID); best == nil || s > score {
			best, score = m, s
		}
	}
	return best
}

// named returns the member of that id, in whatever state it is.
func (p *picking) named(all []*Member, key string) *Member {
	id, err := ParseMemberID(key)
	if err != nil || slices.Contains(p.exclude, id) {
		return nil
	}
	for _, m := range all {
		if m.ID == id && p.transit.Permits(m) {
			return m
		}
	}
	return nil
}

func (p *picking) fits(m *Member, s state) bool {
	return m.load.state() == s && !p.refuses(m)
}

// refuses says that this pick never chooses m.
func (p *picking) refuses(m *Member) bool {
	return len(p.exclude) > 0 && slices.Contains(p.exclude, m.ID) || p.transit != nil && !p.transit.Permits(m)
}

// candidates is whom Pick chooses from, prepared once for each view.
type candidates struct {
	all  []*Member // everybody: sticky keys must not depend on the caller
	one  []*Member // this caller's subset
	near []*Member // of one, those in the caller's zone
	far  []*Member // of one, the others
	upTo []uint64  // capacities of one, summed up to and including each
}

func newCandidates(self peer.ID, zone string, members []*Member) candidates {
	r := candidates{all: members, one: subset(self, members, subsetSize)}
	sum := uint64(0)
	for _, m := range r.one {
		sum += uint64(m.load.capacity)
		r.upTo = append(r.upTo, sum)
		if zone != "" && m.Zone == zone {
			r.near = append(r.near, m)
		} else {
			r.far = append(r.far, m)
		}
	}
	return r
}

// subsetSize is how many members a caller works with for patterns that need
// one member. Broadcasts and the like reach all.
const subsetSize = 64

// hashString is 64-bit FNV-1a with a finalizer. The result is part of what
// callers of all releases agree on (a sticky key finds the same member from
// everywhere), so it never changes.
func hashString(s string) uint64 {
	h := uint64(0xcbf29ce484222325)
	for i := range len(s) {
		h = (h ^ uint64(s[i])) * 0x100000001b3
	}
	return mix(h)
}

// affinity is the rendezvous score of a member for a key's hash; the highest
// one wins. When a member comes or goes, only the keys it wins or won move.
func affinity(key uint64, m MemberID) uint64 {
	return mix(key ^ mix(uint64(m)+0x9e3779b97f4a7c15))
}

// subset returns at most n of the members: those with the highest affinity to
// this caller, in the order of members. Callers spread evenly, and each keeps
// its connections when members come and go.
func subset(self peer.ID, members []*Member, n int) []*Member {
	if len(members) <= n {
		return members
	}
	type scored struct {
		*Member
		score uint64
	}
	key := hashString(string(self))
	best := make([]scored, 0, n+1) // the highest first; of equal ones, that which comes first
	for _, m := range members {
		score := affinity(key, m.ID)
		if len(best) == n && score <= best[n-1].score {
			continue // nearly always: to sort all took most of what a change costs
		}
		i := sort.Search(len(best), func(i int) bool { return best[i].score < score })
		best = slices.Insert(best, i, scored{m, score})
		best = best[:min(len(best), n)]
	}
	out := make([]*Member, 0, n)
	for _, b := range best {
		out = append(out, b.Member)
	}
	slices.SortFunc(out, compareMembers)
	return out
}

func compareMembers(a, b *Member) int {
	return cmp.Or(cmp.Compare(a.ID, b.ID), cmp.Compare(a.Peer, b.Peer))
}

// mix is the finalizer of SplitMix64: every bit of the result depends on every
// bit of x.
func mix(x uint64) uint64 {
	x ^= x >> 30
	x *= 0xbf58476d1ce4e5b9
	x ^= x >> 27
	x *= 0x94d049bb133111eb
	x ^= x >> 31
	return x
}

// prng draws several numbers from one that the seam gave, so that a pick costs
// one call of it.
type prng uint64

// roll returns a number in [0, n).
func (d *prng) roll(n int) int {
	*d += 0x9e3779b97f4a7c15
	return int(mix(uint64(*d)) % uint64(n))
}
