// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package crowd

import "iter"

// Table is a map of bounded size, whose entries are each of a source. When it is full
// one at random of a source that has most goes, for a source that has less than that with
// one more; who has as much as anybody is refused. Not for concurrent use.
type Table[K, S comparable, V any] struct {
	most   int
	random func(n int) int
	all    map[K]entry[V]
	keys   map[uint64]K // by place in the crowd
	crowd  *Crowd[S]
	next   uint64
}

type entry[V any] struct {
	place uint64
	value V
}

// NewTable returns an empty table of at most so many entries; random(n) is below n.
func NewTable[K, S comparable, V any](most int, random func(n int) int) *Table[K, S, V] {
	return &Table[K, S, V]{most: most, random: random, all: make(map[K]entry[V]), keys: make(map[uint64]K), crowd: New[S]()}
}

// Len is how many entries there are.
func (t *Table[K, S, V]) Len() int { return len(t.all) }

// Get returns the entry of k, and whether there is one.
func (t *Table[K, S, V]) Get(k K) (V, bool) {
	e, ok := t.all[k]
	return e.value, ok
}

// All lists the entries. Those that are visited may be deleted meanwhile.
func (t *Table[K, S, V]) All() iter.Seq2[K, V] {
	return func(yield func(K, V) bool) {
		for k, e := range t.all {
			if !yield(k, e.value) {
				return
			}
		}
	}
}

// Set replaces the value of an entry that there is; whose it is stays.
func (t *Table[K, S, V]) Set(k K, v V) {
	e, ok := t.all[k]
	if !ok {
		panic("BUG: no such entry")
	}
	e.value = v
	t.all[k] = e
}

// Gone is an entry that had to give way.
type Gone[K comparable, V any] struct {
	Key   K
	Value V
}

// Put adds an entry of a source under a key that has none. It says whether there was
// room, and which one has given way for it; nil = none.
func (t *Table[K, S, V]) Put(k K, source S, v V) (gone *Gone[K, V], ok bool) {
	if len(t.all) >= t.most {
		if t.crowd.Most() <= t.crowd.Of(source)+1 {
			return nil, false
		}
		victim := t.keys[t.crowd.Victim(t.random)]
		gone = &Gone[K, V]{victim, t.all[victim].value}
		t.Delete(victim)
	}
	t.next++
	t.all[k], t.keys[t.next] = entry[V]{t.next, v}, k
	t.crowd.Add(t.next, source)
	return gone, true
}

// Delete removes an entry; one that is not there is no error.
func (t *Table[K, S, V]) Delete(k K) {
	if e, ok := t.all[k]; ok {
		delete(t.all, k)
		delete(t.keys, e.place)
		t.crowd.Remove(e.place)
	}
}
