// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package request

import (
	"cmp"
	"sync"
	"sync/atomic"
	"time"
)

// use counts who uses an entry of a table.
type use struct {
	users atomic.Int64
	last  atomic.Int64 // when a user left last
}

func (u *use) uses() *use { return u }

// entry is what a table holds: something with a use in it, and an end.
type entry interface {
	uses() *use
	end()
}

// table keeps what is costly to make for as long as it is used, and idleTime
// longer.
type table[K cmp.Ordered, E entry] struct {
	mu      sync.RWMutex
	entries map[K]E // guarded by mu
}

// get returns the entry, made by create if there is none, and counts the
// caller as its user until it calls put. create must not block.
func (t *table[K, E]) get(k K, create func() E) (e E, created bool) {
	t.mu.RLock()
	e, ok := t.entries[k]
	if ok {
		e.uses().users.Add(1)
	}
	t.mu.RUnlock()
	if ok {
		return e, false
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if e, ok = t.entries[k]; !ok {
		if t.entries == nil {
			t.entries = make(map[K]E)
		}
		e = create()
		t.entries[k] = e
	}
	e.uses().users.Add(1)
	return e, !ok
}

// find is get for an entry that exists.
func (t *table[K, E]) find(k K) (e E, ok bool) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	if e, ok = t.entries[k]; ok {
		e.uses().users.Add(1)
	}
	return e, ok
}

// put ends what get began.
func (t *table[K, E]) put(e E, now int64) {
	e.uses().last.Store(now)
	e.uses().users.Add(-1)
}

// all returns the entries in the order of their keys, without a use.
func (t *table[K, E]) all() []E {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return sorted(t.entries)
}

// sweep ends the entries that nobody uses and nobody has used for so long, and
// says whether any are left. The order does not matter to anybody.
func (t *table[K, E]) sweep(now int64, idle time.Duration) (left bool) {
	var out []E
	t.mu.Lock()
	for k, e := range t.entries {
		if e.uses().users.Load() == 0 && now-e.uses().last.Load() >= int64(idle) {
			out = append(out, e)
			delete(t.entries, k)
		}
	}
	left = len(t.entries) > 0
	t.mu.Unlock()
	for _, e := range out {
		e.end()
	}
	return left
}
