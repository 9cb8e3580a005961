// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"container/heap"
	"time"
)

// agenda is what a core has planned for each of many things, the earliest first:
// what is not due costs nothing. Plans for the same time come in the order in
// which they were made.
type agenda[T any] struct {
	plans agendaHeap[T]
	made  uint64
}

// plan is when the core looks at one thing again; the zero value is for none.
type plan[T any] struct {
	what  T
	at    time.Time
	made  uint64
	place int // in the heap, from 1; 0 = nothing is planned
}

// planned says whether p waits for its time.
func (p *plan[T]) planned() bool { return p.place > 0 }

// plan has p come up at that time or before; zero plans nothing.
func (a *agenda[T]) plan(p *plan[T], at time.Time) {
	switch {
	case at.IsZero() || p.planned() && !at.Before(p.at):
	case p.planned():
		p.at = at
		heap.Fix(&a.plans, p.place-1)
	default:
		a.made++
		p.at, p.made = at, a.made
		heap.Push(&a.plans, p)
	}
}

// cancel forgets p.
func (a *agenda[T]) cancel(p *plan[T]) {
	if p.planned() {
		heap.Remove(&a.plans, p.place-1)
	}
}

// due takes out what has come up.
func (a *agenda[T]) due(now time.Time) (what []T) {
	for len(a.plans) > 0 && !now.Before(a.plans[0].at) {
		what = append(what, heap.Pop(&a.plans).(*plan[T]).what)
	}
	return what
}

// next is when something comes up; zero = never.
func (a *agenda[T]) next() time.Time {
	if len(a.plans) == 0 {
		return time.Time{}
	}
	return a.plans[0].at
}

// agendaHeap is a heap.Interface.
type agendaHeap[T any] []*plan[T]

func (h agendaHeap[T]) Len() int { return len(h) }

func (h agendaHeap[T]) Less(i, j int) bool {
	if h[i].at.Equal(h[j].at) {
		return h[i].made < h[j].made
	}
	return h[i].at.Before(h[j].at)
}

func (h agendaHeap[T]) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].place, h[j].place = i+1, j+1
}

func (h *agendaHeap[T]) Push(x any) {
	p := x.(*plan[T])
	*h = append(*h, p)
	p.place = len(*h)
}

func (h *agendaHeap[T]) Pop() any {
	last := len(*h) - 1
	p := (*h)[last]
	(*h)[last], *h = nil, (*h)[:last]
	p.place = 0
	return p
}
