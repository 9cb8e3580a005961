// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package fifo

const (
	firstPlaces = 4  // of a queue that gets its first value
	keptPlaces  = 16 // at most, of one that is empty again
)

// Queue is a queue of values of type T. The zero value is empty and ready. It
// must not be copied once it is used, nor used by several goroutines at once.
type Queue[T any] struct {
	places []T // a power of two of them
	head   int // of places: where the first value is
	n      int // values
}

// Len returns how many values wait.
func (q *Queue[T]) Len() int { return q.n }

// Push adds a value behind all others.
func (q *Queue[T]) Push(v T) {
	if q.n == len(q.places) {
		q.grow()
	}
	q.places[q.place(q.n)] = v
	q.n++
}

// Pop takes out the first value; there must be one.
func (q *Queue[T]) Pop() T {
	first := q.First()
	v := *first
	var none T
	*first = none
	q.head = q.place(1)
	if q.n--; q.n == 0 && len(q.places) > keptPlaces {
		q.Clear()
	}
	return v
}

// First returns the first value, in its place; there must be one. It is valid
// until the queue changes, as what At returns is.
func (q *Queue[T]) First() *T { return q.At(0) }

// At returns the value that i others are before, in its place; there must be
// one.
func (q *Queue[T]) At(i int) *T {
	if uint(i) >= uint(q.n) {
		panic("BUG: fifo: no such value")
	}
	return &q.places[q.place(i)]
}

// Clear empties the queue and gives all of its memory back.
func (q *Queue[T]) Clear() { *q = Queue[T]{} }

// Release gives the memory of an empty queue back; one with values stays as it
// is.
func (q *Queue[T]) Release() {
	if q.n == 0 {
		q.Clear()
	}
}

// place returns where the value is, or goes, that i others are before.
func (q *Queue[T]) place(i int) int { return (q.head + i) & (len(q.places) - 1) }

func (q *Queue[T]) grow() {
	places := make([]T, max(firstPlaces, 2*len(q.places)))
	n := copy(places, q.places[q.head:])
	copy(places[n:], q.places[:q.head])
	q.places, q.head = places, 0
}
