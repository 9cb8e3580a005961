// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package overlay

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/overlay/session"
)

// waiter is a caller of Wait.
type waiter struct {
	done    chan struct{}
	session uint64
	err     error
}

// errNotNeeded ends a dial that the peer's own was faster than.
var errNotNeeded = errors.New("overlay: link is up already")

// Open begins to establish the link, in the background; addrs are further
// addresses to try. It does nothing if the link is up, broken or not, or being opened. The
// result comes as a PeerEvent, LinkUp or DialFailed; none comes after
// Shutdown has begun.
func (l *Link) Open(addrs []string) {
	l = l.lock()
	defer l.release()
	if !l.up() {
		l.open(addrs)
	}
}

// Wait is Open, and waits for the session until ctx ends.
func (l *Link) Wait(ctx context.Context, addrs []string) (uint64, error) {
	l = l.lock()
	if l.up() {
		defer l.release()
		return l.number.Load(), nil
	}
	if l.o.leaving() {
		defer l.release()
		return 0, ErrClosed
	}
	w := &waiter{done: make(chan struct{})}
	l.waiters = append(l.waiters, w)
	l.open(addrs)
	l.release()

	select {
	case <-w.done:
		return w.session, w.err
	case <-ctx.Done():
		l.mu.Lock()
		l.waiters = slices.DeleteFunc(l.waiters, func(each *waiter) bool { return each == w })
		l.mu.Unlock()
		return 0, ctx.Err()
	case <-l.o.ctx.Done():
		return 0, ErrClosed
	}
}

// open begins a dial, if there is a point in it. mu is held.
func (l *Link) open(addrs []string) {
	if l.dialing.open || l.joining != nil || l.o.leaving() || l.up() && l.last.Load().Attached() {
		return
	}
	l.dialing.open, l.dialing.saves = true, l.up()
	if len(addrs) == 0 {
		addrs = l.known.addrs
	}
	addrs = slices.Clone(addrs)
	l.wakeLater("overlay/dial", func() {
		if !l.o.gate.spawn(func() { l.dial(addrs) }) {
			l.dialEnded(ErrClosed)
		}
	})
}

// dialing is how this node calls the peer. Guarded by the link's mu.
type dialing struct {
	open     bool    // a dial is under way …
	saves    bool    // … that is to save a session
	stop     func()  // ends it, if it has come so far
	greeting *stream // on which our Hello is not answered
	proposal uint64  // the id of the session that this node proposes; 0 = none yet
}

// call is a dial that has led to a session.
type call struct {
	st *stream
	g  greeting
	s  *session.Session
}

// dial opens a stream and serves it to its end.
func (l *Link) dial(addrs []string) {
	ctx, cancel := WithTimeout(l.o.ctx, l.o.clock, "overlay/dial", dialTimeout)
	defer cancel()
	var c call
	var err error
	for wait := busyWait; ; wait *= 2 {
		// Where calls cross, the peer's may be on its way: it is waited for.
		c, err = l.call(addrs)
		if !errors.Is(err, errNotNeeded) && !errors.Is(err, errBusy) || l.Up() {
			break
		}
		l.refuse(c.st, err)
		if c.st = nil; !Sleep(ctx, l.o.clock, "overlay/busy", wait) || l.Up() {
			break
		}
	}
	l.dialEnded(err)
	if err != nil {
		l.refuse(c.st, err)
		return
	}
	l.carry(c.s, c.st, &c.g)
	c.st.s.Close()
}

// refuse ends a stream on which saying Hello has failed, if there is one.
func (l *Link) refuse(st *stream, err error) {
	if st != nil {
		l.logRefusal(err)
		l.o.refuse(st.s, err)
	}
}

// call opens a stream and says Hello.
func (l *Link) call(addrs []string) (call, error) {
	ctx, cancel := WithTimeout(l.o.ctx, l.o.clock, "overlay/open", dialTimeout)
	defer func() { cancel() }()
	l.mu.Lock()
	l.dialing.stop = cancel
	l.mu.Unlock()
	s, err := l.o.transport.Open(ctx, l.peer, addrs)
	if err != nil {
		return call{}, err
	}
	c := call{st: newStream(l, s)}
	stop := context.AfterFunc(ctx, func() { s.Reset(codeTimeout) })
	err = l.greet(&c)
	stop()
	return c, err
}

// greet says Hello on a stream that this node opened, and has it join the link
// when the answer is there.
func (l *Link) greet(c *call) error {
	l.mu.Lock()
	if l.joining != nil || l.up() && l.last.Load().Attached() {
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
		id = l.newID()
		l.dialing.proposal = id
	}
	// From here on the peer may take the stream for the link's.
	l.dialing.greeting = c.st
	sent := l.o.stamp()
	l.unlock()

	g, err := l.sayHello(c.st, sent, id, fresh, received)
	l.mu.Lock()
	defer l.unlock()
	switch {
	case l.dialing.greeting != c.st:
		return errNotNeeded
	case err == nil && l.o.leaving():
		err = ErrClosed
	}
	if l.dialing.greeting = nil; err != nil {
		return err
	}
	c.g, c.st.sample = g, session.Sample{Sent: sent, Got: l.o.now(), Remote: g.clock}
	switch resumed := s != nil && g.session == id; {
	case !resumed:
		s = l.begin(g.session, &g)
	case !l.up() || l.last.Load() != s:
		return errNotNeeded // it was given up meanwhile
	case g.instance != l.known.instance:
		return fmt.Errorf("%w: hello: session of another instance", ErrProtocol)
	}
	c.s = s
	l.join(c.st, &g)
	return nil
}

// join notes that st is about to carry the session. mu is held.
func (l *Link) join(st *stream, g *greeting) {
	l.joining = st
	l.known.clock, l.known.agent, l.known.version = g.clock, g.agent, g.version
	l.known.addr, l.known.addrs = st.s.RemoteAddr(), g.addrs
	if st.s.Outbound() {
		l.known.addrs = mergeAddrs([]string{l.known.addr}, g.addrs)
	}
}

// newID is the id of a session that neither side has used. mu is held.
func (l *Link) newID() uint64 {
	id := l.o.nextSession() << 1
	if l.lower {
		id++
	}
	return id
}

// sayHello sends our Hello and waits for the peer's.
func (l *Link) sayHello(st *stream, clock, id uint64, fresh bool, received wire.Counts) (greeting, error) {
	hello, err := l.o.encodeHello(clock, id, fresh, received)
	if err != nil {
		return greeting{}, err
	}
	st.limit(helloTimeout)
	defer st.unlimit()
	if err := l.say(st, hello); err != nil {
		return greeting{}, err
	}
	for range maxBeforeHello {
		_, k, body, err := st.Frames.Next()
		switch {
		case err != nil && !isTimeout(err) && !errors.Is(err, wire.ErrMalformed) && !errors.Is(err, wire.ErrFrameTooLarge):
			return greeting{}, fmt.Errorf("%w: it closed the stream: %w", ErrRefused, err)
		case err != nil:
			return greeting{}, streamError(err)
		}
		switch k {
		case wire.KindHello:
			return decodeHello(body)
		case wire.KindGoodbye:
			var m wire.Goodbye
			if err := wire.DecodeControl(body, &m); err != nil {
				return greeting{}, fmt.Errorf("%w: goodbye: %w", ErrProtocol, err)
			}
			return greeting{}, goodbyeError(m.GetCode(), m.GetReason())
		case wire.KindNotice:
			var m wire.Notice
			if err := wire.DecodeControl(body, &m); err != nil {
				return greeting{}, fmt.Errorf("%w: notice: %w", ErrProtocol, err)
			}
			l.logNotice(&m)
		default:
			return greeting{}, fmt.Errorf("%w: kind %d instead of hello", ErrProtocol, k)
		}
	}
	return greeting{}, fmt.Errorf("%w: no hello", ErrProtocol)
}

// dialEnded notes how a dial ended. A failure only counts if the link does not
// come up by other means.
func (l *Link) dialEnded(err error) {
	l.mu.Lock()
	defer l.unlock()
	l.dialing.open, l.dialing.stop = false, nil
	switch {
	case l.joining != nil || l.up() && l.last.Load().Attached():
		return // who waits has a session, or soon will
	case l.o.leaving():
		err = ErrClosed
	case l.up() && err != nil:
		l.redial(err)
		return
	case l.up():
		return // it broke again already, and that is being dealt with
	case err == nil:
		err = ErrLost // again already
	case l.dialing.saves: // nobody has asked for more than the session, which ended
	default:
		l.report(DialFailed, 0, err)
	}
	l.disappoint(err)
}

// disappoint tells those who wait that there will be no session. mu is held.
func (l *Link) disappoint(err error) {
	for _, w := range l.waiters {
		w.err = err
		l.wakeLater("overlay/wait", func() { close(w.done) })
	}
	l.waiters = nil
}
