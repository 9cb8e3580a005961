// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import "slices"

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
)

// PickRequest says how to choose.
type PickRequest struct {
	Policy    Policy
	StickyKey string     // for PolicySticky
	Exclude   []MemberID // tried before; never chosen
}

// picking is one pick under way: the pure core of Clusters.Pick.
type picking struct {
	now     int64
	base    int64
	dice    dice
	exclude []MemberID
}

// pick chooses a member of v, or nil if there is none to choose. Whoever is
// not in rotation is chosen only if nobody else is left: ejected before
// suspect, and unreachable only on a first try, so that a link that is being
// re-established gets its chance.
func pick(v *View, r PickRequest, now int64, random uint64) *Member {
	p := picking{now: now, base: v.pool.base.Load(), dice: dice(random), exclude: r.Exclude}
	if r.Policy == PolicySticky {
		return p.sticky(v.rota.all, r.StickyKey)
	}
	if m := v.pool.claimProbe(now, v.rota.one, r.Exclude); m != nil {
		return m
	}
	var m *Member
	switch r.Policy {
	case PolicyRoundRobin:
		m = p.from(v.rota.one, int(v.pool.turn.Add(1)%uint64(max(len(v.rota.one), 1))), stateLive)
	case PolicyRandom:
		m = p.random(v.rota.one)
	case PolicyWeighted:
		m = p.weighted(v.rota.one, v.rota.upTo)
	default:
		m = p.byLoad(&v.rota)
	}
	if m != nil || len(v.rota.all) == 0 {
		return m
	}
	worst := stateUnreachable
	if len(r.Exclude) > 0 {
		worst = stateSuspect
	}
	start := p.dice.roll(len(v.rota.all))
	for s := stateLive; s <= worst; s++ {
		if m := p.from(v.rota.all, start, s); m != nil {
			return m
		}
	}
	return nil
}

// byLoad takes the better of two from the own zone; if that one is busy, the
// better of two from elsewhere competes with it.
func (p *picking) byLoad(r *rota) *Member {
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
	i := p.dice.roll(n)
	j := (i + 1 + p.dice.roll(n-1)) % n
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
// to five, leave it to the dice that chose a first.
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
		if m := list[p.dice.roll(len(list))]; p.fits(m, stateLive) {
			return m
		}
	}
	return nil // the caller looks for anybody, from a random start
}

func (p *picking) weighted(list []*Member, upTo []uint64) *Member {
	for range min(len(list), 8) {
		at := uint64(p.dice.roll(int(upTo[len(upTo)-1])))
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

// sticky returns the reachable member with the highest affinity to the key. An
// ejected member keeps its keys: it lives.
func (p *picking) sticky(all []*Member, key string) *Member {
	h := hashString(key)
	for worst := stateEjected; worst <= stateUnreachable; worst++ {
		var best *Member
		score := uint64(0)
		for _, m := range all {
			if m.load.state() > worst || excluded(m, p.exclude) {
				continue
			}
			if s := affinity(h, m.ID); best == nil || s > score {
				best, score = m, s
			}
		}
		if best != nil {
			return best
		}
		if worst == stateSuspect && len(p.exclude) > 0 {
			return nil
		}
	}
	return nil
}

func (p *picking) fits(m *Member, s state) bool {
	return m.load.state() == s && !excluded(m, p.exclude)
}

func excluded(m *Member, exclude []MemberID) bool {
	return len(exclude) > 0 && slices.Contains(exclude, m.ID)
}
