// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package overlay

import (
	"crypto/rand"
	mathrand "math/rand/v2"
	"sync"
	"time"
)

type realClock struct{}

// NewRealClock returns the wall clock of this machine.
func NewRealClock() Clock { return realClock{} }

func (realClock) Now() time.Time { return time.Now() }

func (realClock) AfterFunc(_ string, d time.Duration, f func()) Timer { return time.AfterFunc(d, f) }

// NewRealRand returns unpredictable randomness: Read comes from the operating
// system, numbers from generators that it seeds.
func NewRealRand() Rand { return &realRand{streams: make(map[string]*realStream)} }

type realRand struct {
	mu      sync.Mutex
	streams map[string]*realStream
}

// Stream implements Rand.
func (r *realRand) Stream(name string) RandStream {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.streams[name]
	if s == nil {
		var seed [32]byte
		rand.Read(seed[:]) // never fails: the runtime aborts instead
		s = &realStream{src: mathrand.NewChaCha8(seed)}
		r.streams[name] = s
	}
	return s
}

type realStream struct {
	mu  sync.Mutex
	src *mathrand.ChaCha8
}

// Read implements io.Reader and never fails.
func (s *realStream) Read(p []byte) (int, error) { return rand.Read(p) }

// Uint64 implements RandStream.
func (s *realStream) Uint64() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.src.Uint64()
}

// IntN implements RandStream.
func (s *realStream) IntN(n int) int {
	if n <= 0 {
		panic("BUG: IntN of a number that is not positive")
	}
	// Reject what would make small numbers likelier; at most half of all
	// draws are rejected, in practice none.
	bound := uint64(n)
	floor := -bound % bound
	for {
		if v := s.Uint64(); v >= floor {
			return int(v % bound)
		}
	}
}
