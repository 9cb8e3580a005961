// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package request

import (
	"cmp"
	"slices"
	"sync"

	"github.com/arke-mesh/arke/cluster"
)

// registry holds the local members. It may be used concurrently.
type registry struct {
	mu      sync.RWMutex
	servers map[cluster.MemberID]*Server // guarded by mu
}

func (r *registry) add(s *Server) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, ok := r.servers[s.id]; ok {
		return false
	}
	if r.servers == nil {
		r.servers = make(map[cluster.MemberID]*Server)
	}
	r.servers[s.id] = s
	return true
}

func (r *registry) remove(s *Server) {
	r.mu.Lock()
	delete(r.servers, s.id)
	r.mu.Unlock()
}

func (r *registry) get(id cluster.MemberID) *Server {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.servers[id]
}

// all returns the members by cluster, then id.
func (r *registry) all() []*Server {
	r.mu.RLock()
	out := make([]*Server, 0, len(r.servers))
	for _, s := range r.servers {
		out = append(out, s)
	}
	r.mu.RUnlock()
	slices.SortFunc(out, func(a, b *Server) int {
		return cmp.Or(cmp.Compare(a.name, b.name), cmp.Compare(a.id, b.id))
	})
	return out
}
