// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package fifo

import (
	"math/rand/v2"
	"runtime"
	"testing"
	"weak"

	"github.com/stretchr/testify/require"
)

func TestValuesComeOutInTheOrderTheyWentIn(t *testing.T) {
	// This test does 100,000 random things with a queue and with a slice, in
	// stretches that let it grow and stretches that empty it.
	rng := rand.New(rand.NewPCG(3, 1))
	var q Queue[int]
	var model []int
	for i := range 100_000 {
		fills := i/1000%2 == 0
		switch pushes := rng.IntN(3) > 0; {
		case pushes == fills:
			q.Push(i)
			model = append(model, i)
		case len(model) > 0:
			require.Equal(t, model[0], *q.First())
			require.Equal(t, model[0], q.Pop())
			model = model[1:]
		}
		require.Equal(t, len(model), q.Len())
		if len(model) > 0 {
			at := rng.IntN(len(model))
			require.Equal(t, model[at], *q.At(at))
			*q.At(at) = -i
			model[at] = -i
		}
	}
}

func TestAnEmptyQueueKeepsLittle(t *testing.T) {
	// This test checks what is kept of a queue after it held some values.
	for _, c := range []struct{ values, kept int }{{0, 0}, {1, 4}, {4, 4}, {5, 8}, {16, 16}, {17, 0}, {5000, 0}} {
		var q Queue[[]byte]
		for range c.values {
			q.Push(make([]byte, 1))
		}
		for q.Len() > 0 {
			q.Pop()
		}
		require.Len(t, q.places, c.kept, "%d values", c.values)
		for _, p := range q.places {
			require.Nil(t, p, "%d values", c.values)
		}
		q.Push(nil)
		q.Release()
		require.Equal(t, 1, q.Len())
		q.Pop()
		q.Release()
		require.Zero(t, q)
		q.Push(nil)
		q.Clear()
		require.Zero(t, q)
	}
}

func TestWhatWasPoppedIsForgotten(t *testing.T) {
	// This test pops one of many values and has the collector look for it while
	// the others still wait.
	var q Queue[*[64]byte]
	for range 100 {
		q.Push(new([64]byte))
	}
	gone, waits := weak.Make(q.Pop()), weak.Make(*q.First())
	runtime.GC()
	require.Nil(t, gone.Value())
	require.NotNil(t, waits.Value())
	runtime.KeepAlive(&q)
}

func TestAQueueThatIsNeverEmptyDoesNotGrow(t *testing.T) {
	// This test lets a hundred values pass through a queue for each that stays in
	// it: no memory is needed but that of the most that were in it at once.
	var q Queue[int]
	for i := range 1000 {
		q.Push(i)
	}
	require.Zero(t, testing.AllocsPerRun(100, func() {
		for i := range 1000 {
			q.Pop()
			q.Push(i)
		}
	}))
	require.Len(t, q.places, 1024)
}

func TestAQueueThatIsFilledAndEmptiedInTurnDoesNotAllocate(t *testing.T) {
	// This test checks that bursts of as much as an empty queue keeps cost no
	// memory.
	var q Queue[int]
	require.Zero(t, testing.AllocsPerRun(100, func() {
		for i := range keptPlaces {
			q.Push(i)
		}
		for q.Len() > 0 {
			q.Pop()
		}
	}))
}

func TestNobodyTakesWhatIsNotThere(t *testing.T) {
	// This test checks that the misuses of a queue that has places for more are
	// found out.
	var q Queue[int]
	q.Push(1)
	require.Panics(t, func() { q.At(1) })
	require.Panics(t, func() { q.At(-1) })
	q.Pop()
	require.Panics(t, func() { q.Pop() })
	require.Panics(t, func() { q.First() })
	require.Zero(t, q.Len())
}

// BenchmarkQueue measures a value from Push to Pop, with so many before it.
func BenchmarkQueue(b *testing.B) {
	for name, n := range map[string]int{"empty": 0, "full": 1 << 16} {
		b.Run(name, func(b *testing.B) {
			var q Queue[[]byte]
			for range n {
				q.Push(nil)
			}
			b.ReportAllocs()
			for b.Loop() {
				q.Push(nil)
				q.Pop()
			}
		})
	}
}
