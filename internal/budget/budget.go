// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package budget

import "sync"

// Budget is a limit that holders share. All methods may be called concurrently.
type Budget[K comparable] struct {
	// Guarded by mu.
	mu    sync.Mutex
	limit int
	used  int
	held  map[K]int
}

// New returns a budget of so many units.
func New[K comparable](limit int) *Budget[K] {
	return &Budget[K]{limit: limit, held: make(map[K]int)}
}

// SetLimit changes the limit. Nobody has to give anything back.
func (b *Budget[K]) SetLimit(limit int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.limit = limit
}

// Limit is how many units may be held.
func (b *Budget[K]) Limit() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.limit
}

// Take says whether k may hold n units more; it does from here on. n is positive.
func (b *Budget[K]) Take(k K, n int) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.fits(k, n) {
		return false
	}
	b.held[k] += n
	b.used += n
	return true
}

// Fits reports whether k may hold n units more now.
func (b *Budget[K]) Fits(k K, n int) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.fits(k, n)
}

// fits is Fits with mu held.
func (b *Budget[K]) fits(k K, n int) bool {
	holders := len(b.held)
	if b.held[k] == 0 {
		holders++
	}
	free, fair := b.limit-b.limit/2, b.limit/2/holders
	return n <= b.limit-b.used && (n <= free-b.used || n <= fair-b.held[k])
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

// Share is a Budget as one holder sees it.
type Share[K comparable] struct {
	of     *Budget[K]
	holder K
}

// Of returns the share of k.
func (b *Budget[K]) Of(k K) Share[K] { return Share[K]{b, k} }

// Take says whether n units more may be held; they are from here on.
func (s Share[K]) Take(n int) bool { return s.of.Take(s.holder, n) }

// Give returns n units.
func (s Share[K]) Give(n int) { s.of.Give(s.holder, n) }

// Used is how many units are held.
func (b *Budget[K]) Used() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.used
}
