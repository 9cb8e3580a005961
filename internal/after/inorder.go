// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package after

import "sync"

// keptPlaces is how many places an InOrder keeps when nothing is left to do.
const keptPlaces = 64

// InOrder is List where several goroutines decide, and what they have decided must
// be done in the order in which it was: by one of them at a time. Who comes while
// another one is at it leaves it to that one, and does not wait. The zero value is
// empty. The owner's lock guards it.
type InOrder[T any] struct {
	todo, spare []T
	busy        bool
}

// Add has v done by Run. It is called with the owner's lock held.
func (o *InOrder[T]) Add(v T) { o.todo = append(o.todo, v) }

// Append is Add for all that a core appends to what is to be done. It is called with
// the owner's lock held.
func (o *InOrder[T]) Append(core func(todo []T) []T) { o.todo = core(o.todo) }

// Claim says whether the caller may do something at once, as nothing is before it and
// nobody is at it: it then needs no Add. It is called with the owner's lock held. The
// caller releases the lock, does it, locks again and calls Finish.
func (o *InOrder[T]) Claim() bool {
	if o.busy || len(o.todo) > 0 {
		return false
	}
	o.busy = true
	return true
}

// Busy says whether somebody is at it. It is called with the owner's lock held.
func (o *InOrder[T]) Busy() bool { return o.busy }

// Run calls do for what there is to do, without the lock, unless somebody is at it.
// What is added meanwhile is done too: do may add, and run. It is called with the
// owner's lock held, and releases it.
func (o *InOrder[T]) Run(mu *sync.Mutex, do func(T)) {
	if !o.busy {
		o.busy = true
		o.Finish(mu, do)
	}
	mu.Unlock()
}

// Finish is Run after Claim, for what others have left to the caller. It is called
// with the owner's lock held, and returns with it: nobody has come in between who
// has left something.
func (o *InOrder[T]) Finish(mu *sync.Mutex, do func(T)) {
	for len(o.todo) > 0 {
		now := o.todo
		o.todo = o.spare[:0]
		mu.Unlock()
		for _, v := range now {
			do(v)
		}
		clear(now)
		mu.Lock()
		if o.spare = now[:0]; cap(now) > keptPlaces {
			o.spare = nil
		}
	}
	o.busy = false
}
