// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package pace

import (
	"maps"
	"sync"
	"sync/atomic"
)

// Meters are those of many holders. Of whoever has used nothing of late nothing is kept;
// when more have than are remembered those beyond share one meter. All methods may be
// called concurrently; while nobody has used anything Open costs one atomic load.
type Meters[K comparable] struct {
	// Immutable.
	limit Limit
	most  int

	any atomic.Bool // somebody has used something

	// Guarded by mu.
	mu   sync.RWMutex
	all  map[K]Meter
	rest Meter // of those beyond most
	look int   // those who have paid are forgotten after so many more
}

// firstLook is how many are kept before it is looked for those who have paid.
const firstLook = 64

// New returns meters that remember at most so many holders.
func New[K comparable](l Limit, most int) *Meters[K] {
	return &Meters[K]{limit: l, most: most, all: make(map[K]Meter), look: firstLook}
}

// Open says whether anything of k's may pass now.
func (t *Meters[K]) Open(k K, now int64) bool {
	if !t.any.Load() {
		return true
	}
	t.mu.RLock()
	defer t.mu.RUnlock()
	m, known := t.all[k]
	if !known && len(t.all) >= t.most {
		m = t.rest
	}
	return m.Open(t.limit, now)
}

// Take notes that n units of k's pass.
func (t *Meters[K]) Take(k K, now, n int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.take(k, now, n)
}

// Pass is Open and, where that is so, Take.
func (t *Meters[K]) Pass(k K, now, n int64) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	m, known := t.all[k]
	if !known && len(t.all) >= t.most {
		m = t.rest
	}
	open := m.Open(t.limit, now)
	if open {
		t.take(k, now, n)
	}
	return open
}

// Len is how many are remembered.
func (t *Meters[K]) Len() int {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return len(t.all)
}

func (t *Meters[K]) take(k K, now, n int64) {
	t.any.Store(true)
	if t.look--; t.look <= 0 { // once in as many as there are
		maps.DeleteFunc(t.all, func(_ K, m Meter) bool { return m.paidAt <= now })
		t.look = max(firstLook, len(t.all))
	}
	m, known := t.all[k]
	if !known && len(t.all) >= t.most {
		t.rest.Take(t.limit, now, n)
		return
	}
	m.Take(t.limit, now, n)
	t.all[k] = m
}
