// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package match_test

import (
	"strings"
	"sync"
)

// optimised is the optimised inverted bitmap: for each place and word, a bit
// for each subscription that has that word there. A topic's subscriptions are
// those that have all of its words. It needs no topics beforehand.
type optimised struct {
	mu     sync.RWMutex
	all    register // guarded by mu
	places []place  // guarded by mu; one more than the longest pattern has words
}

// place is what subscriptions have at one place.
type place struct {
	words map[string]*set
	any   set // those with a wildcard there, or with a > before
	end   set // those whose pattern is over, or may be
}

func (s *optimised) Add(pattern string, v int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := s.all.add(entry{pattern, v})
	words := strings.Split(pattern, ".")
	for len(s.places) <= len(words) {
		s.places = append(s.places, place{words: make(map[string]*set)})
		if last := len(s.places) - 1; last > 0 {
			s.inherit(last)
		}
	}
	rest := words[len(words)-1] == ">"
	for i := range s.places {
		switch p := &s.places[i]; {
		case i < len(words) && (words[i] == "*" || words[i] == ">"):
			p.any.add(n)
		case i < len(words):
			if p.words[words[i]] == nil {
				p.words[words[i]] = &set{}
			}
			p.words[words[i]].add(n)
		case rest:
			p.any.add(n)
			p.end.add(n)
		case i == len(words):
			p.end.add(n)
		}
	}
}

// inherit enters at a new place the patterns with a > before.
func (s *optimised) inherit(i int) {
	for n, e := range s.all.entries[:len(s.all.entries)-1] {
		if words := strings.Split(e.pattern, "."); words[len(words)-1] == ">" && len(words) <= i {
			s.places[i].any.add(n)
			s.places[i].end.add(n)
		}
	}
}

func (s *optimised) Remove(pattern string, v int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n, ok := s.all.remove(entry{pattern, v})
	if !ok {
		return
	}
	words := strings.Split(pattern, ".")
	for i := range s.places {
		p := &s.places[i]
		p.any.remove(n)
		p.end.remove(n)
		if i < len(words) && p.words[words[i]] != nil {
			p.words[words[i]].remove(n)
		}
	}
}

func (s *optimised) Match(topic string, dst []int) []int {
	s.mu.RLock()
	defer s.mu.RUnlock()
	var sets [128]struct{ any, words set }
	n := 0
	for rest, more := topic, true; more; n++ {
		var word string
		word, rest, more = strings.Cut(rest, ".")
		if n+1 >= len(s.places) {
			break // only those with a > get so far
		}
		sets[n].any = s.places[n].any
		if w := s.places[n].words[word]; w != nil {
			sets[n].words = *w
		}
	}
	if len(s.places) == 0 {
		return dst
	}
	end := s.places[n].end
	if n != strings.Count(topic, ".")+1 {
		end = s.places[n].any
	}
	for i := range end {
		word := end[i]
		for j := 0; j < n && word != 0; j++ {
			word &= sets[j].any.word(i) | sets[j].words.word(i)
		}
		dst = gather(word, i*64, s.all.values, dst)
	}
	return dst
}

func (s *optimised) Len() int {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.all.live
}
