// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package tunnel

import (
	"context"
	"errors"

	"github.com/libp2p/go-libp2p/core/peer"

	"github.com/arke-mesh/arke/internal/credit"
	"github.com/arke-mesh/arke/internal/drop"
	"github.com/arke-mesh/arke/internal/name"
	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/patterns/request"
	"github.com/arke-mesh/arke/security"
)

// opening is a tunnel whose opener does not know its member yet.
type opening struct {
	// Immutable.
	engine  *Engine
	place   *place
	cluster string
	id      uint64
	budget  *credit.Budget // which the window is of
	window  int
	head    []byte // of the stream, if it is sealed

	early []*early // guarded by the table's mu; in the order of their first frames
}

// early is what came from one peer before the answer. Several may have accepted,
// if the opening is idempotent; and whoever has not must not spoil it for those.
type early struct {
	from    peer.ID
	frames  []earlyFrame
	bytes   int
	spilled bool // something did not fit
}

type earlyFrame struct {
	kind wire.Kind
	body []byte
}

// Open opens a tunnel to one member of the cluster, which sees first, and returns
// when it was accepted. Errors, options and default deadline are those of a
// request; ErrTooMany is returned when this node has as many tunnels as
// Config.MaxOpen or Config.BufferBytes allow.
func (e *Engine) Open(ctx context.Context, cluster string, first patterns.Message, o patterns.RequestOptions) (patterns.Tunnel, error) {
	e.turns.Call("tunnel.open", cluster, first.Body, 0)
	opening, err := e.begin(cluster, e.budget)
	if err != nil {
		return nil, err
	}
	body := wire.TunnelOpen{ID: opening.id, Credit: uint32(opening.window), Stream: opening.head, Body: first.Body}
	answer, err := e.cfg.Ask(ctx, request.Ask{
		Cluster: cluster,
		Pattern: patterns.PatternTunnel,
		Message: patterns.Message{Headers: first.Headers, Body: body.AppendTo(nil)},
		Options: o,
		Tunnel:  opening.id,
	})
	if err != nil {
		opening.giveUp()
		return nil, err
	}
	p, m, err := opening.accepted(answer, answer.Message.Body)
	if err != nil {
		return nil, err
	}
	t := newTunnel(p, opening.window, uint64(m.Credit))
	t.info = patterns.TunnelInfo{Cluster: cluster, Member: answer.Member.ID.String(), Peer: p.remote.text}
	if p.remote.id != answer.Member.Peer { // it is behind a relay, or a gateway
		t.info.Peer = answer.Member.Peer.String()
	}
	if t.limit = answer.Member.MaxMessage; t.limit == 0 {
		t.limit = patterns.Limits{}.WithDefaults().MessageBytes
	}
	if opening.join(t); !t.gone() {
		t.sendCredit(uint64(opening.window)) // the member learns that its answer has come
		e.rest()
	}
	return t, nil
}

// begin takes the place of one tunnel that is opened here, with a window of the
// budget.
func (e *Engine) begin(cluster string, budget *credit.Budget) (*opening, error) {
	cluster, _, _ = name.Split(cluster)
	o := &opening{engine: e, cluster: cluster, id: e.ids.Add(1), budget: budget}
	if e.cfg.Keys != nil {
		if keys := e.cfg.Keys(cluster); !keys.Derived() || e.cfg.Seal == request.SealAlways {
			o.head = keys.NewStreamHead(e.random)
		}
	}
	var err error
	if o.place, err = e.table.take(openedHere, e.cfg.MaxOpen); err != nil {
		if errors.Is(err, patterns.ErrOverloaded) {
			e.drops.Inc(dropOpen)
			err = &LimitError{"tunnels opened from one node", e.cfg.MaxOpen}
		}
		return nil, err
	}
	if o.window = budget.Open(); o.window == 0 {
		e.drops.Inc(dropBuffer)
		e.leave(o.place, o.id)
		return nil, &LimitError{"bytes for the tunnels of one node", e.cfg.BufferBytes}
	}
	e.table.mu.Lock()
	e.table.openings[o.id] = o
	e.table.mu.Unlock()
	return o, nil
}

// giveUp gives the place back. Who has sent something has taken the tunnel for
// open; others find out by the opener's silence.
func (o *opening) giveUp() {
	e := o.engine
	e.table.mu.Lock()
	delete(e.table.openings, o.id)
	early := o.early
	e.table.mu.Unlock()
	o.budget.Close(o.window)
	e.leave(o.place, o.id)
	for _, from := range early {
		e.disown(from.from, o.id)
	}
}

// accepted returns what an answer makes of an opening; with an error it was given
// up. Otherwise join is due.
func (o *opening) accepted(a request.Answer, body []byte) (port, wire.TunnelAccept, error) {
	e := o.engine
	p := port{
		codec: codec{id: o.id, flags: wire.FlagOpener, far: a.Member != nil && a.Member.Via != nil}, engine: e, place: o.place, number: e.numbers.Add(1), session: a.Session,
	}
	m, err := wire.DecodeTunnelAccept(body)
	if err == nil && o.head != nil {
		p.stream, err = e.cfg.Keys(o.cluster).Stream(security.StreamBinding{
			Opener: e.cfg.Links.Self(), OpenerIncarnation: e.cfg.Incarnation,
			Member: uint64(a.Member.ID), MemberIncarnation: a.Member.Incarnation, Tunnel: o.id,
		}, o.head, m.Salt, true)
	}
	if err != nil {
		e.drops.Inc(dropMalformed)
		o.giveUp()
		return port{}, m, patterns.ErrInterrupted
	}
	p.remote = e.peer(e.cfg.Links.Link(a.Member.Hop())) // until the end of join, what comes goes on being early
	return p, m, nil
}

// join puts the tunnel in its place and gives it what came early, in order.
func (o *opening) join(t endpoint) {
	e, r := o.engine, t.base().remote
	e.table.mu.Lock()
	from := o.earlyOf(r.id)
	for from != nil && len(from.frames) > 0 {
		frames := from.frames
		from.frames = nil
		e.table.mu.Unlock()
		for _, f := range frames {
			t.hear(f.kind, f.body)
		}
		e.table.mu.Lock()
	}
	delete(e.table.openings, o.id)
	r.opened[o.id] = t
	spilled, closed := from != nil && from.spilled, e.table.closed
	e.table.mu.Unlock()
	r.hold()
	switch {
	case spilled:
		t.end(wire.CauseViolation, patterns.ErrInterrupted)
	case closed: // Stop did not see it
		t.lose(patterns.ErrClosed)
	case r.link.Session() != t.base().session:
		t.lose(patterns.ErrInterrupted)
	}
	if t.gone() { // before it had its place
		e.table.remove(t)
	}
	e.table.left(r)
}

// earlyOf returns what came from p; nil if nothing did.
func (o *opening) earlyOf(p peer.ID) *early {
	for _, e := range o.early {
		if e.from == p {
			return e
		}
	}
	return nil
}

// keepEarly keeps a frame of a tunnel that is being opened. False: it is no
// longer being opened.
func (t *table) keepEarly(p peer.ID, k wire.Kind, id uint64, body []byte, drops drop.Counts[dropReason]) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	o := t.openings[id]
	if o == nil {
		return false
	}
	from := o.earlyOf(p)
	if from == nil && len(o.early) < earlyPeers {
		from = &early{from: p}
		o.early = append(o.early, from)
	}
	switch {
	case from == nil:
		drops.Inc(dropEarly)
	case len(from.frames) >= earlyFrames || from.bytes+len(body) > o.window+earlyFrames*earlyOverhead:
		drops.Inc(dropEarly)
		from.spilled = true
	default:
		from.bytes += len(body)
		from.frames = append(from.frames, earlyFrame{k, body})
	}
	return true
}
