// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package pubsub

import (
	"sync"

	"github.com/libp2p/go-libp2p/core/peer"

	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/overlay"
)

// inlet is the other end of a peer's pipe: the shell around what has come of
// it.
type inlet struct {
	mu     sync.Mutex // held while a frame is handled
	intake            // guarded by mu
	large  []byte     // guarded by mu; the parts of a message that is not whole
	ack    []byte     // guarded by mu; scratch
	last   int64      // guarded by mu; when something came
	over   bool       // guarded by mu; nothing came for long, and there may be another one
}

// inlet returns the end of p's pipe here.
func (e *Engine) inlet(p peer.ID) *inlet {
	e.mu.Lock()
	in := e.inlets[p]
	if in == nil && !e.closed {
		in = &inlet{}
		e.inlets[p] = in
	}
	e.mu.Unlock()
	return in
}

// lockedInlet is inlet with its lock held.
func (e *Engine) lockedInlet(p peer.ID) *inlet {
	for {
		in := e.inlet(p)
		if in == nil {
			return nil
		}
		in.mu.Lock()
		if !in.over {
			return in
		}
		in.mu.Unlock()
	}
}

// numbered returns a handler of frames that are numbered: each is handled once.
func (e *Engine) numbered(handle func(Link, []byte)) func(Link, []byte) {
	return func(l Link, body []byte) {
		if l.Peer() == e.self { // nothing is lost between
			handle(l, body)
			return
		}
		e.mu.Lock()
		in := e.inlets[l.Peer()]
		e.mu.Unlock()
		if in == nil {
			e.drops.Inc(dropUnannounced)
			return
		}
		in.mu.Lock()
		defer in.mu.Unlock()
		in.last = e.now()
		switch in.arrive(len(body)) {
		case arrivedFresh:
			handle(l, body)
		case arrivedAgain:
			e.drops.Inc(dropRepeated)
		case arrivedForEarlier:
			e.drops.Inc(dropEarlier)
		case arrivedUnannounced:
			e.drops.Inc(dropUnannounced)
		}
		if in.due() {
			in.acknowledge(l)
		}
	}
}

// acknowledge tells the peer what has come. mu is held.
func (in *inlet) acknowledge(l Link) {
	in.ack = wire.PublishAck{Pipe: in.pipe, Number: in.next - 1}.AppendTo(in.ack[:0])
	if _, err := l.Send(overlay.LaneCtl, wire.KindPublishAck, in.ack); err == nil {
		in.acknowledged()
	}
}

// handleResume takes in which frames follow.
func (e *Engine) handleResume(l Link, body []byte) {
	m, err := wire.DecodePublishResume(body)
	if err != nil {
		e.drops.Inc(dropMalformed)
		return
	}
	in := e.lockedInlet(l.Peer())
	if in == nil {
		return
	}
	defer in.mu.Unlock()
	in.last = e.now()
	pipe := in.pipe
	hole := in.resume(m.Pipe, m.First, m.Incarnation == 0 || m.Incarnation == e.cfg.Incarnation)
	if hole || pipe != m.Pipe {
		in.large = nil
	}
	if hole {
		e.voidLegs(l.Peer())
	}
}

// handlePart takes in a part of a large message. The inlet's lock is held.
func (e *Engine) handlePart(l Link, body []byte) {
	m, err := wire.DecodePublishPart(body)
	if err != nil {
		e.drops.Inc(dropMalformed)
		return
	}
	in := e.inlet(l.Peer())
	switch {
	case m.Flags&wire.PartFirst != 0:
		in.large = append(make([]byte, 0, 2*wire.MaxPart), m.Piece...)
	case in.large == nil || len(in.large)+len(m.Piece) > maxWhole:
		in.large = nil // its beginning is missing, or it has no end
		e.drops.Inc(dropMalformed)
		return
	default:
		in.large = append(in.large, m.Piece...)
	}
	if m.Flags&wire.PartLast != 0 {
		whole := in.large
		in.large = nil
		e.handlePublish(l, whole)
	}
}

// handleAck takes in what has arrived of a pipe.
func (e *Engine) handleAck(l Link, body []byte) {
	m, err := wire.DecodePublishAck(body)
	if err != nil {
		e.drops.Inc(dropMalformed)
		return
	}
	e.mu.Lock()
	q := e.pipes[l.Peer()]
	e.mu.Unlock()
	if q != nil {
		q.acknowledged(m)
	}
}

// voidLegs ends what p told of paths: something is missing of what it sent.
func (e *Engine) voidLegs(p peer.ID) {
	for _, g := range e.allLegs() {
		g.mu.Lock()
		g.void = g.void || g.from == p
		g.mu.Unlock()
	}
}

// ended takes in that the session is over.
func (in *inlet) ended() {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.end()
}

// acknowledgeAll tells all peers what has come of theirs, and forgets those that
// have been gone for long.
func (e *Engine) acknowledgeAll() {
	now := e.now()
	e.mu.Lock()
	type end struct {
		p  peer.ID
		in *inlet
	}
	all := make(map[peer.ID]end, len(e.inlets))
	for p, in := range e.inlets {
		all[p] = end{p, in}
	}
	e.mu.Unlock()
	for _, each := range sorted(all, func(x end) peer.ID { return x.p }) {
		each.in.mu.Lock()
		if each.in.frames > 0 && each.in.at != 0 {
			each.in.acknowledge(e.cfg.Links.Link(each.p))
		}
		if each.in.at == 0 && now-each.in.last > int64(streamTime) {
			each.in.over = true
			e.mu.Lock()
			delete(e.inlets, each.p)
			e.mu.Unlock()
		}
		each.in.mu.Unlock()
	}
}
