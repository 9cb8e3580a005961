// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package match

import (
	"hash/maphash"
	"strings"
	"sync/atomic"
)

// What a slot's tag says when it has no node.
const (
	slotFree = 0 // and never had: nobody needs to look further
	slotGone = 1
)

// slot is one place of a table. A writer stores the node before the tag, and
// may use a slot again: readers compare words, so that they take nobody for
// somebody else.
type slot[V comparable] struct {
	tag  atomic.Uint32
	node atomic.Pointer[node[V]]
}

// table finds nodes by their words: open addressing, linear probing. It is read
// while the one writer changes it; a larger or smaller one takes its place as a
// whole.
type table[V comparable] struct {
	slots []slot[V] // a power of two

	// Owned by the writer.
	live int // slots with a node
	used int // those, and those that had one
}

func newTable[V comparable](size int) *table[V] { return &table[V]{slots: make([]slot[V], size)} }

// find returns the node of that word, or nil.
func (t *table[V]) find(tag uint32, word string) *node[V] {
	mask := uint32(len(t.slots) - 1)
	for i := range uint32(len(t.slots)) {
		s := &t.slots[(tag+i)&mask]
		switch s.tag.Load() {
		case tag:
			if n := s.node.Load(); n != nil && n.begins(word) {
				return n
			}
		case slotFree:
			return nil
		}
	}
	return nil
}

// replace puts n in the place of the node of that word, or removes that if n is
// nil, and says whether there was one.
func (t *table[V]) replace(tag uint32, word string, n *node[V]) bool {
	mask := uint32(len(t.slots) - 1)
	for i := range uint32(len(t.slots)) {
		s := &t.slots[(tag+i)&mask]
		switch s.tag.Load() {
		case tag:
			old := s.node.Load()
			if !old.begins(word) {
				continue
			}
			if n == nil {
				s.tag.Store(slotGone)
				t.live--
			}
			s.node.Store(n)
			return true
		case slotFree:
			return false
		}
	}
	return false
}

// insert adds a node whose word is not in the table, which has room.
func (t *table[V]) insert(tag uint32, n *node[V]) {
	mask := uint32(len(t.slots) - 1)
	for i := tag; ; i++ {
		s := &t.slots[i&mask]
		was := s.tag.Load()
		if was > slotGone {
			continue
		}
		s.node.Store(n)
		s.tag.Store(tag)
		t.live++
		if was == slotFree {
			t.used++
		}
		return
	}
}

// room says whether another node fits. Small tables may be full.
func (t *table[V]) room() bool { return fits(t.used+1, len(t.slots)) }

func fits(used, slots int) bool { return used <= slots-slots/8 }

// sparse says whether the table should be smaller.
func (t *table[V]) sparse() bool { return t.live*8 < len(t.slots) || t.live == 0 }

// resized returns a table with the same nodes that has room for n; nil if n is
// 0.
func (t *table[V]) resized(seed maphash.Seed, n int) *table[V] {
	if n == 0 {
		return nil
	}
	size := 1
	for !fits(n, size) {
		size *= 2
	}
	// Half as much again, or a table with few free places would be made anew
	// for each change.
	if size > 8 && !fits(n+n/4, size) {
		size *= 2
	}
	out := newTable[V](size)
	for i := range t.slots {
		if n := t.slots[i].node.Load(); n != nil {
			word, _, _ := strings.Cut(n.label, ".")
			out.insert(tagOf(seed, word), n)
		}
	}
	return out
}
