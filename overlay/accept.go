// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package overlay

import (
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/libp2p/go-libp2p/core/peer"
	"go.uber.org/zap"

	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/overlay/session"
)

// inbox is the Overlay as the transport sees it.
type inbox struct{ o *Overlay }

var _ TransportHandler = inbox{}

// HandleStream implements TransportHandler.
func (i inbox) HandleStream(s Stream) {
	if i.o.leaving() || !i.o.gate.spawn(func() { i.o.accept(s) }) {
		s.Reset(codeShutdown)
		s.Close()
	}
}

// PeerUp implements TransportHandler.
func (i inbox) PeerUp(p peer.ID) { i.o.search.up(p) }

// PeerDown implements TransportHandler. The streams of a link fail by
// themselves, and it may come late: only the search for peers is told.
func (i inbox) PeerDown(p peer.ID) { i.o.search.down(p) }

// accept serves an incoming stream to its end.
func (o *Overlay) accept(s Stream) {
	if s.Remote() == o.self {
		if o.loopback.mayLog() {
			o.log.Error("a node with this node's peer id called: was the data directory copied?",
				zap.String("addr", s.RemoteAddr()))
		}
		o.refuse(s, &duplicateError{other: "the node called"})
		return
	}
	l := o.linkOfCaller(s.Remote()).admit(s)
	if l == nil {
		o.drops.add(dropHandshakeFull, 1)
		s.Reset(codeFull)
		s.Close()
		return
	}
	c := call{st: newStream(l, s)}
	err := l.answer(&c)
	l.answered(s)
	if err == nil {
		l.carry(c.s, c.st, &c.g)
		s.Close()
	}
}

// admit makes room for one more stream that has not said Hello. It returns nil
// if there is none, else the link to go on with.
func (l *Link) admit(s Stream) *Link {
	if l == nil {
		return nil
	}
	if l.o.callers.Add(1) > maxHandshakes {
		l.o.callers.Add(-1)
		return nil
	}
	l = l.lock()
	defer l.unlock()
	if len(l.known.callers) >= maxPeerHandshakes || l.o.leaving() {
		l.o.callers.Add(-1)
		return nil
	}
	l.known.callers = append(l.known.callers, s)
	return l
}

// answered notes that s has joined, or ended.
func (l *Link) answered(s Stream) {
	l.o.callers.Add(-1)
	l.mu.Lock()
	defer l.unlock()
	l.known.callers = slices.DeleteFunc(l.known.callers, func(each Stream) bool { return each == s })
}

// answer handles the Hello of a stream that the peer opened, and has it join the
// link. On an error it has ended the stream.
func (l *Link) answer(c *call) error {
	c.st.limit(helloTimeout)
	g, err := c.st.hearHello()
	if err == nil {
		c.g, c.st.sample = g, session.Sample{Got: l.o.now(), Remote: g.clock}
		err = l.enter(c)
	}
	if err != nil {
		if !errors.Is(err, errNotNeeded) && !errors.Is(err, errBusy) && (lastWords(err) != nil || isTimeout(err)) { // else the peer changed its mind
			l.o.drops.add(dropHandshakeFailed, 1)
		}
		l.logRefusal(err)
		l.o.refuse(c.st.s, err)
		return err
	}
	c.st.unlimit()
	return nil
}

// logRefusal logs what somebody should know about.
func (l *Link) logRefusal(err error) {
	if errors.Is(err, ErrVersion) && l.mayLog() {
		l.o.log.Warn("a peer has no link version in common with this node", zap.Stringer("peer", l.peer), zap.Error(err))
		return
	}
	l.o.log.Debug("refused a stream", zap.Stringer("peer", l.peer), zap.Error(err))
}

func (st *stream) hearHello() (greeting, error) {
	_, k, body, err := st.Frames.Next()
	if err != nil {
		return greeting{}, streamError(err)
	}
	if k == wire.KindGoodbye { // the peer changed its mind
		return greeting{}, errNotNeeded
	}
	if k != wire.KindHello {
		return greeting{}, fmt.Errorf("%w: kind %d instead of hello", ErrProtocol, k)
	}
	return decodeHello(body)
}

// enter has a stream join whose peer has said Hello, if that fits with what there
// is, and says Hello on it.
func (l *Link) enter(c *call) error {
	for {
		l.mu.Lock()
		if l.o.leaving() {
			l.unlock()
			return ErrClosed
		}
		if l.joining != nil {
			l.unlock()
			return errBusy
		}
		what := meet(l.views(&c.g))
		switch what {
		case meetStale:
			l.unlock()
			return errNotNeeded
		case meetStrange:
			l.unlock()
			if err := l.resolve(c.st); err != nil {
				return err
			}
			continue // the situation may have changed
		}
		return l.complete(c, what == meetResume)
	}
}

// views is what meet needs to know. mu is held.
func (l *Link) views(g *greeting) views {
	v := views{
		up: l.up(), calling: l.dialing.greeting != nil, first: l.lower,
		instance: l.known.instance, clock: l.known.clock,
		theirs: g.session, theirClock: g.clock, them: g.instance,
	}
	if v.up {
		v.id, v.attached = l.last.Load().ID(), l.last.Load().Attached()
	}
	return v
}

// complete has the stream join. mu is held, and released.
func (l *Link) complete(c *call, resume bool) error {
	if ours := l.dialing.greeting; ours != nil { // the peer's call comes first
		l.dialing.greeting = nil
		l.after.Add(func() { ours.s.Reset(codeSuperseded) })
	}
	l.joining = c.st
	up, s := l.up(), l.last.Load()
	l.unlock()
	var received wire.Counts
	if up {
		received = s.Detach()
	}
	l.mu.Lock()
	if l.o.leaving() || resume && !l.up() { // it has just ended
		l.joining = nil
		l.unlock()
		return errNotNeeded
	}
	if !resume {
		id := c.g.session
		if !c.g.fresh && id != l.dialing.proposal {
			id = l.newID()
		}
		s, received = l.begin(id, &c.g), wire.Counts{}
	}
	c.s = s
	l.join(c.st, &c.g)
	clock := l.o.stamp()
	l.unlock()
	hello, err := l.o.encodeHello(clock, s.ID(), false, received)
	if err == nil {
		err = l.say(c.st, hello)
	}
	if err != nil {
		l.mu.Lock()
		l.lost(s, c.st, err)
		l.unlock()
	}
	return err
}

// refuse ends a stream that does not become part of a link, with last words
// that the peer logs.
func (o *Overlay) refuse(s Stream, cause error) {
	defer s.Close()
	words := lastWords(cause)
	if words == nil {
		s.Reset(refusalCode(cause))
		return
	}
	end := o.clock.Now().Add(byeTimeout)
	s.SetReadDeadline(end)
	s.SetWriteDeadline(end)
	if _, err := s.Write(words); err != nil || s.CloseWrite() != nil {
		s.Reset(refusalCode(cause))
		return
	}
	o.traffic.sent[LaneCtl].Add(uint64(len(words)))
	// Closing at once could overtake the words; wait for the peer's end.
	var rest [512]byte
	for range 1024 {
		if _, err := s.Read(rest[:]); err == io.EOF {
			return
		} else if err != nil {
			break
		}
	}
	s.Reset(refusalCode(cause))
}

// lastWords are the frames that explain a refusal, nil if there is nobody to
// explain it to.
func lastWords(cause error) []byte {
	if errors.Is(cause, ErrLost) || errors.Is(cause, ErrRefused) || errors.Is(cause, ErrGoodbye) {
		return nil
	}
	var words []byte
	var d *duplicateError
	if errors.As(cause, &d) {
		body, err := wire.AppendControl(nil, duplicateNotice(d.other))
		if err != nil {
			panic("BUG: notice does not encode: " + err.Error())
		}
		words = wire.AppendFrame(words, wire.LaneCtl, wire.KindNotice, body)
	}
	return session.AppendGoodbye(words, refusalCode(cause), cause.Error(), nil)
}
