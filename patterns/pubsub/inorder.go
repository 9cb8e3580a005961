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

// run does what there is to do. It is called with the owner's lock held, and
// releases it.
func (o *inOrder[T]) run(mu *sync.Mutex, do func(T)) {
	if o.busy {
		mu.Unlock()
		return
	}
	o.busy = true
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
