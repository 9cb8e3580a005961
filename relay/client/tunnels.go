// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"context"
	"errors"
	"fmt"

	"github.com/arke-mesh/arke/internal/wire/session"
	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/relay/internal/failure"
)

// tunnelFrames are those that the writer has used up when it makes the next.
type tunnelFrames struct {
	data   session.TunnelData
	credit session.TunnelCredit
	sent   []*slab // of the chunks that the sender was given since it has written all
}

// written gives back the memory of the chunks that have left.
func (a *attachment) written() {
	if len(a.frames.sent) == 0 {
		return
	}
	a.slabs.giveBack(a.frames.sent)
	clear(a.frames.sent)
	a.frames.sent = a.frames.sent[:0]
}

// decode decodes a frame from the relay. That of a chunk is used up when the next
// one is read.
func (a *attachment) decode(k session.Kind, body []byte) (session.Frame, error) {
	if k == session.KindTunnelData {
		return &a.came, a.came.Decode(body)
	}
	return session.Decode(k, body)
}

// openedTunnel is a reply with the tunnel that the reader made of it: chunks may
// follow at once.
type openedTunnel struct {
	*session.TunnelReply
	tunnel *tunnel
}

// OpenTunnel implements patterns.Messenger. A tunnel lives as long as the
// session it was opened on: when the relay is lost it ends with
// patterns.ErrInterrupted.
func (c *Client) OpenTunnel(ctx context.Context, cluster string, first patterns.Message, opts ...patterns.RequestOption) (patterns.Tunnel, error) {
	f, err := c.askOne(ctx, session.KindTunnelReply, cluster, first, opts, func(f session.Request) session.Frame {
		return &session.OpenTunnel{Request: f, Credit: firstWindow}
	})
	if err != nil {
		return nil, err
	}
	opened := f.(*openedTunnel)
	t := opened.tunnel
	t.info = patterns.TunnelInfo{Cluster: cluster, Member: opened.Member, Peer: opened.Peer}
	return t, nil
}

// handleTunnel takes a frame of a tunnel.
func (a *attachment) handleTunnel(f session.Frame) error {
	switch f := f.(type) {
	case *session.TunnelReply:
		a.tunnelOpened(f)
	case *session.DeliverTunnel:
		a.deliverTunnel(f)
	case *session.TunnelData:
		if t := a.findTunnel(f.ID); t != nil {
			return t.handleData(f)
		}
	case *session.TunnelCredit:
		if t := a.findTunnel(f.ID); t != nil {
			t.handleCredit(f)
		}
	case *session.TunnelEnd:
		if t := a.findTunnel(f.ID); t != nil {
			t.handleEnd(f)
		}
	case *session.TunnelReset:
		if t := a.findTunnel(f.ID); t != nil {
			t.handleReset(f)
		}
	default:
		return fmt.Errorf("client: a relay does not send %s", f.Kind())
	}
	return nil
}

// tunnelOpened gives a tunnel to the call that asked for it.
func (a *attachment) tunnelOpened(f *session.TunnelReply) {
	if f.Outcome != session.OutcomeReply {
		a.answer(a.calls, f.ID, f)
		return
	}
	t := a.newTunnel(f.ID, f.Credit, patterns.Limits{}.WithDefaults().MessageBytes)
	if t == nil {
		return // the session is over, and the call knows it
	}
	if !a.answer(a.calls, f.ID, &openedTunnel{f, t}) {
		t.unwanted()
	}
}

// unwanted ends a tunnel that came too late for who asked for it.
func (t *tunnel) unwanted() {
	t.Reset(patterns.CodeUnknown, "the caller gave up before the tunnel was open")
}

// giveUp forgets a call that nobody waits for any more, and the tunnel that may
// have come in the last moment.
func (a *attachment) giveUp(id uint64, answer <-chan session.Frame) {
	a.forget(a.calls, id)
	select {
	case f := <-answer:
		if opened, ok := f.(*openedTunnel); ok {
			opened.tunnel.unwanted()
		}
	default:
	}
}

// deliverTunnel has the handler of a registration take a tunnel, on a goroutine
// of its own.
func (a *attachment) deliverTunnel(f *session.DeliverTunnel) {
	c := a.client
	c.mu.Lock()
	r := c.regs[f.Registration]
	c.mu.Unlock()
	if r == nil {
		a.refuseTunnel(f.ID, failure.OfHandler(&patterns.Refusal{Cause: patterns.ErrClosed}))
		return
	}
	serve := patterns.ServiceOf(r.handler).Tunnel
	if serve == nil {
		a.refuseTunnel(f.ID, failure.OfHandler(&patterns.RemoteError{Code: patterns.CodeNoMethod, Message: "this member takes no tunnels"}))
		return
	}
	t := a.newTunnel(f.ID, f.Credit, r.limits.WithDefaults().MessageBytes)
	if t == nil {
		return // the session is over
	}
	t.info = patterns.TunnelInfo{
		Cluster: r.cluster,
		Member:  r.Member(),
		Peer:    f.From,
		Open:    patterns.Message{Headers: session.ConvertHeaders[patterns.Header](f.Headers), Body: f.Body},
	}
	ctx, cancel := context.WithCancel(a.ctx)
	t.onOver = func() {
		cancel()
		c.end()
	}
	t.inlet.open()
	t.ready()
	c.wg.Go(func() { t.serve(ctx, serve) })
}

// refuseTunnel resets a tunnel that nobody takes.
func (a *attachment) refuseTunnel(id uint64, why session.Failure) {
	a.sender.SendReserved(&session.TunnelReset{ID: id, Failure: why}) // if it is lost, so is the session
}

// serve runs the handler, and ends the tunnel as that wants.
func (t *tunnel) serve(ctx context.Context, handler func(context.Context, patterns.Tunnel) error) {
	defer func() {
		if p := recover(); p != nil {
			t.Reset(patterns.CodePanic, fmt.Sprint(p))
		}
	}()
	err := handler(ctx, t)
	var remote *patterns.RemoteError
	switch {
	case err == nil:
		t.Close()
	case errors.As(err, &remote):
		t.Reset(remote.Code, remote.Message)
	default:
		t.Reset(patterns.CodeUnknown, err.Error())
	}
}

// addTunnel says no if the session is over.
func (a *attachment) addTunnel(t *tunnel) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.over != nil {
		return false
	}
	a.tunnels[t.id] = t
	return true
}

func (a *attachment) findTunnel(id uint64) *tunnel {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.tunnels[id]
}

func (a *attachment) forgetTunnel(id uint64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.tunnels, id)
}

// endTunnels ends all when the session has ended.
func (a *attachment) endTunnels() {
	err := patterns.ErrInterrupted
	if a.client.ctx.Err() != nil {
		err = patterns.ErrClosed
	}
	a.mu.Lock()
	left := make([]*tunnel, 0, len(a.tunnels))
	for _, t := range a.tunnels {
		left = append(left, t)
	}
	a.mu.Unlock()
	for _, t := range left {
		t.fail(err, false)
	}
}

// hold counts a tunnel as a call: Shutdown waits for it.
func (c *Client) hold() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.calls++
}
