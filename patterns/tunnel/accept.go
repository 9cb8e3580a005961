// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package tunnel

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"go.uber.org/zap"

	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/patterns/request"
	"github.com/arke-mesh/arke/security"
)

var (
	errBusy   = &patterns.Refusal{Cause: patterns.ErrOverloaded}
	errLeaves = &patterns.Refusal{Cause: patterns.ErrClosed}
)

// Accept implements request.Acceptor: it has a handler run for a tunnel that
// somebody opens, or refuses it.
func (e *Engine) Accept(o request.Opening) (body []byte, err error) {
	m, err := wire.DecodeTunnelOpen(o.Body)
	if err != nil {
		e.drops.Inc(dropMalformed)
		return nil, &patterns.RemoteError{Cluster: o.Server.Name(), Message: err.Error()}
	}
	t := &Tunnel{
		engine: e, id: m.ID, number: e.numbers.Add(1), session: o.From.Session(),
		limit: o.Server.Limits().MessageBytes, credit: int(min(m.Credit, maxCredit)), granted: uint64(m.Credit), serving: true,
		info: patterns.TunnelInfo{
			Cluster: o.Server.Name(), Member: o.Server.ID().String(),
			Open: patterns.Message{Headers: o.Headers, Body: m.Body},
		},
	}
	answer := wire.TunnelAccept{}
	if o.Sealed != (len(m.Stream) > 0) {
		return nil, &patterns.Refusal{Cause: patterns.ErrUnauthorized}
	}
	if o.Sealed {
		answer.Salt = security.NewStreamSalt(e.random)
		if t.stream, err = e.serverStream(o, m, answer.Salt); err != nil {
			return nil, &patterns.Refusal{Cause: patterns.ErrUnauthorized}
		}
	}
	if err := e.admit(o, t); err != nil {
		return nil, err
	}
	t.remote.hold()
	e.expectWord(t, o.Deadline)
	if !e.serve(o.Server.Service().Tunnel, t) {
		e.drops.Inc(dropWorkers)
		e.expel(t)
		return nil, errBusy
	}
	answer.Credit = uint32(t.window.size)
	return answer.AppendTo(nil), nil
}

func (e *Engine) serverStream(o request.Opening, m wire.TunnelOpen, salt []byte) (*security.Stream, error) {
	return o.Server.Keys().Stream(security.StreamBinding{
		Opener: o.From.Peer(), OpenerIncarnation: o.SenderIncarnation,
		Member: uint64(o.Server.ID()), MemberIncarnation: e.cfg.Incarnation, Tunnel: m.ID,
	}, m.Stream, salt, false)
}

// admit gives the tunnel its place, or refuses it.
func (e *Engine) admit(o request.Opening, t *Tunnel) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	m := e.members[o.Server.ID()]
	switch {
	case e.closed || e.draining || t.session == 0 || m != nil && m.leaving:
		return errLeaves
	case o.Server.Limits().Tunnels <= m.count():
		e.drops.Inc(dropTunnels)
		return errBusy
	}
	r := e.remoteLocked(o.From.Peer())
	if r.served[t.id] != nil {
		e.drops.Inc(dropDuplicate)
		return errBusy
	}
	size := e.purse.open()
	if size == 0 {
		e.drops.Inc(dropBuffer)
		if len(r.opened)+len(r.served)+r.joining == 0 {
			delete(e.remotes, r.id)
		}
		return errBusy
	}
	if m == nil {
		m = &member{id: o.Server.ID()}
		e.members[m.id] = m
	}
	m.open++
	t.member, t.remote, t.window = m, r, newWindow(size)
	t.info.Peer = r.text
	r.served[t.id] = t
	return nil
}

// expel takes back what admit gave to a tunnel that nobody has seen.
func (e *Engine) expel(t *Tunnel) {
	t.mu.Lock()
	t.serving = false
	t.fail(patterns.ErrOverloaded, true)
	t.unlock(false)
}

// expectWord has the tunnel end if its opener says nothing.
func (e *Engine) expectWord(t *Tunnel, deadline time.Time) {
	by := e.now() + int64(openTime)
	if !deadline.IsZero() {
		by = int64(deadline.Sub(e.start))
	}
	e.mu.Lock()
	e.fresh = append(e.fresh, fresh{t, by + int64(confirmGrace)})
	first := len(e.fresh) == 1 && !e.closed
	e.mu.Unlock()
	if first {
		e.later("tunnel.sweep", sweepTime, e.sweep)
	}
}

// fresh is a tunnel whose opener has not said a word yet.
type fresh struct {
	t  *Tunnel
	by int64 // when it must have
}

// sweep looks who has, and who is late.
func (e *Engine) sweep() {
	now := e.now()
	e.mu.Lock()
	all := e.fresh
	e.fresh = nil
	e.mu.Unlock()
	left := all[:0]
	for _, f := range all {
		f.t.mu.Lock()
		waiting := !f.t.known && !f.t.over
		if waiting && f.by <= now {
			waiting = false
			e.drops.Inc(dropSilent)
			f.t.breakOff(wire.TunnelReset{Cause: wire.CauseInterrupted}, patterns.ErrInterrupted)
		}
		f.t.unlock(false)
		if waiting {
			left = append(left, f)
		}
	}
	clear(all[len(left):]) // no tunnel is kept by having been here
	e.mu.Lock()
	e.fresh = append(left, e.fresh...)
	more := len(e.fresh) > 0 && !e.closed
	e.mu.Unlock()
	if more {
		e.later("tunnel.sweep", sweepTime, e.sweep)
	}
}

// serve has a worker run the handler.
func (e *Engine) serve(h func(context.Context, patterns.Tunnel) error, t *Tunnel) bool {
	if n := e.handlers.Add(1); e.cfg.MaxHandlers > 0 && n > int64(e.cfg.MaxHandlers) {
		e.handlers.Add(-1)
		return false
	}
	ok := e.exec("tunnel.serve", t.number, func() {
		err := t.run(h)
		e.handlers.Add(-1)
		t.take("tunnel.served")
		t.served(err)
	})
	if !ok {
		e.handlers.Add(-1)
	}
	return ok
}

func (t *Tunnel) run(h func(context.Context, patterns.Tunnel) error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = &patterns.RemoteError{Code: patterns.CodePanic, Message: fmt.Sprint(p)}
			t.engine.log.Error("handler of a tunnel panicked",
				zap.String("panic", err.(*patterns.RemoteError).Message), zap.ByteString("stack", debug.Stack()))
		}
	}()
	return h(handlerContext{t}, t)
}

// served ends the tunnel as its handler wants.
func (t *Tunnel) served(err error) {
	var remote *patterns.RemoteError
	var refusal *patterns.Refusal
	t.mu.Lock()
	t.serving = false
	switch {
	case err == nil && t.detached:
	case err == nil:
		t.dropIn()
		if !t.over {
			t.end(endingClosed)
		}
	case errors.As(err, &remote):
		t.reset(wire.CauseProgram, remote.Code, remote.Message)
	case errors.As(err, &refusal):
		t.reset(refusalCause(refusal), patterns.CodeUnknown, err.Error())
	default:
		t.reset(wire.CauseProgram, patterns.CodeUnknown, err.Error())
	}
	t.unlock(false)
	t.release()
}

// refusalCause is what a handler that stands for a program elsewhere says of it.
func refusalCause(r *patterns.Refusal) wire.TunnelCause {
	switch {
	case errors.Is(r.Cause, patterns.ErrOverloaded):
		return wire.CauseOverloaded
	case errors.Is(r.Cause, patterns.ErrClosed):
		return wire.CauseLeaving
	case errors.Is(r.Cause, patterns.ErrInterrupted):
		return wire.CauseInterrupted
	}
	return wire.CauseProgram
}
