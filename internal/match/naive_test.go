// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package match_test

import (
	"slices"
	"sync"

	"github.com/arke-mesh/arke/internal/match"
)

// naive is a list of patterns that is gone through from end to end: adding
// costs nothing, matching grows with the number of patterns.
type naive struct {
	mu   sync.RWMutex
	list []entry // guarded by mu
}

func (s *naive) Add(pattern string, v int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.list = append(s.list, entry{pattern, v})
}

func (s *naive) Remove(pattern string, v int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if i := slices.Index(s.list, entry{pattern, v}); i >= 0 {
		last := len(s.list) - 1
		s.list[i] = s.list[last]
		s.list = s.list[:last]
	}
}

func (s *naive) Match(topic string, dst []int) []int {
	s.mu.RLock()
	defer s.mu.RUnlock()
	for i := range s.list {
		if match.Matches(s.list[i].pattern, topic) {
			dst = append(dst, s.list[i].value)
		}
	}
	return dst
}

func (s *naive) Len() int {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return len(s.list)
}
