// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package stack

import (
	"crypto/sha256"
	"encoding/binary"
	"math/rand/v2"
	"sync"

	"github.com/arke-mesh/arke/overlay"
)

// source returns the random numbers that a seed and a path of names decide.
func source(seed uint64, names ...string) *rand.ChaCha8 {
	h := sha256.New()
	_ = binary.Write(h, binary.BigEndian, seed)
	for _, name := range names {
		_ = binary.Write(h, binary.BigEndian, uint64(len(name)))
		h.Write([]byte(name))
	}
	return rand.NewChaCha8([32]byte(h.Sum(nil)))
}

// random is the overlay.Rand of one life of a node.
type random struct {
	seed uint64
	life string

	mu      sync.Mutex
	streams map[string]*stream // guarded by mu
}

func newRandom(seed uint64, life string) *random {
	return &random{seed: seed, life: life, streams: make(map[string]*stream)}
}

// Stream implements overlay.Rand.
func (r *random) Stream(name string) overlay.RandStream {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.streams[name]
	if s == nil {
		src := source(r.seed, "node", r.life, name)
		s = &stream{src: src, numbers: rand.New(src)}
		r.streams[name] = s
	}
	return s
}

// stream is one of its streams.
type stream struct {
	mu      sync.Mutex
	src     *rand.ChaCha8
	numbers *rand.Rand
}

// Read implements io.Reader; it never fails.
func (s *stream) Read(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.src.Read(p)
}

// Uint64 implements overlay.RandStream.
func (s *stream) Uint64() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.src.Uint64()
}

// IntN implements overlay.RandStream.
func (s *stream) IntN(n int) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.numbers.IntN(n)
}
