// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package match_test

import (
	"sync"

	"github.com/arke-mesh/arke/internal/match"
)

// knownTopics bounds how many topics an inverted bitmap keeps.
const knownTopics = 4096

// inverted is the inverted bitmap: for each topic that may be published, a bit
// for each subscription that matches it, so that matching is one look-up. All
// work is done when a subscription comes, and topics must be known beforehand:
// here they become known when they are first matched, which costs what naive
// costs.
type inverted struct {
	mu     sync.RWMutex
	all    register        // guarded by mu
	topics map[string]*set // guarded by mu
}

func (s *inverted) Add(pattern string, v int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := s.all.add(entry{pattern, v})
	for topic, matching := range s.topics {
		if match.Matches(pattern, topic) {
			matching.add(n)
		}
	}
}

func (s *inverted) Remove(pattern string, v int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n, ok := s.all.remove(entry{pattern, v})
	if !ok {
		return
	}
	for _, matching := range s.topics {
		matching.remove(n)
	}
}

func (s *inverted) Match(topic string, dst []int) []int {
	s.mu.RLock()
	defer s.mu.RUnlock()
	matching := s.topics[topic]
	if matching == nil {
		s.mu.RUnlock()
		s.learn(topic)
		s.mu.RLock()
		matching = s.topics[topic]
	}
	if matching == nil { // forgotten again
		return dst
	}
	for i, word := range *matching {
		dst = gather(word, i*64, s.all.values, dst)
	}
	return dst
}

func (s *inverted) learn(topic string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.topics == nil || len(s.topics) >= knownTopics {
		s.topics = make(map[string]*set)
	}
	matching := &set{}
	for n, e := range s.all.entries {
		if e.pattern != "" && match.Matches(e.pattern, topic) {
			matching.add(n)
		}
	}
	s.topics[topic] = matching
}

func (s *inverted) Len() int {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.all.live
}
