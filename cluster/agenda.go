// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"container/heap"
	"time"
)

// agenda is what a core has planned for each of many things, the earliest first:
// what is not due costs nothing, and a thing for which nothing is planned no memory.
// Plans for the same time come in the order in which they were made. The zero value
// is ready for use.
type agenda[T comparable] struct {
	heap  agendaHeap[T]
	plans map[T]*plan[T]
	made  uint64
}

// plan is when the core looks at one thing again.
type plan[T comparable] struct {
	what  T
	at    time.Time
	made  uint64
	place int // in the heap
}

// planned says whether something is planned for what.
func (a *agenda[T]) planned(what T) bool { return a.plans[what] != nil }

// plan has what come up at that time or before; zero plans nothing.
func (a *agenda[T]) plan(what T, at time.Time) {
	if at.IsZero() {
		return
	}
	if p := a.plans[what]; p == nil {
		a.made++
		p = &plan[T]{what: what, at: at, made: a.made}
		if a.plans == nil {
			a.plans = make(map[T]*plan[T])
		}
		a.plans[what] = p
		heap.Push(&a.heap, p)
	} else if at.Before(p.at) {
		p.at = at
		heap.Fix(&a.heap, p.place)
	}
}

// cancel forgets what.
func (a *agenda[T]) cancel(what T) {
	if p := a.plans[what]; p != nil {
		heap.Remove(&a.heap, p.place)
		delete(a.plans, what)
	}
}

// due takes out what has come up.
func (a *agenda[T]) due(now time.Time) (what []T) {
	for len(a.heap) > 0 && !now.Before(a.heap[0].at) {
		p := heap.Pop(&a.heap).(*plan[T])
		delete(a.plans, p.what)
		what = append(what, p.what)
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

// agendaHeap is a heap.Interface.
type agendaHeap[T comparable] []*plan[T]

func (h agendaHeap[T]) Len() int { return len(h) }

func (h agendaHeap[T]) Less(i, j int) bool {
	if h[i].at.Equal(h[j].at) {
		return h[i].made < h[j].made
	}
	return h[i].at.Before(h[j].at)
}

func (h agendaHeap[T]) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].place, h[j].place = i, j
}

func (h *agendaHeap[T]) Push(x any) {
	p := x.(*plan[T])
	p.place = len(*h)
	*h = append(*h, p)
}

func (h *agendaHeap[T]) Pop() any {
	last := len(*h) - 1
	p := (*h)[last]
	(*h)[last], *h = nil, (*h)[:last]
	return p
}
