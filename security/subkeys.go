// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package security

import (
	"cmp"
	"crypto/cipher"
	"io"
	"maps"
	"slices"
	"sync"

	"github.com/libp2p/go-libp2p/core/peer"
)

const (
	// A subkey seals this many payloads and is then replaced: often enough
	// to be far from every limit of GCM, seldom enough that deriving it
	// costs nothing.
	sealsPerSalt = 1024

	// A cluster remembers between one and two times this many subkeys of
	// each kind. Forgetting one costs a derivation.
	subkeyCache = 256
)

// party is whom and which way a subkey is for.
type party struct {
	sender      peer.ID
	incarnation uint64
	reply       bool
}

// sealer is what a subkey to seal with is kept for.
type sealer struct {
	key   KeyID
	party party
}

// subkeyName is what a subkey is derived from, beside the cluster key.
type subkeyName struct {
	key   KeyID
	salt  [saltSize]byte
	party party
}

// sealing is the subkey in use for one party, under one key.
type sealing struct {
	salt  [saltSize]byte
	aead  cipher.AEAD
	next  uint64 // counter of the next payload
	proof proof
}

// subkeys remembers derived subkeys. Its mutex is never held across anything
// that blocks, except the source of random bytes.
type subkeys struct {
	mu     sync.Mutex
	seals  generations[sealer, *sealing]
	opened generations[subkeyName, cipher.AEAD]
	over   bool // they are remembered no more
}

// toSeal returns what to seal the next payload of p with; derive makes the subkey of a
// new salt. A pair of subkey and counter is given out once.
func (s *subkeys) toSeal(rand io.Reader, p sealer, derive func(*sealing)) sealing {
	s.mu.Lock()
	defer s.mu.Unlock()
	k, ok := s.seals.get(p)
	if !ok || k.next == sealsPerSalt {
		k = new(sealing)
		mustRead(rand, k.salt[:])
		derive(k)
		if !s.over {
			s.seals.put(p, k)
		}
	}
	now := *k
	k.next++
	return now
}

func (s *subkeys) toOpen(name subkeyName) (cipher.AEAD, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.opened.get(name)
}

// keep remembers a subkey that has opened something: others would let a peer
// without the key push the useful ones out.
func (s *subkeys) keep(name subkeyName, aead cipher.AEAD) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.over {
		s.opened.put(name, aead)
	}
}

// forget drops all subkeys, and remembers none from now on.
func (s *subkeys) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.over = true
	s.seals, s.opened = generations[sealer, *sealing]{}, generations[subkeyName, cipher.AEAD]{}
}

// generations is a map of bounded size that forgets what was not used lately.
// The zero value is ready.
type generations[K comparable, V any] struct {
	young, old map[K]V
	bound      int // of each; 0 = subkeyCache
}

func (g *generations[K, V]) get(k K) (V, bool) {
	if v, ok := g.young[k]; ok {
		return v, true
	}
	v, ok := g.old[k]
	if ok {
		g.put(k, v)
	}
	return v, ok
}

func (g *generations[K, V]) put(k K, v V) {
	if g.young == nil || len(g.young) == cmp.Or(g.bound, subkeyCache) {
		g.old, g.young = g.young, make(map[K]V)
	}
	g.young[k] = v
}

// all returns what is there, in no order.
func (g *generations[K, V]) all() []V {
	return slices.AppendSeq(slices.Collect(maps.Values(g.young)), maps.Values(g.old))
}
