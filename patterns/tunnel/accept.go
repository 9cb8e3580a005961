// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package tunnel

import (
	"cmp"
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
	errFull   = &patterns.Refusal{Cause: patterns.ErrOverloaded} // HopConfig.BufferBytes
	errShare  = &patterns.Refusal{Cause: patterns.ErrOverloaded} // HopConfig.Places
	errLeaves = &patterns.Refusal{Cause: patterns.ErrClosed}
	errNoKey  = &patterns.Refusal{Cause: patterns.ErrUnauthorized}
)

// handler is what a member does with its tunnels.
type handler = func(context.Context, patterns.Tunnel) error

// Accept implements request.Acceptor: it has a handler run for a tunnel that
// somebody opens, or refuses it.
func (e *Engine) Accept(o request.Opening) (body []byte, err error) {
	info := patterns.TunnelInfo{
		Cluster: o.Server.Name(), Member: o.Server.ID().String(), Peer: o.Origin,
		Open: patterns.Message{Headers: o.Headers, Body: o.Body},
	}
	return e.accept(o.Server.Service().Tunnel, info, o.Deadline, Arrival{
		Server: o.Server, Link: o.From, Session: o.From.Session(), From: o.Opener, SenderIncarnation: o.SenderIncarnation, Sealed: o.Sealed,
		Tunnel: o.Tunnel,
	})
}

func (e *Engine) accept(h handler, info patterns.TunnelInfo, deadline time.Time, a Arrival) (body []byte, err error) {
	m, err := wire.DecodeTunnelOpen(info.Open.Body)
	if err != nil {
		e.drops.Inc(dropMalformed)
		return nil, &patterns.RemoteError{Cluster: a.Server.Name(), Message: err.Error()}
	}
	p, salt, err := e.admit(a, m)
	if err != nil {
		return nil, err
	}
	defer e.table.left(p.remote)
	window := e.budget.Open()
	if window == 0 {
		e.drops.Inc(dropBuffer)
		e.leave(p.place, p.number)
		return nil, errBusy
	}
	t := newTunnel(p, window, uint64(m.Credit))
	t.limit, t.serving = a.Server.Limits().MessageBytes, true
	t.info, t.info.Open.Body, t.info.Peer = info, m.Body, cmp.Or(info.Peer, p.remote.text)
	refused := dropReasons
	if !e.table.add(t) {
		refused = dropDuplicate
	} else if !serve(e, h, t) {
		refused = dropWorkers
	}
	if refused != dropReasons { // nobody has seen it
		e.drops.Inc(refused)
		t.serving = false
		t.lose(patterns.ErrOverloaded)
		return nil, errBusy
	}
	p.remote.hold()
	expectWord(e, t, deadline)
	e.rest()
	return wire.TunnelAccept{Credit: uint32(window), Salt: salt}.AppendTo(nil), nil
}

// admit gives a tunnel that somebody opens its place, or refuses it. table.left
// is due.
func (e *Engine) admit(a Arrival, m wire.TunnelOpen) (p port, salt []byte, err error) {
	p = port{codec: codec{id: cmp.Or(a.Tunnel, m.ID), far: a.Tunnel != 0}, engine: e, number: e.numbers.Add(1), session: a.Session}
	if a.Sealed != (len(m.Stream) > 0) {
		return port{}, nil, errNoKey
	}
	if a.Sealed {
		if a.From == "" {
			a.From = a.Link.Peer()
		}
		salt = security.NewStreamSalt(e.random)
		p.stream, err = a.Server.Keys().Stream(security.StreamBinding{
			Opener: a.From, OpenerIncarnation: a.SenderIncarnation,
			Member: uint64(a.Server.ID()), MemberIncarnation: e.cfg.Incarnation, Tunnel: m.ID,
		}, m.Stream, salt, false)
		if err != nil {
			return port{}, nil, errNoKey
		}
	}
	if p.session == 0 {
		return port{}, nil, errLeaves
	}
	switch p.place, err = e.table.take(a.Server.ID(), a.Server.Limits().Tunnels); {
	case errors.Is(err, patterns.ErrOverloaded):
		e.drops.Inc(dropTunnels)
		return port{}, nil, errBusy
	case err != nil:
		return port{}, nil, errLeaves
	}
	p.remote = e.peer(a.Link)
	return p, salt, nil
}

// expectWord has a tunnel end whose opener says nothing: it has given up.
func expectWord(e *Engine, t *Tunnel, deadline time.Time) {
	wait := openTime
	if !deadline.IsZero() {
		wait = deadline.Sub(e.cfg.Clock.Now())
	}
	e.later("tunnel.silent", wait+confirmGrace, func() {
		t.mu.Lock()
		if !t.state.known && !t.state.over {
			e.drops.Inc(dropSilent)
			t.breakOff(wire.TunnelReset{Cause: wire.CauseInterrupted}, patterns.ErrInterrupted)
		}
		t.unlock()
	})
}

// serve has a worker run the handler.
func serve(e *Engine, h handler, t *Tunnel) bool {
	if n := e.handlers.Add(1); e.cfg.MaxHandlers > 0 && n > int64(e.cfg.MaxHandlers) {
		e.handlers.Add(-1)
		return false
	}
	ok := e.exec("tunnel.serve", t.number, func() {
		err := run(e, h, t)
		e.handlers.Add(-1)
		t.turn("tunnel.served")
		t.served(err)
	})
	if !ok {
		e.handlers.Add(-1)
	}
	return ok
}

func run(e *Engine, h handler, t *Tunnel) (err error) {
	defer func() {
		if p := recover(); p != nil {
			text := fmt.Sprint(p)
			err = &patterns.RemoteError{Code: patterns.CodePanic, Message: text}
			e.cfg.Logger.Error("handler of a tunnel panicked", zap.String("panic", text), zap.ByteString("stack", debug.Stack()))
		}
	}()
	return h(&t.life, t)
}
