// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"encoding/binary"
	"math/bits"
	"math/rand/v2"
	"sync"

	"github.com/arke-mesh/arke/overlay"
)

// pcg is a seeded generator; integers only, so that it gives the same numbers
// on every architecture. It is not locked.
type pcg struct{ src rand.PCG }

// newPCG derives a generator from the network's seed and a path of names.
// Different names give independent generators.
func newPCG(seed uint64, names ...string) *pcg {
	hi, lo := mix(offset, seed), mix(^uint64(offset), seed)
	for _, name := range names {
		s := sumBytes([]byte(name))
		hi, lo = mix(hi, s), mix(lo, ^s)
	}
	p := &pcg{}
	p.src.Seed(hi, lo)
	return p
}

func (p *pcg) uint64() uint64 { return p.src.Uint64() }

// below returns a number in [0, n) without bias; n must be positive.
func (p *pcg) below(n uint64) uint64 {
	hi, lo := bits.Mul64(p.src.Uint64(), n)
	if lo < n {
		for reject := -n % n; lo < reject; {
			hi, lo = bits.Mul64(p.src.Uint64(), n)
		}
	}
	return hi
}

func (p *pcg) read(b []byte) {
	var word [8]byte
	for len(b) > 0 {
		binary.LittleEndian.PutUint64(word[:], p.src.Uint64())
		b = b[copy(b, word[:]):]
	}
}

// random implements overlay.Rand for one incarnation of a node.
type random struct {
	seed  uint64
	names []string // node, incarnation

	mu      sync.Mutex
	streams map[string]*randStream // guarded by mu
}

var _ overlay.Rand = (*random)(nil)

// Stream implements overlay.Rand.
func (r *random) Stream(name string) overlay.RandStream {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.streams[name]
	if s == nil {
		path := append(append([]string{"rand"}, r.names...), name)
		s = &randStream{gen: newPCG(r.seed, path...)}
		r.streams[name] = s
	}
	return s
}

// randStream is a pcg that several goroutines may use.
type randStream struct {
	mu  sync.Mutex
	gen *pcg // guarded by mu
}

// Read implements overlay.RandStream; it fills b and never fails.
func (s *randStream) Read(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.gen.read(b)
	return len(b), nil
}

// Uint64 implements overlay.RandStream.
func (s *randStream) Uint64() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.gen.uint64()
}

// IntN implements overlay.RandStream.
func (s *randStream) IntN(n int) int {
	if n <= 0 {
		panic("sim: IntN of a number that is not positive")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return int(s.gen.below(uint64(n)))
}
