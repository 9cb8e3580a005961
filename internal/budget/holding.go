// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package budget

import "sync"

// Holding is a Portion that counts what is held, for concurrent use.
type Holding[K comparable] struct {
	// Guarded by mu.
	mu      sync.Mutex
	held    int
	portion Portion[K]
}

// Holding returns an empty one of k; own and step are those of a Portion.
func (b *Budget[K]) Holding(k K, own, step int) *Holding[K] {
	return &Holding[K]{portion: b.Portion(k, own, step)}
}

// Take says whether n units more may be held; they are from here on.
func (h *Holding[K]) Take(n int) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.portion.Cover(h.held + n) {
		return false
	}
	h.held += n
	return true
}

// Give returns n units that were taken.
func (h *Holding[K]) Give(n int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.held -= n; h.held < 0 {
		panic("BUG: more is given back than was taken")
	}
	h.portion.Cover(h.held)
}
