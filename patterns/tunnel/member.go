// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package tunnel

import (
	"context"

	"github.com/arke-mesh/arke/cluster"
	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/patterns"
)

// member is one local member while it has tunnels. The engine's mutex guards it.
type member struct {
	id      cluster.MemberID
	open    int // tunnels that are not over, or whose handlers have not returned
	leaving bool
	idle    chan struct{} // closed when none is left; nil = nobody waits
}

func (m *member) count() int {
	if m == nil {
		return 0
	}
	return m.open
}

// leave gives back the place of a tunnel.
func (e *Engine) leave(t *Tunnel, window int) {
	e.mu.Lock()
	e.purse.close(window)
	var idle chan struct{}
	if m := t.member; m == nil {
		idle = e.oneLess()
	} else if m.open--; m.open == 0 {
		delete(e.members, m.id)
		idle = m.idle
	}
	e.mu.Unlock()
	if idle != nil {
		t.wake("tunnel.idle", func() { close(idle) })
	}
}

// oneLess counts a tunnel that was opened here out. It returns what to close if
// it was the last one and somebody waits for that. mu is held.
func (e *Engine) oneLess() (none chan struct{}) {
	if e.mine--; e.mine == 0 {
		none, e.none = e.none, nil
	}
	return none
}

// Drain refuses new tunnels to this node's members and waits until theirs are
// over and their handlers have returned. If ctx ends before, they are
// interrupted, and ctx's error is returned without waiting for the handlers.
// Then it does the same for the tunnels that were opened here: handlers may have
// needed them, and the program may be using them.
func (e *Engine) Drain(ctx context.Context) error {
	e.mu.Lock()
	e.draining = true
	e.mu.Unlock()
	var err error
	for _, id := range e.memberIDs() {
		if e := e.DrainMember(ctx, id); e != nil {
			err = e
		}
	}
	if err == nil {
		err = e.drainMine(ctx)
	}
	return err
}

func (e *Engine) drainMine(ctx context.Context) error {
	e.mu.Lock()
	if e.mine == 0 {
		e.mu.Unlock()
		return nil
	}
	if e.none == nil {
		e.none = make(chan struct{})
	}
	none := e.none
	e.mu.Unlock()
	select {
	case <-none:
		return nil
	case <-ctx.Done():
	}
	for _, t := range e.tunnelsOf(func(t *Tunnel) bool { return t.member == nil }) {
		t.mu.Lock()
		t.breakOff(wire.TunnelReset{Cause: wire.CauseLeaving}, patterns.ErrClosed)
		t.unlock(false)
	}
	return ctx.Err()
}

// DrainMember does that for one member, which must not get new openings any
// more.
func (e *Engine) DrainMember(ctx context.Context, id cluster.MemberID) error {
	e.mu.Lock()
	m := e.members[id]
	if m == nil {
		e.mu.Unlock()
		return nil
	}
	m.leaving = true
	if m.idle == nil {
		m.idle = make(chan struct{})
	}
	idle := m.idle
	e.mu.Unlock()
	select {
	case <-idle:
		return nil
	case <-ctx.Done():
	}
	for _, t := range e.tunnelsOf(func(t *Tunnel) bool { return t.member == m }) {
		t.mu.Lock()
		t.breakOff(wire.TunnelReset{Cause: wire.CauseLeaving}, patterns.ErrClosed)
		t.unlock(false)
	}
	return ctx.Err()
}
