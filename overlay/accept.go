// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package overlay

import (
	"errors"
	"fmt"
	"slices"

	"github.com/libp2p/go-libp2p/core/peer"
	"go.uber.org/zap"

	"github.com/arke-mesh/arke/internal/wire"
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
	st := newStream(l, s)
	err := l.answer(st)
	l.answered(s)
	if err != nil {
		return
	}
	st.serve()
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
	if len(l.callers) >= maxPeerHandshakes || l.o.leaving() {
		l.o.callers.Add(-1)
		return nil
	}
	l.callers = append(l.callers, s)
	return l
}

// answered notes that s has joined, or ended.
func (l *Link) answered(s Stream) {
	l.o.callers.Add(-1)
	l.mu.Lock()
	defer l.unlock()
	l.callers = slices.DeleteFunc(l.callers, func(each Stream) bool { return each == s })
}

// answer handles the Hello of a stream that the peer opened, and joins it. On
// an error it has ended the stream.
func (l *Link) answer(st *stream) error {
	end := l.o.clock.Now().Add(helloTimeout)
	st.s.SetReadDeadline(end)
	st.s.SetWriteDeadline(end)
	g, err := st.hearHello()
	if err == nil {
		st.hello, st.sample = g, clockSample{got: l.o.now(), remote: g.clock}
		err = l.enter(st)
	}
	if err != nil {
		if lastWords(err) != nil || isTimeout(err) { // else the peer changed its mind
			l.o.drops.add(dropHandshakeFailed, 1)
		}
		l.logRefusal(err)
		l.o.refuse(st.s, err)
		return err
	}
	st.unlimit()
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
	k, body, err := st.frames.Next()
	if err != nil {
		return greeting{}, st.ending(err, false)
	}
	if k != wire.KindHello {
		return greeting{}, fmt.Errorf("%w: kind %d instead of hello", ErrProtocol, k)
	}
	return decodeHello(body)
}

// enter joins a stream whose peer has said Hello, if that fits with the
// streams there are. For an incoming one it sends our Hello.
func (l *Link) enter(st *stream) error {
	for {
		l.mu.Lock()
		if l.o.leaving() {
			l.unlock()
			return ErrClosed
		}
		v, old := l.assess(st)
		switch v {
		case verdictStale:
			l.unlock()
			return errNotNeeded
		case verdictDoubt:
			l.endGreeting() // the old one's reader must not wait for this one
			l.unlock()
			if err := l.resolve(old, st); err != nil {
				return err
			}
			continue // the situation may have changed
		case verdictReplace:
			l.fail(old, fmt.Errorf("%w: the peer opened a new stream", ErrLost), codeBroken)
			l.unlock()
			continue
		}
		return l.complete(st)
	}
}

// assess compares st with the streams there are, and returns the verdict that
// must be acted on first.
func (l *Link) assess(st *stream) (verdict, *stream) {
	v, which := verdictJoin, (*stream)(nil)
	for _, old := range l.streams {
		if !old.readable() {
			continue
		}
		if each := judge(old.facts(), st.facts()); each > v {
			v, which = each, old
		}
	}
	return v, which
}

// complete joins st. mu is held, and released. Our Hello is stamped in the
// same moment, and written before anything else is.
func (l *Link) complete(st *stream) error {
	clock := l.o.stamp()
	l.join(st)
	if st.outbound {
		l.unlock()
		return nil
	}
	l.mu.Unlock() // what join decided waits for the Hello
	hello, err := encodeHello(l.o.instance, clock, l.o.cfg.Agent, l.o.Addrs())
	if err == nil {
		err = st.say(hello)
	}
	l.mu.Lock()
	if err != nil {
		l.fail(st, writeError(err), codeBroken)
	}
	l.unlock()
	return nil
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
		if _, err := s.Read(rest[:]); err != nil {
			return
		}
	}
	s.Reset(refusalCode(cause))
}

// lastWords are the frames that explain a refusal, nil if there is nobody to
// explain it to.
func lastWords(cause error) []byte {
	if errors.Is(cause, ErrLost) || errors.Is(cause, ErrGoodbye) || errors.Is(cause, errNotNeeded) {
		return nil
	}
	var words []byte
	var d *duplicateError
	if errors.As(cause, &d) {
		body, err := wire.AppendControl(nil, duplicateNotice(d.other))
		if err != nil {
			panic("BUG: notice does not encode: " + err.Error())
		}
		words = wire.AppendFrame(words, wire.KindNotice, body)
	}
	return append(words, encodeGoodbye(refusalCode(cause), cause.Error())...)
}
