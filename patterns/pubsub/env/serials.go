// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package env

import (
	"slices"
	"sync"
)

// serials numbers what this node seals and signs in this life. It may be used
// concurrently.
type serials struct {
	mu   sync.Mutex
	last uint64   // guarded by mu
	open []uint64 // guarded by mu; of messages that are still being published, in order
}

// Take returns the serial of a message, which is done later.
func (s *serials) Take() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last++
	s.open = append(s.open, s.last)
	return s.last
}

// Done says that a message has been given to all links.
func (s *serials) Done(serial uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if i := slices.Index(s.open, serial); i >= 0 {
		s.open = slices.Delete(s.open, i, i+1)
	}
}

// Sign returns the serial of something that is signed, and one that is less than
// those of all messages that are given to links from now on.
func (s *serials) Sign() (serial, floor uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last++
	if floor = s.last; len(s.open) > 0 {
		floor = s.open[0] - 1
	}
	return s.last, floor
}
