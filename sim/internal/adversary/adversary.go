// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package adversary

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"

	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/overlay"
	"github.com/arke-mesh/arke/security"
)

// Adversary is what stands between one life of a node and the network. Methods
// may be called concurrently.
type Adversary struct {
	cfg Config // immutable after New

	mu      sync.Mutex
	lines   map[peer.ID]*line   // guarded by mu, as all below; that carry a session
	ledgers map[peer.ID]*ledger // of what was sent
	tactics []tactic            // all that there are: those without an order look on
	orders  map[string]Order    // that stand, by their mode
	timer   overlay.Timer       // nil = nothing is planned
	closed  bool
}

// Config says who an adversary is. All fields are needed.
type Config struct {
	// Seam is the node's, as the network gave it, with its key.
	Seam overlay.Seam
	// Network is the network that it was admitted to, and Cluster gives the keys
	// that it holds for a cluster.
	Network *security.Network
	Cluster func(name string) *security.Cluster
	// Acted is told what was done, count times. It does not block.
	Acted func(what string, count int)
}

// Order has an adversary do something, until it is told to stop.
type Order struct {
	Mode string // one of scenario.Attacks
	On   string // a cluster, or the first word of topics
}

// beat is how often an adversary acts of its own accord.
const beat = 100 * time.Millisecond

// New makes an adversary, which looks on until it gets an order.
func New(cfg Config) *Adversary {
	a := &Adversary{
		cfg: cfg, lines: make(map[peer.ID]*line), ledgers: make(map[peer.ID]*ledger), orders: make(map[string]Order),
	}
	a.tactics = newTactics(&wits{
		Config: cfg, self: cfg.Seam.Transport.Self(), rand: cfg.Seam.Rand.Stream("adversary"), order: a.order, peers: a.peers,
	})
	return a
}

// Seam is what the node is given in place of its own.
func (a *Adversary) Seam() overlay.Seam {
	seam := a.cfg.Seam
	seam.Transport = &transport{seam.Transport, a}
	return seam
}

// Obey takes an order, in the place of one of the same mode. Without a mode it
// ends all.
func (a *Adversary) Obey(o Order) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if o.Mode == "" {
		clear(a.orders)
		return
	}
	a.orders[o.Mode] = o
	if a.timer == nil && !a.closed {
		a.plan()
	}
}

// order is the order of a mode that stands. mu is held.
func (a *Adversary) order(mode string) (Order, bool) {
	o, ok := a.orders[mode]
	return o, ok
}

// peers are those to whom there are links, in order. mu is held.
func (a *Adversary) peers() []peer.ID { return slices.Sorted(maps.Keys(a.lines)) }

func (a *Adversary) plan() { a.timer = a.cfg.Seam.Clock.AfterFunc("adversary", beat, a.act) }

// act does what the tactics want to do of their own accord.
func (a *Adversary) act() {
	a.mu.Lock()
	a.timer = nil
	if a.closed {
		a.mu.Unlock()
		return
	}
	if len(a.orders) > 0 { // else once more, to take back what was said
		a.plan()
	}
	mail := make(map[*line][]frame)
	var opens []peer.ID
	for _, t := range a.tactics {
		p := t.beat()
		opens = append(opens, p.opens...)
		for _, m := range p.letters {
			if l := a.lines[m.to]; l != nil {
				mail[l] = append(mail[l], m.frame)
			}
		}
	}
	var lines []*line
	for _, p := range a.peers() {
		lines = append(lines, a.lines[p])
	}
	a.mu.Unlock()
	for _, l := range lines {
		if len(mail[l]) > 0 {
			l.slip(mail[l])
		}
	}
	a.open(opens)
}

// open opens streams on which nothing is ever said.
func (a *Adversary) open(peers []peer.ID) {
	for _, p := range peers {
		ctx, cancel := overlay.WithTimeout(context.Background(), a.cfg.Seam.Clock, "adversary/open", beat)
		s, err := a.cfg.Seam.Transport.Open(ctx, p, nil)
		cancel()
		if err == nil { // an empty write, so that the peer hears of it
			_, _ = s.Write(make([]byte, 1))
		}
	}
}

// close ends what the adversary does by itself.
func (a *Adversary) close() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.closed = true
	if a.timer != nil {
		a.timer.Stop()
		a.timer = nil
	}
}

func (a *Adversary) ledger(p peer.ID) *ledger {
	if a.ledgers[p] == nil {
		a.ledgers[p] = &ledger{}
	}
	return a.ledgers[p]
}

// hungUp notes that a line is over.
func (a *Adversary) hungUp(l *line) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.lines[l.peer] == l {
		delete(a.lines, l.peer)
	}
}

// greeted notes that both sides of a line have said Hello, if they have: the side
// that was called has said which session it carries.
func (a *Adversary) greeted(l *line) {
	if l.said == nil || l.heard == nil {
		return
	}
	answer := l.said
	if l.Outbound() {
		answer = l.heard
	}
	if led := a.ledger(l.peer); led.session != answer.Session {
		led.begin(answer.Session)
		for _, t := range a.tactics {
			t.gone(l.peer)
		}
	}
	a.lines[l.peer] = l
}

// outgoing appends what goes out in the place of a frame of the node's.
func (a *Adversary) outgoing(l *line, dst []byte, f frame) []byte {
	a.mu.Lock()
	defer a.mu.Unlock()
	if f.kind == wire.KindHello {
		l.said = new(wire.Hello)
		_ = wire.DecodeControl(f.body, l.said)
		a.greeted(l)
	}
	if !f.kind.Counted() {
		return f.appendTo(dst)
	}
	led := a.ledger(l.peer)
	frames := []frame{f}
	for _, t := range a.tactics {
		var next []frame
		for _, g := range frames {
			next = append(next, t.out(l.peer, g)...)
		}
		frames = next
	}
	if len(frames) == 0 || frames[0].lane != f.lane {
		// The peer has to count something.
		frames = append([]frame{{lane: f.lane, kind: wire.KindVoid}}, frames...)
	}
	led.pass(f.lane)
	dst = frames[0].appendTo(dst)
	for _, g := range frames[1:] {
		led.add(g.lane)
		dst = g.appendTo(dst)
	}
	return dst
}

// invent appends a frame that the node knows nothing of.
func (a *Adversary) invent(l *line, dst []byte, f frame) []byte {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.lines[l.peer] != l {
		return dst
	}
	if f.kind.Counted() {
		a.ledger(l.peer).add(f.lane)
	}
	return f.appendTo(dst)
}

// incoming appends what the node hears in the place of a frame.
func (a *Adversary) incoming(l *line, dst []byte, f frame) []byte {
	a.mu.Lock()
	defer a.mu.Unlock()
	led := a.ledger(l.peer)
	switch f.kind {
	case wire.KindHello:
		l.heard = new(wire.Hello)
		if wire.DecodeControl(f.body, l.heard) == nil && l.heard.Session == led.session {
			received := wire.CountsOf(l.heard.Received)
			led.resume(received)
			own := led.own(received)
			l.heard.Received = own[:]
			f = control(f.kind, l.heard)
		}
		a.greeted(l)
	case wire.KindAck:
		if told, err := wire.DecodeAck(f.body); err == nil {
			f.body = wire.AppendAck(nil, led.own(told))
		}
	case wire.KindGoodbye:
		var m wire.Goodbye
		if wire.DecodeControl(f.body, &m) == nil && len(m.Handled) > 0 {
			own := led.own(wire.CountsOf(m.Handled))
			m.Handled = own[:]
			f = control(f.kind, &m)
		}
	}
	for _, t := range a.tactics {
		if !t.in(l.peer, f) && f.kind.Counted() {
			f = frame{lane: f.lane, kind: wire.KindVoid}
		}
	}
	return f.appendTo(dst)
}
