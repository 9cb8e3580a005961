// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package security

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// source is where the keys of a cluster come from: those of its network, or a list
// of its own. It may be used concurrently.
type source struct {
	network *Network // nil = own
	finds   bool     // the own keys are finding keys

	now atomic.Pointer[clusterRing]

	mu  sync.Mutex           // held while keys are derived
	own hidden[[]KeyVersion] // guarded by mu
}

// clusterRing is what counts at one moment. It is immutable.
type clusterRing struct {
	accepted []hidden[clusterKey] // newest first
	seals    int                  // index
	common   int                  // likewise
	from     *networkRing         // nil = own keys
}

// clusterKey is one version of the key, with the route key derived from it.
type clusterKey struct {
	version uint32
	id      KeyID // zeros with finds
	key     Key   // likewise
	route   Key
	finds   bool // only the route key is known
}

// ring is what counts now for the cluster of that name.
func (s *source) ring(name string) *clusterRing {
	r := s.now.Load()
	if s.network == nil || r != nil && r.from == s.network.ring.Load() {
		return r
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	old, from := s.now.Load(), s.network.ring.Load()
	r = &clusterRing{from: from, seals: slices.Index(from.accepted, from.seals), common: slices.Index(from.accepted, from.common)}
	for _, h := range from.accepted {
		k, id := h.get(), s.network.id
		r.accepted = append(r.accepted, old.reuse(name, KeyVersion{
			Version: k.version,
			Key:     Key(derive(len(Key{}), k.key[:], id[:], labelClusterKey, []byte(name))),
		}, false))
	}
	s.now.Store(r)
	return r
}

// set replaces keys of its own, as far as they count.
func (s *source) set(name string, keys []KeyVersion, v Validity) (changed bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	keys = slices.Clone(keys)
	s.own = hide(&keys)
	return s.count(name, keys, v)
}

// advance has those of its own keys count that do at now.
func (s *source) advance(name string, now time.Time) (next time.Time, changed bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	keys := *s.own.get()
	return NextValidity(keys, now), s.count(name, keys, ValidityOf(keys, now))
}

// count has v be what counts. mu is held.
func (s *source) count(name string, keys []KeyVersion, v Validity) (changed bool) {
	old := s.now.Load()
	r := &clusterRing{seals: slices.Index(v.Accepted, v.Seals), common: slices.Index(v.Accepted, v.Common)}
	for _, i := range v.Accepted {
		r.accepted = append(r.accepted, old.reuse(name, keys[i], s.finds))
	}
	if old != nil && old.seals == r.seals && old.common == r.common && slices.Equal(old.accepted, r.accepted) {
		return false
	}
	s.now.Store(r)
	return true
}

// reuse returns what was derived from k before, or derives it.
func (r *clusterRing) reuse(name string, k KeyVersion, finds bool) hidden[clusterKey] {
	if r != nil {
		for _, h := range r.accepted {
			had := h.get()
			same := had.key
			if finds {
				same = had.route
			}
			if had.version == k.Version && same.Equal(k.Key) {
				return h
			}
		}
	}
	if finds {
		return hide(&clusterKey{version: k.Version, route: k.Key, finds: true})
	}
	return hide(&clusterKey{
		version: k.Version, id: keyID(name, k.Version, k.Key), key: k.Key,
		route: routeKey(k.Key),
	})
}

// key returns the accepted key of that name.
func (r *clusterRing) key(id KeyID) (*clusterKey, bool) {
	for _, h := range r.accepted {
		if k := h.get(); k.id == id && !k.finds {
			return k, true
		}
	}
	return nil, false
}

// sealer returns the key to seal with: the one asked for, if it is accepted, else
// the one that seals now. There must be keys.
func (r *clusterRing) sealer(id KeyID) *clusterKey {
	if k, ok := r.key(id); ok {
		return k
	}
	if len(r.accepted) == 0 {
		panic("BUG: seal for a cluster without keys")
	}
	k := r.accepted[r.seals].get()
	if k.finds {
		panic("BUG: seal with a finding key")
	}
	return k
}
