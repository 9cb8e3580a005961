// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package overlay

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"sync/atomic"
	"time"

	"go.uber.org/zap"
	"google.golang.org/protobuf/proto"

	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/overlay/session"
)

// errNotNeeded ends a dial that the peer's own was faster than.
var errNotNeeded = errors.New("overlay: link is up already")

// errHungUp is the error of a dial that was taken, and ended before Hello.
var errHungUp = errors.New("it hung up before hello")

// stream is a stream of the transport on its way to carrying a session: Hello
// goes to and fro on it, and then it joins the link.
type stream struct {
	*session.Carrier
	l *Link
	s Stream

	// Known when it has joined.
	greeting greeting
	sample   session.Sample // what the Hello exchange says about the peer's clock
	session  *session.Session
}

func newStream(l *Link, s Stream) *stream {
	return &stream{Carrier: session.NewCarrier(connOf(s, l), &l.o.bodies, l.heardBytes), l: l, s: s}
}

// connOf returns s as a session uses it.
func connOf(s Stream, l *Link) session.Conn {
	if own, ok := s.(session.Owned); ok {
		return ownedConn{own, s, l}
	}
	return linkConn{s, l}
}

// ownedConn is linkConn for a stream that is the connection.
type ownedConn struct {
	session.Owned
	s Stream
	l *Link
}

// Reset implements session.Conn.
func (c ownedConn) Reset(code uint32) error { return resetFor(c.l, c.s, code) }

// linkConn is a stream as a session uses it.
type linkConn struct {
	Stream
	l *Link
}

// Reset implements session.Conn.
func (c linkConn) Reset(code uint32) error { return resetFor(c.l, c.Stream, code) }

// resetFor resets a stream of l. If the peer is silent, the connection below it hangs and
// must not be used again; one that the peer has made since, after the same silence, may be.
func resetFor(l *Link, s Stream, code uint32) error {
	switch {
	case code == codeSilent:
		s.Hangup()
	case code == session.CodeReplaced && l.dialing.replacing.Load() != nil:
		// The peer must not take it for broken before it has heard of the other
		// one: only this side's reader and writer end. carry resets it.
		past := time.Unix(1, 0)
		return errors.Join(s.SetReadDeadline(past), s.SetWriteDeadline(past))
	}
	return s.Reset(code)
}

// accept serves an incoming stream to its end.
func (o *Overlay) accept(s Stream) {
	if s.Remote() == o.self {
		o.loopback.notices.log(func(log *zap.Logger) {
			log.Error("a node with this node's peer id called: was the data directory copied?", zap.String("addr", s.RemoteAddr()))
		})
		o.refuse(s, &duplicateError{other: "the node called"})
		return
	}
	if o.excludes(s.Remote()) {
		o.drops.Inc(dropExcluded)
		s.Reset(codeExcluded)
		s.Close()
		return
	}
	l, heard := o.admit(s)
	if l == nil {
		o.drops.Inc(dropHandshakeFull)
		s.Reset(codeFull)
		s.Close()
		return
	}
	st := newStream(l, s)
	err := st.answer(heard)
	l.mu.Lock()
	l.callers = slices.DeleteFunc(l.callers, func(each Stream) bool { return each == s })
	l.unlock()
	switch {
	case err == nil:
		st.carry()
	case !s.Certified():
		o.links.forgetCaller(l)
	}
}

// admit makes room for one more stream that has not said Hello; heard gives it back. It
// returns nil if there is none, else the stream's link.
func (o *Overlay) admit(s Stream) (l *Link, heard func()) {
	if l = o.links.ofCaller(s.Remote()); l == nil {
		return nil, nil
	}
	heard, yields := o.callers.enter(s)
	if yields != nil {
		o.drops.Inc(dropHandshakeFull)
		yields.Reset(codeFull)
	}
	if heard == nil {
		return nil, nil
	}
	most := maxPeerHandshakes
	if !s.Certified() {
		most = 1
	}
	l = l.lock()
	defer l.unlock()
	if len(l.callers) >= most || o.leaving() {
		heard()
		return nil, nil
	}
	l.callers = append(l.callers, s)
	return l, heard
}

// answer handles the Hello of a stream that the peer opened, and has it join the
// link; heard is called once Hello has come, or will not. On an error it has ended the
// stream.
func (st *stream) answer(heard func()) error {
	if st.s.Certified() {
		st.limit(st.l.atLeast(helloTimeout))
	} else {
		st.limit(helloSoon)
	}
	g, err := st.hearHello()
	if heard(); err == nil {
		st.greeting, st.sample = g, session.Sample{Got: st.l.o.now(), Remote: g.clock}
		err = st.enter()
	}
	if err != nil {
		if !errors.Is(err, errNotNeeded) && !errors.Is(err, errBusy) && (explains(err) || isTimeout(err)) { // else the peer changed its mind
			st.l.o.drops.Inc(dropHandshakeFailed)
		}
		st.refuse(err)
		return err
	}
	st.limit(0)
	return nil
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
	return heardHello(st, body)
}

// enter has a stream join whose peer has said Hello, if that fits with what there
// is, and says Hello on it.
func (st *stream) enter() error {
	l := st.l
	for {
		l.mu.Lock()
		if err := l.o.bars(l.peer); err != nil {
			l.unlock()
			return err
		}
		if l.joining != nil {
			l.unlock()
			return errBusy
		}
		what := meet(st.views())
		switch what {
		case meetStale:
			l.unlock()
			return errNotNeeded
		case meetStrange:
			l.unlock()
			if err := st.resolve(); err != nil {
				return err
			}
			continue // the situation may have changed
		}
		return st.complete(what == meetResume)
	}
}

// views is what meet needs to know. The link's mu is held.
func (st *stream) views() views {
	l, g := st.l, &st.greeting
	v := views{
		up: l.up(), calling: l.dialing.greeting != nil, first: l.first(),
		instance: l.known.instance, clock: l.known.clock,
		theirs: g.session, theirClock: g.clock, them: g.instance,
	}
	if v.up {
		v.id, v.attached = l.last.Load().ID(), l.attached()
	}
	return v
}

// complete has the stream join. The link's mu is held, and released.
func (st *stream) complete(resume bool) error {
	l := st.l
	if ours := l.dialing.greeting; ours != nil { // the peer's call comes first
		l.dialing.greeting = nil
		l.after.Add(func() { ours.s.Reset(codeSuperseded) })
	}
	l.joining = st
	up, s := l.up(), l.last.Load()
	l.unlock()
	var received wire.Counts
	if up {
		received = s.Detach()
	}
	l.mu.Lock()
	if l.o.bars(l.peer) != nil || resume && !l.up() { // it has just ended
		unjoin(l)
		l.unlock()
		return errNotNeeded
	}
	if !resume {
		id := st.greeting.session
		if !st.greeting.fresh && id != l.dialing.proposal {
			id = newID(&l.sessions)
		}
		s, received = l.begin(id, st.s, &st.greeting), wire.Counts{}
		st.greeting.received = wire.Counts{} // what it has of a session that we have not says nothing of this one
	}
	st.join(s)
	clock := l.o.stamp()
	l.unlock()
	err := st.say(clock, s.ID(), false, received)
	if err != nil {
		l.mu.Lock()
		l.lost(s, st, err)
		l.unlock()
	}
	return err
}

// join notes that the stream is about to carry s. The link's mu is held.
func (st *stream) join(s *session.Session) {
	st.session, st.l.joining = s, st
	st.l.known.learn(st.s, &st.greeting)
	st.l.after.Add(st.compareClocks)
	st.l.after.Add(func() { review(st.l) }) // who was let in may have been revoked since its Hello
}

// compareClocks tells what the peer's wall clock shows; without the link's mu.
func (st *stream) compareClocks() {
	trip := st.l.RTT()
	if sent := st.sample.Sent; sent != 0 {
		trip = time.Duration(st.sample.Got - sent)
	}
	st.l.o.clocks.heard(st.l, st.session.Number(), st.greeting.name, st.greeting.wall, trip)
}

// carry has the stream, which has joined, carry the session until it is over.
func (st *stream) carry() {
	err := st.session.Run(st.Carrier, st.greeting.of(st.sample))
	st.l.mu.Lock()
	st.l.lost(st.session, st, err)
	st.l.unlock()
	if over := st.l.dialing.replacing.Load(); over != nil && errors.Is(err, session.ErrReplaced) {
		select {
		case <-*over:
		case <-st.l.o.ctx.Done():
		}
		st.s.Reset(codeSuperseded)
	}
	st.s.Close()
}

// dialing is how this node calls the peer. Guarded by the link's mu.
type dialing struct {
	stop     func()  // ends the dial that is under way, if it has come so far
	greeting *stream // on which our Hello is not answered
	proposal uint64  // the id of the session that this node proposes; 0 = none yet

	// replacing is set while another connection takes the session over; closed when
	// that is over. It needs no lock.
	replacing atomic.Pointer[chan struct{}]
}

// open begins a dial, if there is a point in it. mu is held.
func (l *Link) open(addrs []string) {
	if !l.reconnect.want(l.state()) {
		return
	}
	if len(addrs) == 0 {
		addrs = l.known.addrs
	}
	addrs = slices.Clone(addrs)
	l.wakeLater("overlay/dial", func() {
		if !l.o.gate.Spawn(dialer{Link: l, addrs: addrs}.dial) {
			l.dialled(ErrClosed)
		}
	})
}

// dialer is one try to reach the peer of a link.
type dialer struct {
	*Link
	addrs    []string
	takeover bool // of a session that another connection carries
}

// dial opens a stream and serves it to its end.
func (l dialer) dial() {
	ctx, cancel := WithTimeout(l.o.ctx, l.o.clock, "overlay/dial", l.atLeast(dialTimeout))
	defer cancel()
	var st *stream
	var err error
	for wait := busyWait; ; wait *= 2 {
		// Where calls cross, the peer's may be on its way: it is waited for.
		st, err = l.call()
		if !errors.Is(err, errNotNeeded) && !errors.Is(err, errBusy) || l.Up() {
			break
		}
		st.refuse(err)
		if st = nil; !Sleep(ctx, l.o.clock, "overlay/busy", wait) || l.Up() {
			break
		}
	}
	l.dialled(err)
	if err != nil {
		st.refuse(err)
		return
	}
	st.carry()
}

// dialled acts on how a dial ended; without mu.
func (l *Link) dialled(err error) {
	l.mu.Lock()
	defer l.unlock()
	l.dialing.stop = nil
	l.do(l.reconnect.dialled(l.o.clock.Now(), l.state(), err))
}

// call opens a stream and says Hello. The stream may be nil on an error.
func (l dialer) call() (*stream, error) {
	connect, hello := l.atLeast(dialTimeout), l.atLeast(helloTimeout)
	ctx, cancel := WithTimeout(l.o.ctx, l.o.clock, "overlay/call", connect+hello)
	defer cancel()
	if l.o.excludes(l.peer) {
		return nil, ErrExcluded
	}
	l.mu.Lock()
	l.dialing.stop = cancel
	l.mu.Unlock()
	opening, opened := WithTimeout(ctx, l.o.clock, "overlay/open", connect)
	s, err := l.o.transport.Open(opening, l.peer, l.addrs)
	opened()
	if err != nil {
		return nil, err
	}
	st := newStream(l.Link, s)
	return st, l.hello(ctx, st)
}

// greet says Hello on a stream that this node opened, and has it join the link
// when the answer is there.
func (st *stream) greet(takeover bool) error {
	l := st.l
	l.mu.Lock()
	if takeover {
		if err := detach(st); err != nil {
			l.unlock()
			return err
		}
	} else if l.state().connected() {
		l.unlock()
		return errNotNeeded
	}
	var s *session.Session
	var received wire.Counts
	id, fresh := l.dialing.proposal, true
	switch {
	case l.up():
		s = l.last.Load()
		id, fresh, received = s.ID(), false, s.Received()
	case id == 0:
		id = newID(&l.sessions)
		l.dialing.proposal = id
	}
	// From here on the peer may take the stream for the link's.
	l.dialing.greeting = st
	sent := l.o.stamp()
	l.unlock()

	g, err := st.exchange(sent, id, fresh, received)
	l.mu.Lock()
	defer l.unlock()
	switch {
	case l.dialing.greeting != st:
		return errNotNeeded
	case err == nil:
		err = l.o.bars(l.peer)
	}
	if l.dialing.greeting = nil; err != nil {
		return err
	}
	st.greeting, st.sample = g, session.Sample{Sent: sent, Got: l.o.now(), Remote: g.clock}
	switch resumed := s != nil && g.session == id; {
	case !resumed:
		s = l.begin(g.session, st.s, &g)
	case !l.up() || l.last.Load() != s:
		return errNotNeeded // it was given up meanwhile
	case g.instance != l.known.instance:
		return fmt.Errorf("%w: hello: session of another instance", ErrProtocol)
	}
	st.join(s)
	return nil
}

// exchange sends our Hello and waits for the peer's.
func (st *stream) exchange(clock, id uint64, fresh bool, received wire.Counts) (greeting, error) {
	st.limit(st.l.atLeast(helloTimeout))
	defer st.limit(0)
	if err := st.say(clock, id, fresh, received); err != nil {
		return greeting{}, err
	}
	for range maxBeforeHello {
		_, k, body, err := st.Frames.Next()
		switch {
		case err != nil && !isTimeout(err) && !errors.Is(streamError(err), ErrProtocol):
			return greeting{}, fmt.Errorf("%w: %w: %w", ErrLost, errHungUp, err)
		case err != nil:
			return greeting{}, streamError(err)
		}
		switch k {
		case wire.KindHello:
			return heardHello(st, body)
		case wire.KindGoodbye:
			var m wire.Goodbye
			if err := wire.DecodeControl(body, &m); err != nil {
				return greeting{}, fmt.Errorf("%w: goodbye: %w", ErrProtocol, err)
			}
			return greeting{}, goodbyeError(m.GetCode(), m.GetReason(), m.GetName())
		case wire.KindNotice:
			var m wire.Notice
			if err := wire.DecodeControl(body, &m); err != nil {
				return greeting{}, fmt.Errorf("%w: notice: %w", ErrProtocol, err)
			}
			st.l.notices.tell(&m)
		default:
			return greeting{}, fmt.Errorf("%w: kind %d instead of hello", ErrProtocol, k)
		}
	}
	return greeting{}, fmt.Errorf("%w: no hello", ErrProtocol)
}

// say writes our Hello.
func (st *stream) say(clock, id uint64, fresh bool, received wire.Counts) error {
	hello, err := st.l.o.encodeHello(clock, id, fresh, received)
	if err != nil {
		return err
	}
	if _, err := st.s.Write(hello); err != nil {
		return fmt.Errorf("%w: write: %w", ErrLost, err)
	}
	st.l.wrote(1, ByLane{LaneCtl: uint64(len(hello))})
	return nil
}

// limit gives the stream an end that does not depend on the peer; 0 = none.
func (st *stream) limit(d time.Duration) {
	var end time.Time
	if d > 0 {
		end = st.l.o.clock.Now().Add(d)
	}
	st.s.SetReadDeadline(end)
	st.s.SetWriteDeadline(end)
}

// refuse ends a stream, if there is one, on which saying Hello has failed, and logs
// what somebody should know about.
func (st *stream) refuse(err error) {
	if st == nil {
		return
	}
	l := st.l
	notices := &l.notices
	if !st.s.Outbound() && !st.s.Certified() {
		notices = &l.o.uncertified // there may be any number of peers
	}
	if !notices.refused(l.peer, err) {
		l.o.log.Debug("refused a stream", zap.Stringer("id", l.peer), zap.Error(err))
	}
	l.o.refuse(st.s, err)
	if errors.Is(err, ErrNotAdmitted) {
		l.o.transport.Disconnect(l.peer)
	}
}

// refuse ends a stream that does not become part of a link, with last words
// that the peer logs.
func (b *base) refuse(s Stream, cause error) {
	defer s.Close()
	if !explains(cause) {
		s.Reset(refusalCode(cause))
		return
	}
	end := b.clock.Now().Add(byeTimeout)
	s.SetReadDeadline(end)
	s.SetWriteDeadline(end)
	words := b.lastWords(cause)
	if _, err := s.Write(words); err != nil || s.CloseWrite() != nil {
		s.Reset(refusalCode(cause))
		return
	}
	b.traffic.frames.Add(1)
	b.traffic.sent[LaneCtl].Add(uint64(len(words)))
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

// explains says whether there is somebody to explain a refusal to.
func explains(cause error) bool {
	return !errors.Is(cause, ErrLost) && !errors.Is(cause, ErrRefused) && !errors.Is(cause, ErrGoodbye)
}

// lastWords are the frames that explain a refusal.
func (b *base) lastWords(cause error) []byte {
	var words []byte
	say := func(k wire.Kind, m proto.Message) {
		body, err := wire.AppendControl(nil, m)
		if err != nil {
			panic("BUG: last words do not encode: " + err.Error())
		}
		words = wire.AppendFrame(words, wire.LaneCtl, k, body)
	}
	if d := (*duplicateError)(nil); errors.As(cause, &d) {
		say(wire.KindNotice, duplicateNotice(d.other))
	}
	bye := &wire.Goodbye{Code: refusalCode(cause), Reason: wire.ClipText(cause.Error())}
	if errors.Is(cause, ErrNotAdmitted) {
		bye.Name = b.cfg.Name // whom this node does not let in may have heard no Hello of its
	}
	say(wire.KindGoodbye, bye)
	return words
}

// streamError says what an error of reading a stream means.
func streamError(err error) error {
	if errors.Is(err, wire.ErrMalformed) || errors.Is(err, wire.ErrFrameTooLarge) {
		return fmt.Errorf("%w: %w", ErrProtocol, err)
	}
	return fmt.Errorf("%w: read: %w", ErrLost, err)
}
