// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package relay

import (
	"context"
	"fmt"
	"strings"

	"github.com/arke-mesh/arke/internal/node"
	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/patterns/request"
)

// member is one registration of a client. It is the Forwarder that the node sees.
type member struct {
	of      *deliveries
	id      uint64
	cluster string
	serves  request.Serves
	limits  patterns.Limits
	reg     *node.Forwarded // guarded by of.mu; nil until it is acknowledged
}

var (
	_ place             = (*member)(nil)
	_ request.Forwarder = (*member)(nil)
)

func (s *deliveries) handleServe(body []byte) error {
	f, err := wire.DecodeServe(body)
	if err != nil {
		return malformed(err)
	}
	return s.c.claims.begin(f.ID, registration, f.Timeout, &member{
		of: s, id: f.ID, cluster: f.Cluster, serves: servesOf(f.Patterns),
		limits: patterns.Limits{
			Concurrency: int(f.Concurrency), QueueLength: int(f.QueueLength), QueueBytes: int(f.QueueBytes),
			MessageBytes: int(f.MessageBytes), Capacity: int(f.Capacity), Tunnels: int(f.Tunnels),
		},
	})
}

// servesOf names the patterns as the node does.
func servesOf(p wire.Patterns) (s request.Serves) {
	if p&wire.ServesRequests != 0 {
		s |= request.ServesOf(patterns.PatternRequest, patterns.PatternSurvey)
	}
	if p&wire.ServesPushes != 0 {
		s |= request.ServesOf(patterns.PatternPush)
	}
	if p&wire.ServesBroadcasts != 0 {
		s |= request.ServesOf(patterns.PatternBroadcast)
	}
	if p&wire.ServesTunnels != 0 {
		s |= request.ServesOf(patterns.PatternTunnel)
	}
	return s
}

// name implements place.
func (m *member) name() string { return m.cluster }

// open implements place: it makes the member one of its cluster.
func (m *member) open(ctx context.Context) (uint64, error) {
	if strings.HasPrefix(m.cluster, reserved) {
		return 0, fmt.Errorf("relay: %q: names that begin with %q are the relay's", m.cluster, reserved)
	}
	ref, err := m.of.c.conn.keys.cluster(m.cluster)
	if err != nil {
		return 0, err
	}
	reg, err := m.of.c.relay.cfg.Node.Forward(ctx, ref, m.serves, m.limits, m)
	if err != nil {
		return 0, err
	}
	if m.of.registered(m, reg) {
		reg.Suspect(true)
	}
	return uint64(reg.ID()), nil
}

// close implements place: it leaves the cluster and waits for what was accepted.
func (m *member) close(ctx context.Context) error {
	m.of.mu.Lock()
	delete(m.of.members, m)
	m.of.mu.Unlock()
	return m.reg.Close(ctx)
}
