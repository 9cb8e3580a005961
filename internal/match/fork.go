// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package match

import (
	"hash/maphash"
	"strings"
	"sync/atomic"
)

// fork is where patterns part. Readers follow its pointers while the one writer
// changes them, each by one store.
type fork[V comparable] struct {
	rest  atomic.Pointer[node[V]] // the pattern that goes on with >, and ends
	star  atomic.Pointer[node[V]] // those that go on with *
	words atomic.Pointer[table[V]]
}

// match appends the values of all patterns below f that stand for the words of
// the path from i on; there is at least one.
func (f *fork[V]) match(p *path, i int, dst []V) []V {
	if n := f.rest.Load(); n != nil {
		dst = n.values(dst)
	}
	if n := f.star.Load(); n != nil {
		dst = n.match(p, i, len(anyWord), dst)
	}
	if t := f.words.Load(); t != nil {
		word := p.word(i)
		if n := t.find(p.tag(i), word); n != nil {
			dst = n.match(p, i, len(word), dst)
		}
	}
	return dst
}

// empty says whether nothing is below f.
func (f *fork[V]) empty() bool {
	return f.rest.Load() == nil && f.star.Load() == nil && f.words.Load() == nil
}

// get returns the node where a pattern that goes on with that word goes on.
func (f *fork[V]) get(seed maphash.Seed, word string) *node[V] {
	switch word {
	case anyRest:
		return f.rest.Load()
	case anyWord:
		return f.star.Load()
	}
	if t := f.words.Load(); t != nil {
		return t.find(tagOf(seed, word), word)
	}
	return nil
}

// put makes n the node of that word, in the place of the one that is there; nil
// removes it.
func (f *fork[V]) put(seed maphash.Seed, word string, n *node[V]) {
	switch word {
	case anyRest:
		f.rest.Store(n)
		return
	case anyWord:
		f.star.Store(n)
		return
	}
	t, tag := f.words.Load(), tagOf(seed, word)
	switch {
	case t == nil:
		t = newTable[V](1)
	case t.replace(tag, word, n):
		if n != nil || !t.sparse() {
			return
		}
		t = t.resized(seed, t.live)
	case !t.room():
		t = t.resized(seed, t.live+1)
	}
	if n != nil {
		t.insert(tag, n)
	}
	if t != nil && t.live == 0 {
		t = nil
	}
	f.words.Store(t)
}

// add adds v to the pattern of which rest is left.
func (f *fork[V]) add(seed maphash.Seed, rest string, v V) {
	for {
		word, tail, more := strings.Cut(rest, ".")
		n := f.get(seed, word)
		switch {
		case n == nil:
			f.put(seed, word, &node[V]{label: rest, one: v})
			return
		case n.fork == nil && n.label == rest, n.fork != nil && !more:
			f.put(seed, word, n.with(v))
			return
		case n.fork == nil:
			n = n.parted(seed, word)
			f.put(seed, word, n)
		default:
			f, rest = n.fork, tail
		}
	}
}

// parted returns a node with a fork that holds what the leaf n holds. Its first
// word is word.
func (n *node[V]) parted(seed maphash.Seed, word string) *node[V] {
	inner := &node[V]{label: strings.Clone(word), fork: &fork[V]{}}
	_, tail, more := strings.Cut(n.label, ".")
	if !more {
		inner.set = &bag[V]{values: n.values(nil)}
		return inner
	}
	next, _, _ := strings.Cut(tail, ".")
	inner.fork.put(seed, next, &node[V]{label: tail, one: n.one, set: n.set})
	return inner
}

// remove removes one v from the pattern of which rest is left, and says whether
// there was one.
func (f *fork[V]) remove(seed maphash.Seed, rest string, v V) bool {
	word, tail, more := strings.Cut(rest, ".")
	n := f.get(seed, word)
	switch {
	case n == nil || n.fork == nil && n.label != rest:
		return false
	case n.fork == nil || !more:
		left, found := n.without(v)
		if found {
			f.put(seed, word, left)
		}
		return found
	}
	found := n.fork.remove(seed, tail, v)
	if found && n.set == nil && n.fork.empty() {
		f.put(seed, word, nil)
	}
	return found
}
