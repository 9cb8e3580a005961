// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package after_test

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/internal/after"
)

// TestWhatIsDecidedInOrderIsDoneInOrder has many goroutines decide things, under a
// lock, that are done after it: in the order in which they were decided, one at a
// time, and all of them by the time when nobody is at it.
func TestWhatIsDecidedInOrderIsDoneInOrder(t *testing.T) {
	var mu sync.Mutex
	var o after.InOrder[int]
	next, done := 0, []int(nil)
	do := func(v int) { done = append(done, v) }
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for range 1000 {
				mu.Lock()
				now := next
				next++
				if i%2 == 0 || !o.Claim() {
					o.Add(now)
					o.Run(&mu, do)
					continue
				}
				mu.Unlock()
				do(now)
				mu.Lock()
				o.Finish(&mu, do)
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	require.Len(t, done, 8000)
	for i, v := range done {
		require.Equal(t, i, v)
	}
}

// TestWhatIsDoneInOrderMayDecideMore has what is done add something itself, as a
// subscriber that publishes does: it is done next, and nothing is locked meanwhile.
func TestWhatIsDoneInOrderMayDecideMore(t *testing.T) {
	var mu sync.Mutex
	var o after.InOrder[int]
	var done []int
	var do func(int)
	do = func(v int) {
		done = append(done, v)
		if v < 3 {
			mu.Lock()
			o.Add(v + 1)
			o.Run(&mu, do)
		}
	}
	mu.Lock()
	o.Add(0)
	o.Run(&mu, do)
	require.Equal(t, []int{0, 1, 2, 3}, done)
}

// TestWhatACoreAppendsIsDoneBehindTheRest proves that Append keeps the order.
func TestWhatACoreAppendsIsDoneBehindTheRest(t *testing.T) {
	var mu sync.Mutex
	var o after.InOrder[int]
	var done []int
	mu.Lock()
	o.Add(1)
	o.Append(func(todo []int) []int { return append(todo, 2, 3) })
	o.Run(&mu, func(v int) { done = append(done, v) })
	require.Equal(t, []int{1, 2, 3}, done)
}

// TestNobodyClaimsWhileOthersComeBefore proves that a claim is refused while somebody is
// at it, and while something waits.
func TestNobodyClaimsWhileOthersComeBefore(t *testing.T) {
	var mu sync.Mutex
	var o after.InOrder[int]
	mu.Lock()
	require.True(t, o.Claim())
	require.False(t, o.Claim(), "somebody is at it")
	o.Finish(&mu, func(int) {})
	o.Add(1)
	require.False(t, o.Claim(), "something waits")
	o.Run(&mu, func(int) {})
	mu.Lock()
	require.True(t, o.Claim())
	mu.Unlock()
}

// TestDoingInOrderCostsNoMemory proves that neither what is done at once nor what is
// added needs memory, once there is a place for it.
func TestDoingInOrderCostsNoMemory(t *testing.T) {
	var mu sync.Mutex
	var o after.InOrder[int]
	sum := 0
	do := func(v int) { sum += v }
	require.Zero(t, testing.AllocsPerRun(100, func() {
		mu.Lock()
		o.Claim()
		mu.Unlock()
		mu.Lock()
		o.Finish(&mu, do)
		o.Add(1)
		o.Run(&mu, do)
	}))
}
