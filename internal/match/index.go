// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package match

import (
	"hash/maphash"
	"sync"
	"sync/atomic"
)

// Index finds the values of all patterns that match a topic. The zero value is
// empty and ready. All methods may be called concurrently; Match takes no lock
// and is never held up by Add and Remove, which take turns.
//
// A Match that runs at the same time as an Add or a Remove sees it or does not;
// of two such changes it may see either one alone.
type Index[V comparable] struct {
	root    atomic.Pointer[trie[V]] // nil at first
	len     atomic.Int64
	changes atomic.Uint64

	mu sync.Mutex // held by writers
}

// trie is the first fork of all, and what makes its tables unpredictable.
type trie[V comparable] struct {
	seed maphash.Seed
	top  fork[V]
}

// Add adds v under the pattern, which must have passed CheckPattern and is
// kept. A v that is added to a pattern twice is there twice.
func (x *Index[V]) Add(pattern string, v V) {
	x.mu.Lock()
	defer x.mu.Unlock()
	t := x.root.Load()
	if t == nil {
		t = &trie[V]{seed: maphash.MakeSeed()}
		x.root.Store(t)
	}
	t.top.add(t.seed, pattern, v)
	x.len.Add(1)
	x.changes.Add(1)
}

// Remove removes one v from the pattern; if there is none, it does nothing.
func (x *Index[V]) Remove(pattern string, v V) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if t := x.root.Load(); t != nil && t.top.remove(t.seed, pattern, v) {
		x.len.Add(-1)
		x.changes.Add(1)
	}
}

// Match appends to dst the values of all patterns that match the topic, and
// returns it; it allocates only if dst is too small. A v that was added to
// several of them appears as often. The order depends on the patterns and,
// within one, on the order of Add, and is the same in each run.
func (x *Index[V]) Match(topic string, dst []V) []V {
	t := x.root.Load()
	if t == nil {
		return dst
	}
	var p path
	if !p.cut(topic, t.seed) {
		return dst
	}
	return t.top.match(&p, 0, dst)
}

// Len returns how many values there are, under all patterns together.
func (x *Index[V]) Len() int { return int(x.len.Load()) }

// Changes counts what Add and Remove have changed: what Match returned after it was
// read is right as long as it is the same.
func (x *Index[V]) Changes() uint64 { return x.changes.Load() }
