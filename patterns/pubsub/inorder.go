// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package pubsub

import "sync"

// inOrder has what was decided under a lock done after it: in the order in which
// it was decided, by one goroutine at a time. Who comes while another one is at
// it leaves it to that one, and does not wait. The owner's lock guards it.
type inOrder[T any] struct {
	todo, spare []T
	busy        bool
}

func (o *inOrder[T]) add(v T) { o.todo = append(o.todo, v) }

// claim says whether the caller may do something at once, because nothing is
// before it; finish follows, in place of run. It is called with the owner's lock
// held.
func (o *inOrder[T]) claim() bool {
	if o.busy || len(o.todo) > 0 {
		return false
	}
	o.busy = true
	return true
}

// run does what there is to do. It is called with the owner's lock held, and
// releases it.
func (o *inOrder[T]) run(mu *sync.Mutex, do func(T)) {
	if o.busy {
		mu.Unlock()
		return
	}
	o.busy = true
	o.finish(mu, do)
}

// finish is run after claim.
func (o *inOrder[T]) finish(mu *sync.Mutex, do func(T)) {
	for len(o.todo) > 0 {
		now := o.todo
		o.todo = o.spare[:0]
		mu.Unlock()
		for _, v := range now {
			do(v)
		}
		clear(now)
		mu.Lock()
		if o.spare = now[:0]; cap(now) > 64 {
			o.spare = nil
		}
	}
	o.busy = false
	mu.Unlock()
}
