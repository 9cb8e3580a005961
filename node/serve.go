// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package node

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/arke-mesh/arke/cluster"
	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/patterns/request"
)

// Serve implements patterns.Messenger.
func (n *Node) Serve(ctx context.Context, name string, h patterns.Handler, limits patterns.Limits) (patterns.Registration, error) {
	if h == nil {
		return nil, errNoHandler
	}
	r, err := n.newRegistration(name, func(id cluster.MemberID) (*request.Server, error) {
		return n.requests.AddMember(id, name, patterns.ServiceOf(h), limits)
	})
	if err != nil {
		return nil, err
	}
	if err := n.register(ctx, r); err != nil {
		return nil, err
	}
	return r, nil
}

// register has the cluster know the member.
func (n *Node) register(ctx context.Context, r *registration) error {
	err := n.clusters.Register(ctx, r.cluster, r.lease())
	if err == nil {
		err = n.accepting() // Shutdown may have missed it
	}
	if err != nil {
		return r.abort(err)
	}
	return nil
}

// accepting returns why the node takes no registrations, if so.
func (n *Node) accepting() error {
	if n.phase.Load() == phaseDraining {
		return patterns.ErrClosed
	}
	return n.running()
}

// registration is one member on this node.
type registration struct {
	node    *Node
	cluster string
	member  cluster.MemberID
	server  *request.Server
}

// newRegistration makes the member able to answer before anybody can know of
// it.
func (n *Node) newRegistration(name string, add func(cluster.MemberID) (*request.Server, error)) (*registration, error) {
	if err := n.accepting(); err != nil {
		return nil, err
	}
	if err := checkName(name); err != nil {
		return nil, err
	}
	id := cluster.MemberID(max(n.ids.Uint64(), 1))
	s, err := add(id)
	if err != nil {
		return nil, err
	}
	r := &registration{node: n, cluster: name, member: id, server: s}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.registrations[id] = r
	return r, nil
}

func (r *registration) lease() cluster.Registration {
	l := r.server.Limits()
	return cluster.Registration{Member: r.member, Capacity: l.Capacity, MaxMessage: l.MessageBytes}
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
	n := r.node
	n.clusters.Unregister(r.cluster, r.member)
	err := r.server.Drain(ctx)
	if e := n.tunnels.DrainMember(ctx, r.member); e != nil {
		err = e
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.registrations, r.member)
	return err
}

// allRegistrations returns them in the order of cluster and member.
func (n *Node) allRegistrations() []*registration {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.SortedFunc(maps.Values(n.registrations), func(a, b *registration) int {
		return cmp.Or(cmp.Compare(a.cluster, b.cluster), cmp.Compare(a.member, b.member))
	})
}
