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

// handleTunnel takes a frame of a tunnel but its data. size is that of f.
func (c *client) handleTunnel(f session.Frame, size int) (violation string) {
	switch f := f.(type) {
	case *session.OpenTunnel:
		return c.handleOpenTunnel(f, size)
	case *session.TunnelCredit:
		if t := c.tunnels.find(f.ID); t != nil {
			return t.handleCredit(f)
		}
	case *session.TunnelEnd:
		if t := c.tunnels.find(f.ID); t != nil {
			return t.handleEnd(f)
		}
	case *session.TunnelReset:
		if t := c.tunnels.find(f.ID); t != nil {
			return t.handleReset(f)
		}
	default:
		return fmt.Sprintf("a client does not send %s", f.Kind())
	}
	return ""
}

// handleTunnelData takes a chunk. kept says that its bytes are in use still.
func (c *client) handleTunnelData(f *session.TunnelData) (kept bool, violation string) {
	if t := c.tunnels.find(f.ID); t != nil {
		return t.handleData(f)
	}
	return false, ""
}

func (c *client) handleOpenTunnel(f *session.OpenTunnel, size int) (violation string) {
	if c.tunnels.known(f.ID) {
		return fmt.Sprintf("tunnel %d is there already", f.ID)
	}
	return c.callThen(f.ID, f.Timeout, size,
		func(ctx context.Context) (session.Frame, func()) { return c.openTunnel(ctx, f) },
		func(why session.Failure) session.Frame { return &session.TunnelReply{ID: f.ID, Failure: why} })
}

// openTunnel opens one on behalf of the client. What it returns besides the
// reply is to be done when that is queued.
func (c *client) openTunnel(ctx context.Context, f *session.OpenTunnel) (session.Frame, func()) {
	var outcome patterns.RequestReport
	t, err := c.openAtNode(ctx, f, &outcome)
	reply := &session.TunnelReply{
		ID:       f.ID,
		Failure:  failure.Of(err),
		Attempts: uint16(min(outcome.Attempts, 1<<16-1)),
		Member:   outcome.Member,
	}
	if err != nil {
		return reply, nil
	}
	info := t.source.Info()
	reply.Member, reply.Peer, reply.Credit = info.Member, info.Peer, t.first()
	return reply, t.announce
}

// openAtNode opens a tunnel that has a place here.
func (c *client) openAtNode(ctx context.Context, f *session.OpenTunnel, outcome *patterns.RequestReport) (*tunnel, error) {
	if c.relay.isDraining() {
		return nil, failure.ErrDraining
	}
	// The place comes first: nobody is to be asked for nothing.
	t, err := c.tunnels.add(f.ID)
	if err != nil {
		c.countLimit(err)
		return nil, err
	}
	options := append(optionsOf(f.Idempotent, f.Policy, f.StickyKey), patterns.Report(outcome))
	first := patterns.Message{Headers: session.ConvertHeaders[patterns.Header](f.Headers), Body: f.Body}
	opened, err := patiently(ctx, c.relay, f.WaitForMember, func(ctx context.Context, wait ...patterns.RequestOption) (patterns.Tunnel, error) {
		return c.relay.cfg.Node.OpenTunnel(ctx, f.Cluster, first, append(options, wait...)...)
	})
	if err == nil {
		err = t.join(opened, int(f.Credit))
	}
	if err != nil {
		t.leave()
		if c.relay.isDraining() && nobodyAsked(err) {
			err = failure.ErrDraining
		}
		return nil, err
	}
	return t, nil
}

// errNoSource is for a node whose tunnels a relay can't pass on.
var errNoSource = errors.New("relay: the node's tunnels are not for relays")

// join gives the place to a tunnel of the node.
func (t *tunnel) join(opened patterns.Tunnel, credit int) error {
	source, ok := opened.(patterns.TunnelSource)
	if !ok {
		interrupt(opened)
		return errNoSource
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.over { // the session has ended meanwhile
		interrupt(source)
		return patterns.ErrClosed
	}
	source.Notify(func() { t.all.rota.Ready(t) })
	t.source, t.credit = source, credit
	return nil
}

// first returns the credit that the client has at first.
func (t *tunnel) first() uint32 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return uint32(t.intake.given)
}

// leave gives a place back that no tunnel of the node has, or has any more.
func (t *tunnel) leave() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.forget()
}

// ServeTunnel hands a tunnel that somebody opened to the client. The tunnel
// lives on when it returns.
func (m *member) ServeTunnel(ctx context.Context, opened patterns.Tunnel) error {
	c := m.client
	t, err := c.tunnels.add(0)
	if err != nil {
		c.countLimit(err)
		return &patterns.Refusal{Cause: patterns.ErrOverloaded}
	}
	if err := t.join(opened, 0); err != nil {
		t.leave()
		return err
	}
	info := opened.Info()
	err = c.deliver(ctx, &session.DeliverTunnel{
		ID:           t.id,
		Registration: m.id,
		Credit:       t.first(),
		From:         info.Peer,
		Headers:      session.ConvertHeaders[session.Header](info.Open.Headers),
		Body:         info.Open.Body,
	})
	if err != nil {
		t.leave()
		return err
	}
	t.source.Detach()
	t.announce()
	return nil
}
