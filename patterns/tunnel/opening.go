// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package tunnel

import (
	"context"
	"errors"

	"github.com/libp2p/go-libp2p/core/peer"

	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/overlay"
	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/patterns/internal/turn"
	"github.com/arke-mesh/arke/patterns/request"
	"github.com/arke-mesh/arke/security"
)

// opening is a tunnel whose opener does not know its member yet.
type opening struct {
	id     uint64
	window int
	head   []byte // of the stream, if it is sealed

	// Guarded by the engine's mu.
	early   []earlyFrame
	bytes   int  // of early
	spilled bool // something did not fit
}

// earlyFrame is a frame that came before the answer.
type earlyFrame struct {
	from peer.ID
	kind wire.Kind
	body []byte
}

// Open opens a tunnel to one member of the cluster, which sees first, and returns
// when it was accepted. Errors, options and default deadline are those of a
// request; ErrTooMany is returned when this node has as many tunnels as
// Config.MaxOpen or Config.BufferBytes allow.
func (e *Engine) Open(ctx context.Context, cluster string, first patterns.Message, o patterns.RequestOptions) (patterns.Tunnel, error) {
	e.turns.Take(e.cfg.Exec, "tunnel.open", turn.Fingerprint(cluster, first.Body))
	opening, err := e.begin(cluster)
	if err != nil {
		return nil, err
	}
	body := wire.TunnelOpen{ID: opening.id, Credit: uint32(opening.window), Stream: opening.head, Body: first.Body}
	answer, err := e.cfg.Ask(ctx, request.Ask{
		Cluster: cluster,
		Pattern: patterns.PatternTunnel,
		Message: patterns.Message{Headers: first.Headers, Body: body.AppendTo(nil)},
		Options: o,
	})
	if err != nil {
		e.giveUp(opening)
		return nil, err
	}
	return e.adopt(cluster, opening, answer)
}

// begin takes the place of one tunnel.
func (e *Engine) begin(cluster string) (*opening, error) {
	o := &opening{id: e.ids.Add(1)}
	if keys := e.cfg.Keys(cluster); !keys.Derived() || e.cfg.Seal == request.SealAlways {
		o.head = keys.NewStreamHead(e.random)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	switch {
	case e.closed:
		return nil, patterns.ErrClosed
	case e.mine >= e.cfg.MaxOpen:
		e.drops.Inc(dropOpen)
		return nil, patterns.ErrTooMany
	}
	if o.window = e.purse.open(); o.window == 0 {
		e.drops.Inc(dropBuffer)
		return nil, patterns.ErrTooMany
	}
	e.mine++
	e.openings[o.id] = o
	return o, nil
}

// giveUp gives the place back. Who has sent something has taken the tunnel for
// open; others find out by the opener's silence.
func (e *Engine) giveUp(o *opening) {
	e.mu.Lock()
	delete(e.openings, o.id)
	none := e.oneLess()
	e.purse.close(o.window)
	early := o.early
	e.mu.Unlock()
	if none != nil {
		e.wake("tunnel.none", o.id, func() { close(none) })
	}
	told := make(map[peer.ID]bool)
	for _, f := range early {
		if !told[f.from] {
			told[f.from] = true
			e.disown(f.from, o.id)
		}
	}
}

// adopt makes a tunnel of an opening that was accepted.
func (e *Engine) adopt(cluster string, o *opening, a request.Answer) (patterns.Tunnel, error) {
	m, err := wire.DecodeTunnelAccept(a.Message.Body)
	t := &Tunnel{
		engine: e, id: o.id, number: e.numbers.Add(1), session: a.Session, flags: wire.FlagOpener,
		window: newWindow(o.window), credit: int(min(m.Credit, maxCredit)), granted: uint64(m.Credit), limit: a.Member.MaxMessage,
	}
	if t.limit == 0 {
		t.limit = patterns.Limits{}.WithDefaults().MessageBytes
	}
	if err == nil && o.head != nil {
		t.stream, err = e.cfg.Keys(cluster).Stream(security.StreamBinding{
			Opener: e.self, OpenerIncarnation: e.cfg.Incarnation,
			Member: uint64(a.Member.ID), MemberIncarnation: a.Member.Incarnation, Tunnel: o.id,
		}, o.head, m.Salt, true)
	}
	if err != nil {
		e.drops.Inc(dropMalformed)
		e.giveUp(o)
		return nil, patterns.ErrInterrupted
	}
	e.join(a.Member.Peer, o, t)
	t.info = patterns.TunnelInfo{Cluster: cluster, Member: a.Member.ID.String(), Peer: t.remote.text}
	t.confirm()
	if t.remote.link.Session() != t.session {
		t.mu.Lock()
		t.fail(patterns.ErrInterrupted, false)
		t.unlock(true)
	}
	return t, nil
}

// confirm tells the member that its answer has come.
func (t *Tunnel) confirm() {
	t.mu.Lock()
	total := t.window.total
	t.mu.Unlock()
	_, err := t.remote.link.SendWait(t.engine.atOnce, overlay.LaneCtl, wire.KindTunnelCredit, t.creditFrame(nil, total))
	if errors.Is(err, context.Canceled) { // the lane is full
		t.engine.later("tunnel.confirm", pumpPause, t.confirm)
	}
}

// join puts the tunnel in its place and gives it what came early, in order.
func (e *Engine) join(p peer.ID, o *opening, t *Tunnel) {
	e.mu.Lock()
	r := e.remoteLocked(p)
	t.remote = r
	r.joining++ // until the end, what comes goes on being early
	for len(o.early) > 0 {
		early := o.early
		o.early = nil
		e.mu.Unlock()
		for _, f := range early {
			if f.from == p {
				t.handle(f.kind, f.body)
			}
		}
		e.mu.Lock()
	}
	delete(e.openings, o.id)
	r.opened[t.id] = t
	spilled, closed := o.spilled, e.closed
	r.joining--
	e.mu.Unlock()
	r.hold()
	t.mu.Lock()
	switch {
	case spilled:
		t.breakOff(wire.TunnelReset{Cause: wire.CauseViolation, Text: errNoCredit.Error()}, patterns.ErrInterrupted)
	case closed: // Stop did not see it
		t.fail(patterns.ErrClosed, false)
	}
	over := t.over
	t.unlock(true)
	if over { // before it had its place
		r.remove(t)
	}
}

// keepEarly keeps a frame of a tunnel that is being opened. False: it is no
// longer being opened.
func (e *Engine) keepEarly(p peer.ID, k wire.Kind, id uint64, body []byte) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	o := e.openings[id]
	if o == nil {
		return false
	}
	// Twice the credit: with idempotent openings two members may have accepted.
	if len(o.early) >= earlyFrames || o.bytes+len(body) > 2*o.window+earlyFrames*wire.TunnelHeadSize {
		e.drops.Inc(dropEarly)
		o.spilled = true
		return true
	}
	o.bytes += len(body)
	o.early = append(o.early, earlyFrame{p, k, body})
	return true
}
