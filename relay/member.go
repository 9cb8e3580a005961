// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package relay

import (
	"context"
	"errors"
	"fmt"

	"github.com/arke-mesh/arke/internal/wire/session"
	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/relay/internal/failure"
)

// member is one registration of a client. It is the handler that the node
// sees.
type member struct {
	// Immutable after newMember.
	client  *client
	id      uint64
	cluster string
	limits  patterns.Limits
	// patterns are those that the client implements.
	patterns session.Patterns

	// Lifecycle.
	ctx         context.Context // when it ends, everything is over at once
	cancel      context.CancelFunc
	serving     context.Context // ends with the time to register
	stopServing context.CancelFunc
	left        chan struct{} // closed by leave
	done        chan struct{} // closed when the node has forgotten the member

	// Guarded by client.mu.
	timeout uint64 // µs that leaving may take; 0 = as long as it needs
	leaving bool
	asked   bool // an Unregistered is due
}

func (c *client) newMember(f *session.Register) *member {
	m := &member{
		client:  c,
		id:      f.ID,
		cluster: f.Cluster,
		limits: patterns.Limits{
			Concurrency:  int(f.Concurrency),
			QueueLength:  int(f.QueueLength),
			QueueBytes:   int(f.QueueBytes),
			MessageBytes: int(f.MessageBytes),
			Capacity:     int(f.Capacity),
			Tunnels:      int(f.Tunnels),
		},
		patterns: f.Patterns,
		left:     make(chan struct{}),
		done:     make(chan struct{}),
	}
	timeout := registerTimeout
	if f.Timeout > 0 {
		timeout = session.Duration(f.Timeout)
	}
	m.ctx, m.cancel = context.WithCancel(c.ctx)
	m.serving, m.stopServing = context.WithTimeout(m.ctx, timeout)
	return m
}

func (c *client) handleRegister(f *session.Register) (violation string) {
	m := c.newMember(f)
	err := c.addMember(m)
	switch {
	case errors.Is(err, errDuplicate):
		m.cancel()
		return fmt.Sprintf("registration %d is there already", f.ID)
	case err != nil:
		m.cancel()
		c.countLimit(err)
		c.tell(&session.RegisterFailed{ID: f.ID, Failure: failure.Of(err)})
		return ""
	}
	c.wg.Go(m.run)
	return ""
}

func (c *client) addMember(m *member) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, ok := c.members[m.id]; ok {
		return errDuplicate
	}
	if c.draining {
		return failure.ErrDraining
	}
	if err := c.quota.register(); err != nil {
		return err
	}
	c.members[m.id] = m
	return nil
}

// run is the life of the registration.
func (m *member) run() {
	defer close(m.done)
	defer m.cancel()
	reg, err := m.client.relay.cfg.Node.Serve(m.serving, m.cluster, m.service(), m.limits)
	m.stopServing()
	if err == nil {
		m.client.tell(&session.Registered{ID: m.id, Member: reg.Member()})
		select {
		case <-m.left:
		case <-m.ctx.Done():
		}
		err = m.drain(reg)
		if m.forget() {
			m.client.tell(&session.Unregistered{ID: m.id, Failure: failure.Of(err)})
		}
		return
	}
	if m.client.relay.isDraining() {
		err = failure.ErrDraining
	}
	asked := m.forget()
	m.client.tell(&session.RegisterFailed{ID: m.id, Failure: failure.Of(err)})
	if asked {
		m.client.tell(&session.Unregistered{ID: m.id})
	}
}

// drain leaves the cluster and waits for what was accepted, as long as that
// may take.
func (m *member) drain(reg patterns.Registration) error {
	ctx := m.ctx
	if timeout := m.patience(); timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, session.Duration(timeout))
		defer cancel()
	}
	return reg.Close(ctx)
}

func (m *member) patience() uint64 {
	m.client.mu.Lock()
	defer m.client.mu.Unlock()
	return m.timeout
}

// forget gives id and place free, and says whether an Unregistered is due. It
// comes before whatever tells the client that both are free.
func (m *member) forget() (asked bool) {
	c := m.client
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.members, m.id)
	c.quota.registerDone()
	return m.asked
}

func (c *client) handleUnregister(f *session.Unregister) {
	c.mu.Lock()
	m := c.members[f.ID]
	again := m != nil && m.asked
	if m != nil {
		m.asked = true
	}
	c.mu.Unlock()
	switch {
	case m == nil: // gone already, which is what is wanted
		c.tell(&session.Unregistered{ID: f.ID})
	case again:
		m.cancel()
	default:
		m.leave(f.Timeout)
	}
}

// leave begins to drain the member, or ends its registration.
func (m *member) leave(timeout uint64) {
	m.client.mu.Lock()
	first := !m.leaving
	if first {
		m.leaving, m.timeout = true, timeout
	}
	m.client.mu.Unlock()
	if first {
		close(m.left)
		m.stopServing()
	}
}
