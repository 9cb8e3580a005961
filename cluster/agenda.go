// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import "time"

// agenda is what a core has planned for each of many things, the earliest first:
// what is not due costs nothing, and a thing for which nothing is planned no memory
// but its slot. Plans for the same time come in the order in which they were made. The
// zero value is ready for use.
type agenda[T interface{ planned() *slot }] struct {
	heap []plan[T]
	made uint64
}

// slot is where the plan for a thing is in the heap of its agenda, from 1 on; 0 = there
// is none. The thing embeds it: a map would take more memory than the plans.
type slot int32

func (s *slot) planned() *slot { return s }

// plan is when the core looks at one thing again.
type plan[T any] struct {
	what T
	at   time.Time
	made uint64
}

// plan has what come up at that time or before; zero plans nothing.
func (a *agenda[T]) plan(what T, at time.Time) {
	if at.IsZero() {
		return
	}
	i := int(*what.planned()) - 1
	switch {
	case i < 0:
		a.made++
		a.heap = append(a.heap, plan[T]{})
		a.rise(len(a.heap)-1, plan[T]{what, at, a.made})
	case at.Before(a.heap[i].at):
		p := a.heap[i]
		p.at = at
		a.rise(i, p)
	}
}

// cancel forgets what.
func (a *agenda[T]) cancel(what T) {
	s := what.planned()
	if *s == 0 {
		return
	}
	i, last := int(*s)-1, len(a.heap)-1
	*s = 0
	p := a.heap[last]
	a.heap[last] = plan[T]{}
	if a.heap = a.heap[:last]; i < last {
		a.sink(i, p)
		a.rise(i, a.heap[i])
	}
}

// due takes out what has come up.
func (a *agenda[T]) due(now time.Time) (what []T) {
	for len(a.heap) > 0 && !now.Before(a.heap[0].at) {
		what = append(what, a.heap[0].what)
		a.cancel(a.heap[0].what)
	}
	return what
}

// next is when something comes up; zero = never.
func (a *agenda[T]) next() time.Time {
	if len(a.heap) == 0 {
		return time.Time{}
	}
	return a.heap[0].at
}

// put has p at i.
func (a *agenda[T]) put(i int, p plan[T]) {
	a.heap[i] = p
	*p.what.planned() = slot(i + 1)
}

// rise puts p at i, or as far above as it belongs.
func (a *agenda[T]) rise(i int, p plan[T]) {
	for i > 0 && p.before(&a.heap[(i-1)/2]) {
		a.put(i, a.heap[(i-1)/2])
		i = (i - 1) / 2
	}
	a.put(i, p)
}

// sink puts p at i, or as far below as it belongs.
func (a *agenda[T]) sink(i int, p plan[T]) {
	for {
		child := 2*i + 1
		if right := child + 1; right < len(a.heap) && a.heap[right].before(&a.heap[child]) {
			child = right
		}
		if child >= len(a.heap) || !a.heap[child].before(&p) {
			break
		}
		a.put(i, a.heap[child])
		i = child
	}
	a.put(i, p)
}

func (p *plan[T]) before(o *plan[T]) bool {
	if p.at.Equal(o.at) {
		return p.made < o.made
	}
	return p.at.Before(o.at)
}
