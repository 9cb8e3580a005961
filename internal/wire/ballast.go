// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"runtime"
	"runtime/metrics"
	"sync"
	"sync/atomic"
)

const (
	// ballasted is what a program that is given many long bodies has in use at
	// least, as the collector counts it: by default as much garbage gathers as is in
	// use, but 4 MiB in all at least. A small program would be looked through every
	// 30 messages of 64 KiB, a third of what it spends on them (bench/README.md).
	ballasted = 8 << 20
	// manyBodies is how many new ones between two collections are many: a quarter
	// of the 4 MiB.
	manyBodies = 16
	// ballastStep is by how much the ballast differs at least when it changes.
	ballastStep = 1 << 20
)

// ballast is memory that is in use in name only, while programs keep long bodies and
// so leave them to the collector. Nobody touches it, so the system gives no memory for
// it; what a process may take more is the garbage that gathers beside it. The settings
// of the collector belong to the program, and what they say holds for the ballast, too.
// Cf. github.com/golang/go/issues/23044 and Twitch's "Go memory ballast" (2019).
type ballast struct {
	made atomic.Int64 // bodies since the last collection

	mu       sync.Mutex
	watching bool   // guarded by mu: there is a sentinel
	held     []byte // guarded by mu
}

// sentinel is garbage from the beginning: its clean-up follows the next collection.
type sentinel struct{ _ *ballast }

// note notes that a body was made for a program to keep.
func (b *ballast) note() {
	if b.made.Add(1) != manyBodies {
		return
	}
	b.mu.Lock()
	watch := !b.watching
	b.watching = true
	b.mu.Unlock()
	if watch {
		b.watch()
	}
}

func (b *ballast) watch() { runtime.AddCleanup(new(sentinel), (*ballast).look, b) }

// look looks after each collection, until few bodies were made before one.
func (b *ballast) look() {
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(live)
	made := b.made.Swap(0)
	b.mu.Lock()
	size := weigh(int(made), len(b.held), live[0].Value.Uint64())
	if size != len(b.held) {
		b.held = nil
		if size > 0 {
			b.held = make([]byte, size)
		}
	}
	b.watching = made >= manyBodies
	again := b.watching
	b.mu.Unlock()
	if again {
		b.watch()
	}
}

// weigh is how heavy the ballast is to be, which had held bytes, after so many bodies
// were made between two collections and the last one has found live bytes in use.
func weigh(made, held int, live uint64) int {
	if made < manyBodies {
		return 0
	}
	want := max(0, ballasted-max(0, int(live)-held))
	if want >= ballastStep && max(want-held, held-want) < ballastStep {
		return held
	}
	return want / ballastStep * ballastStep
}
