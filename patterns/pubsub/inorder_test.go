// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package pubsub

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestWhatIsDecidedInOrderIsDoneInOrder(t *testing.T) {
	// This test has many goroutines decide things, under a lock, that are done
	// after it: in the order in which they were decided, one at a time, and all of
	// them by the time when nobody is at it.
	var mu sync.Mutex
	var o inOrder[int]
	next, done := 0, []int(nil)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 1000 {
				mu.Lock()
				o.add(next)
				next++
				o.run(&mu, func(v int) { done = append(done, v) })
			}
		})
	}
	wg.Wait()
	require.Len(t, done, 8000)
	for i, v := range done {
		require.Equal(t, i, v)
	}
}

func TestWhatIsDoneInOrderMayDecideMore(t *testing.T) {
	// This test has what is done add something itself, as a subscriber that
	// publishes does: it is done next, and nothing is locked meanwhile.
	var mu sync.Mutex
	var o inOrder[int]
	var done []int
	var do func(int)
	do = func(v int) {
		done = append(done, v)
		if v < 3 {
			mu.Lock()
			o.add(v + 1)
			o.run(&mu, do)
		}
	}
	mu.Lock()
	o.add(0)
	o.run(&mu, do)
	require.Equal(t, []int{0, 1, 2, 3}, done)
}
