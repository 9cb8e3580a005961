// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import "context"

// Clusters is the membership of one node: what it serves, what it watches and
// what it anchors for others. All methods may be called concurrently.
type Clusters struct {
	cfg Config
}

// New checks cfg and registers with the overlay; nothing runs yet.
func New(cfg Config) (*Clusters, error) {
	cfg = cfg.withDefaults()
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	return &Clusters{cfg: cfg}, nil
}

// Start begins to work. Call it once, before the overlay is started, so that
// no frame is missed.
func (c *Clusters) Start() error { return nil }

// Close ends everything at once and waits. It is idempotent. Leases end with
// the links; call Unregister first to leave in order.
func (c *Clusters) Close() error { return nil }

// Registration describes one local member.
type Registration struct {
	Member     MemberID // random, new for each registration
	Capacity   int      // relative weight; 0 = 1
	MaxMessage int      // bytes of headers and body it accepts
}

// Register makes r a member of the cluster and returns when a majority of the
// anchors that can be reached, at least one, have acknowledged it. If ctx ends
// before, the member is withdrawn.
func (c *Clusters) Register(ctx context.Context, name string, r Registration) error { return nil }

// Unregister withdraws a member at once. Requests under way reach it still.
func (c *Clusters) Unregister(name string, m MemberID) {}

// Watch returns an interest in the cluster. It is counted: the first one asks
// the anchors, and they are asked to stop 30 s after the last Release.
func (c *Clusters) Watch(name string) *Watch { return nil }

// Pick chooses one member of v, or nil if none is usable. It neither blocks
// nor allocates. The caller calls Begin on the member and Done afterwards.
func (c *Clusters) Pick(v *View, p PickRequest) *Member { return nil }

// Done tells how a request that began with m.Begin ended.
func (c *Clusters) Done(m *Member, r Result) {}

// Status is what `arke status` shows of this layer.
func (c *Clusters) Status() Status { return Status{} }
