// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package node

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"sync"

	"github.com/arke-mesh/arke/cluster"
	"github.com/arke-mesh/arke/internal/verb"
	"github.com/arke-mesh/arke/overlay"
	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/patterns/request"
)

// registrations are the members on this node.
type registrations struct {
	*layers
	*life
	ids overlay.RandStream // of members

	mu      sync.Mutex
	members map[cluster.MemberID]*registration // guarded by mu
}

// registration is one member on this node.
type registration struct {
	in      *registrations
	cluster string
	member  cluster.MemberID
	server  *request.Server
}

// register makes a member able to answer, by add, and then has the cluster know
// it as what as says; what that leaves open the member's limits say. The caller has
// checked the name.
func (s *registrations) register(ctx context.Context, name string, as cluster.Registration, add func(cluster.MemberID) (*request.Server, error)) (*registration, error) {
	if err := s.accepting(); err != nil {
		return nil, err
	}
	if err := s.keys.knows(name); err != nil {
		return nil, err
	}
	if err := s.credentials.may(verb.Serve, name); err != nil {
		return nil, err
	}
	return s.enrol(ctx, name, as, add)
}

// enrol is register for a name that was checked, or is Arke's own.
func (s *registrations) enrol(ctx context.Context, name string, as cluster.Registration, add func(cluster.MemberID) (*request.Server, error)) (*registration, error) {
	id := cluster.MemberID(max(s.ids.Uint64(), 1))
	server, err := add(id)
	if err != nil {
		return nil, err
	}
	r := &registration{in: s, cluster: name, member: id, server: server}
	s.mu.Lock()
	s.members[id] = r
	s.mu.Unlock()
	l := server.Limits()
	as.Member, as.Capacity, as.MaxMessage = id, cmp.Or(as.Capacity, l.Capacity), cmp.Or(as.MaxMessage, l.MessageBytes)
	err = s.clusters.Register(ctx, name, as)
	if err == nil {
		err = s.accepting() // Shutdown may have missed it
	}
	if err != nil {
		return nil, r.abort(err)
	}
	return r, nil
}

// withdraw ends the leases of all members, in the order of cluster and member.
func (s *registrations) withdraw() {
	s.mu.Lock()
	all := slices.SortedFunc(maps.Values(s.members), func(a, b *registration) int {
		return cmp.Or(cmp.Compare(a.cluster, b.cluster), cmp.Compare(a.member, b.member))
	})
	s.mu.Unlock()
	for _, r := range all {
		s.clusters.Unregister(r.cluster, r.member)
	}
}

// abort takes back a registration that err kept from being complete.
func (r *registration) abort(err error) error {
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	_ = r.Close(ended)
	if errors.Is(err, cluster.ErrClosed) {
		return patterns.ErrClosed
	}
	return err
}

// Member implements patterns.Registration.
func (r *registration) Member() string { return r.member.String() }

// Close implements patterns.Registration.
func (r *registration) Close(ctx context.Context) error {
	s := r.in
	s.clusters.Unregister(r.cluster, r.member)
	err := r.server.Drain(ctx)
	if e := s.tunnels.DrainMember(ctx, r.member); e != nil {
		err = e
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.members, r.member)
	return err
}
