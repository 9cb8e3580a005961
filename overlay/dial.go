// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package overlay

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/arke-mesh/arke/internal/wire"
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
// addresses to try. It does nothing if the link is up or being opened. The
// result comes as a PeerEvent, LinkUp or DialFailed; none comes after
// Shutdown has begun.
func (l *Link) Open(addrs []string) {
	l = l.lock()
	defer l.release()
	l.open(addrs)
}

// Wait is Open, and waits for the session until ctx ends.
func (l *Link) Wait(ctx context.Context, addrs []string) (uint64, error) {
	l = l.lock()
	if l.up() {
		defer l.release()
		return l.sess.number, nil
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
	if l.up() || l.opening || l.o.leaving() {
		return
	}
	l.opening = true
	addrs = slices.Clone(addrs)
	l.wakeLater("overlay/dial", func() {
		if !l.o.gate.spawn(func() { l.dial(addrs) }) {
			l.dialEnded(ErrClosed)
		}
	})
}

// dial opens a stream and serves it to its end.
func (l *Link) dial(addrs []string) {
	ctx, cancel := WithTimeout(l.o.ctx, l.o.clock, "overlay/dial", dialTimeout)
	st, err := l.dialStream(ctx, cancel, addrs)
	if err == nil {
		stop := context.AfterFunc(ctx, func() { st.s.Reset(codeTimeout) })
		err = l.greet(st)
		stop()
	}
	cancel()
	l.dialEnded(err)
	switch {
	case err == nil:
		st.serve()
	case st != nil:
		l.logRefusal(err)
		l.o.refuse(st.s, err)
	}
}

func (l *Link) dialStream(ctx context.Context, cancel context.CancelFunc, addrs []string) (*stream, error) {
	l.mu.Lock()
	l.stopDial = cancel
	l.mu.Unlock()
	s, err := l.o.transport.Open(ctx, l.peer, addrs)
	if err != nil {
		return nil, err
	}
	return newStream(l, s), nil
}

// greet says Hello on a stream that this node opened, and joins it when the
// answer is there.
func (l *Link) greet(st *stream) error {
	l.mu.Lock()
	if slices.ContainsFunc(l.streams, (*stream).usable) {
		l.unlock()
		return errNotNeeded
	}
	// From here on the peer may take the stream for the link's. The clock in
	// Hello says that we had no other one at this moment; see judge.
	l.greeting = make(chan struct{})
	sent := l.o.stamp()
	l.unlock()

	g, err := l.o.sayHello(st, sent)
	if err == nil {
		st.hello, st.sample = g, clockSample{sent: sent, got: l.o.now(), remote: g.clock}
		err = l.enter(st)
	}
	l.mu.Lock()
	l.endGreeting()
	l.settle()
	l.unlock()
	return err
}

// endGreeting notes that our Hello was answered, or will not be. mu is held.
func (l *Link) endGreeting() {
	if answered := l.greeting; answered != nil {
		l.greeting = nil
		l.wakeLater("overlay/greeted", func() { close(answered) })
	}
}

// sayHello sends our Hello and waits for the peer's.
func (o *Overlay) sayHello(st *stream, clock uint64) (greeting, error) {
	hello, err := encodeHello(o.instance, clock, o.cfg.Agent, o.Addrs())
	if err != nil {
		return greeting{}, err
	}
	end := o.clock.Now().Add(helloTimeout)
	st.s.SetReadDeadline(end)
	st.s.SetWriteDeadline(end)
	defer st.unlimit()
	if err := st.say(hello); err != nil {
		return greeting{}, err
	}
	for range maxBeforeHello {
		k, body, err := st.frames.Next()
		if err != nil {
			return greeting{}, st.ending(err, false)
		}
		switch k {
		case wire.KindHello:
			return decodeHello(body)
		case wire.KindGoodbye:
			if _, err := st.goodbye(body); err != nil {
				return greeting{}, err
			}
			return greeting{}, errNotNeeded
		case wire.KindNotice:
			if err := st.l.handleNotice(body); err != nil {
				return greeting{}, err
			}
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
	l.opening, l.stopDial = false, nil
	switch {
	case l.up() || slices.ContainsFunc(l.streams, (*stream).usable):
		return // who waits has a session, or soon will
	case err == nil:
		err = ErrLost // again already
	case l.o.leaving():
		err = ErrClosed
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
