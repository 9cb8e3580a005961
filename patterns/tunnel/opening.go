// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package tunnel

import (
	"context"

	"github.com/libp2p/go-libp2p/core/peer"

	"github.com/arke-mesh/arke/internal/wire"
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

	early []*early // guarded by the engine's mu; in the order of their first frames
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

// earlyOf returns what came from p; nil if nothing did.
func (o *opening) earlyOf(p peer.ID) *early {
	for _, e := range o.early {
		if e.from == p {
			return e
		}
	}
	return nil
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
	for _, from := range early {
		e.disown(from.from, o.id)
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
	over, total := t.over, t.window.total
	t.mu.Unlock()
	if !over {
		t.sendCredit(total)
	}
}

// join puts the tunnel in its place and gives it what came early, in order.
func (e *Engine) join(p peer.ID, o *opening, t *Tunnel) {
	e.mu.Lock()
	r := e.remoteLocked(p)
	t.remote = r
	r.joining++ // until the end, what comes goes on being early
	from := o.earlyOf(p)
	for from != nil && len(from.frames) > 0 {
		frames := from.frames
		from.frames = nil
		e.mu.Unlock()
		for _, f := range frames {
			t.handle(f.kind, f.body)
		}
		e.mu.Lock()
	}
	delete(e.openings, o.id)
	r.opened[t.id] = t
	spilled, closed := from != nil && from.spilled, e.closed
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
	from := o.earlyOf(p)
	if from == nil && len(o.early) < earlyPeers {
		from = &early{from: p}
		o.early = append(o.early, from)
	}
	switch {
	case from == nil:
		e.drops.Inc(dropEarly)
	case len(from.frames) >= earlyFrames || from.bytes+len(body) > o.window+earlyFrames*earlyOverhead:
		e.drops.Inc(dropEarly)
		from.spilled = true
	default:
		from.bytes += len(body)
		from.frames = append(from.frames, earlyFrame{k, body})
	}
	return true
}
