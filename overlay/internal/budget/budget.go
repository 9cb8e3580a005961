// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

// Package budget bounds what all peers together can make a node hold, in bytes or
// in streams, and shares it fairly between them.
//
// Half of a budget is for whoever comes first. Of the other half each peer that holds
// anything may have the same share, and who has as much already nothing, so that
// nobody is refused its own because of what others hold. Whoever is refused is told
// so at once: nothing waits.
package budget

import "sync"

// Budget is a limit that holders share. All methods may be called concurrently.
type Budget[K comparable] struct {
	limit int // immutable

	// Guarded by mu.
	mu   sync.Mutex
	used int
	held map[K]int
}

// New returns a budget of so many units.
func New[K comparable](limit int) *Budget[K] {
	return &Budget[K]{limit: limit, held: make(map[K]int)}
}

// Take says whether k may hold n units more; it does from here on. n is positive.
func (b *Budget[K]) Take(k K, n int) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	holders := len(b.held)
	if b.held[k] == 0 {
		holders++
	}
	free, fair := b.limit-b.limit/2, b.limit/2/holders
	if n > b.limit-b.used || n > free-b.used && n > fair-b.held[k] {
		return false
	}
	b.held[k] += n
	b.used += n
	return true
}

// Give returns n units that k holds.
func (b *Budget[K]) Give(k K, n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if n > b.held[k] {
		panic("BUG: more is given back than was taken")
	}
	b.used -= n
	if b.held[k] -= n; b.held[k] == 0 {
		delete(b.held, k)
	}
}

// Used is how many units are held.
func (b *Budget[K]) Used() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.used
}
