// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package inbox

// smallRing is the number of places that an empty ring keeps: 24 bytes each,
// while a worker is at it anyway.
const smallRing = 16

// ring is a queue of messages that grows as needed, and gives its memory back
// when it is empty.
type ring struct {
	places []message // a power of two of them
	head   int
	n      int
}

func (r *ring) len() int { return r.n }

// first returns the message that waits longest; there must be one.
func (r *ring) first() *message { return &r.places[r.head] }

func (r *ring) push(m message) {
	if r.n == len(r.places) {
		r.grow()
	}
	r.places[(r.head+r.n)&(len(r.places)-1)] = m
	r.n++
}

func (r *ring) pop() message {
	m := r.places[r.head]
	r.places[r.head] = message{}
	r.head = (r.head + 1) & (len(r.places) - 1)
	if r.n--; r.n == 0 && len(r.places) > smallRing {
		r.places, r.head = nil, 0
	}
	return m
}

// release gives the memory of an empty ring back.
func (r *ring) release() {
	if r.n == 0 {
		r.places, r.head = nil, 0
	}
}

func (r *ring) grow() {
	places := make([]message, max(4, 2*len(r.places)))
	n := copy(places, r.places[r.head:])
	copy(places[n:], r.places[:r.head])
	r.places, r.head = places, 0
}
