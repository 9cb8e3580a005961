// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"cmp"
	"context"
	"fmt"
	"sync/atomic"

	"github.com/arke-mesh/arke/cluster"
	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/patterns/request"
)

// registration is one member, over all sessions.
type registration struct {
	// Immutable after Serve.
	client *Client
	claim  claim
	server *request.Server

	member atomic.Uint64 // as the relay called it last
}

var _ patterns.Registration = (*registration)(nil)

// newRegistration makes the member able to answer before anybody can know of
// it. Requests for it have the id of its registration.
func newRegistration(c *Client, name string, service patterns.Service, limits patterns.Limits) (*registration, error) {
	for _, v := range []int{limits.Concurrency, limits.QueueBytes, limits.MessageBytes, limits.Capacity, limits.QueueLength, limits.Tunnels} {
		if v > 1<<31-1 {
			return nil, fmt.Errorf("client: limit %d is out of range", v)
		}
	}
	switch {
	case limits.Concurrency > maxWorkers:
		return nil, fmt.Errorf("%w: a member with %d handlers needs more than the %d of one program: ask for less", patterns.ErrTooMany, limits.Concurrency, maxWorkers)
	case limits.Tunnels > maxTunnels:
		return nil, fmt.Errorf("%w: a member with %d tunnels needs more than the %d of one program: ask for less", patterns.ErrTooMany, limits.Tunnels, maxTunnels)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.takes(); err != nil {
		return nil, err
	}
	r := &registration{client: c}
	id := c.nextID()
	var err error
	if r.server, err = c.requests.AddMember(cluster.MemberID(id), name, service, limits); err != nil {
		return nil, err
	}
	f := wire.Serve{
		ID:           id,
		Concurrency:  uint32(limits.Concurrency),
		QueueLength:  int32(max(limits.QueueLength, -1)),
		QueueBytes:   uint32(limits.QueueBytes),
		MessageBytes: uint32(limits.MessageBytes),
		Capacity:     uint32(limits.Capacity),
		Tunnels:      int32(max(limits.Tunnels, -1)),
		Patterns:     patternsOf(service),
		Cluster:      name,
	}
	r.claim = claim{
		id: id, name: name, kind: wire.KindServe, frame: f.AppendTo(nil),
		granted: func(d wire.Done) { r.member.Store(d.Value) },
		lost:    func() {}, closed: make(chan struct{}),
	}
	c.regs[id] = r
	return r, nil
}

// patternsOf are those that the service has a handler for.
func patternsOf(s patterns.Service) (p wire.Patterns) {
	for bit, has := range map[wire.Patterns]bool{
		wire.ServesRequests:   s.Request != nil,
		wire.ServesPushes:     s.Push != nil,
		wire.ServesBroadcasts: s.Broadcast != nil,
		wire.ServesTunnels:    s.Tunnel != nil,
	} {
		if has {
			p |= bit
		}
	}
	return p
}

// Member implements patterns.Registration. After the client has attached to
// another relay it is another one.
func (r *registration) Member() string { return cluster.MemberID(r.member.Load()).String() }

// Close implements patterns.Registration.
func (r *registration) Close(ctx context.Context) error {
	// The relay says when all that was accepted for the member is answered.
	return r.client.claims.close(ctx, &r.claim, func() error {
		defer r.forget()
		return cmp.Or(r.server.Drain(ctx), r.client.tunnels.DrainMember(ctx, cluster.MemberID(r.claim.id)))
	})
}

// abandon takes back what could not be registered.
func (r *registration) abandon() {
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	_ = r.server.Drain(ended)
	r.forget()
}

func (r *registration) forget() {
	r.client.mu.Lock()
	defer r.client.mu.Unlock()
	delete(r.client.regs, r.claim.id)
}
