// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package match_test

import (
	"slices"
	"strings"
	"sync"
)

// lockedTrie is the trie as one would write it first: a map for each node, a
// lock for all of them.
type lockedTrie struct {
	mu   sync.RWMutex
	top  branch // guarded by mu
	live int    // guarded by mu
}

type branch struct {
	words  map[string]*branch
	values []int
}

func (s *lockedTrie) Add(pattern string, v int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	b := &s.top
	for rest, more := pattern, true; more; {
		var word string
		word, rest, more = strings.Cut(rest, ".")
		next := b.words[word]
		if next == nil {
			if b.words == nil {
				b.words = make(map[string]*branch)
			}
			next = &branch{}
			b.words[word] = next
		}
		b = next
	}
	b.values = append(b.values, v)
	s.live++
}

func (s *lockedTrie) Remove(pattern string, v int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.top.remove(pattern, v) {
		s.live--
	}
}

func (b *branch) remove(rest string, v int) bool {
	word, tail, more := strings.Cut(rest, ".")
	next := b.words[word]
	if next == nil {
		return false
	}
	removed := false
	if more {
		removed = next.remove(tail, v)
	} else if i := slices.Index(next.values, v); i >= 0 {
		next.values = slices.Delete(next.values, i, i+1)
		removed = true
	}
	if len(next.values) == 0 && len(next.words) == 0 {
		delete(b.words, word)
	}
	return removed
}

func (s *lockedTrie) Match(topic string, dst []int) []int {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.top.match(topic, true, dst)
}

func (b *branch) match(rest string, more bool, dst []int) []int {
	if !more {
		return append(dst, b.values...)
	}
	word, tail, more := strings.Cut(rest, ".")
	if next := b.words[">"]; next != nil {
		dst = append(dst, next.values...)
	}
	if next := b.words["*"]; next != nil {
		dst = next.match(tail, more, dst)
	}
	if next := b.words[word]; next != nil {
		dst = next.match(tail, more, dst)
	}
	return dst
}

func (s *lockedTrie) Len() int {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.live
}
