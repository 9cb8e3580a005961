// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"

	"github.com/arke-mesh/arke/overlay"
)

// Registration describes one local member.
type Registration struct {
	Member     MemberID // random, new for each registration
	Capacity   int      // relative weight; 0 = 1
	MaxMessage int      // bytes of headers and body it accepts
	// Payload is for the members and callers of the cluster: it is sealed in
	// the lease, and they find it as Member.Payload. At most MaxPayload bytes,
	// which must not be changed afterwards.
	Payload []byte
}

// Register makes r a member of the cluster and returns when a majority of the
// anchors that can be reached, at least one, have acknowledged it. If ctx ends
// before, the member is withdrawn. Errors: ErrName, ErrPayload, ErrDuplicate, ErrNoKeys,
// ErrRefused, ErrUnregistered, ErrClosed, and ctx's.
func (c *Clusters) Register(ctx context.Context, name string, r Registration) error {
	if len(name) == 0 || len(name) > MaxName {
		return ErrName
	}
	if len(r.Payload) > MaxPayload {
		return ErrPayload
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	key := pendingKey{name, r.Member}
	done := make(chan error, 1)
	c.mu.Lock()
	if c.pending[key] != nil {
		c.mu.Unlock()
		return ErrDuplicate
	}
	c.pending[key] = done
	c.mu.Unlock()
	if !c.inbox.put(registerEvent{name, r}) {
		return ErrClosed
	}
	select {
	case err := <-done:
		return err
	case <-c.quit:
		return ErrClosed
	case <-ctx.Done():
		c.mu.Lock()
		delete(c.pending, key)
		c.mu.Unlock()
		c.Unregister(name, r.Member)
		return ctx.Err()
	}
}

// registered ends the Register call that waits for a.
func (c *Clusters) registered(a registeredAction) {
	key := pendingKey{a.name, a.member}
	c.mu.Lock()
	done := c.pending[key]
	delete(c.pending, key)
	c.mu.Unlock()
	if done != nil {
		c.seam.Exec.Wake(overlay.ExecKey{Name: "cluster.register", N: uint64(a.member)}, func() { done <- a.err })
	}
}

// Unregister withdraws a member at once. Requests under way reach it still.
func (c *Clusters) Unregister(name string, m MemberID) { c.inbox.put(unregisterEvent{name, m}) }

// Doubt says whether callers should rather ask others than this member: it lives
// elsewhere than on this node, which has not heard of it for a while. One that is
// not registered is no error.
func (c *Clusters) Doubt(name string, m MemberID, on bool) { c.inbox.put(doubtEvent{name, m, on}) }
