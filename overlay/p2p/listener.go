// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package p2p

import (
	"context"
	"errors"
	"net"
	"sync"
	"time"

	"github.com/libp2p/go-libp2p/core/transport"
	ma "github.com/multiformats/go-multiaddr"
)

// acceptPause is how long a listener rests after an error that passes, such
// as too many open files.
const acceptPause = 20 * time.Millisecond

// listener takes what it accepts through the door, each connection on a goroutine of
// its own, and hands over those that were admitted.
type listener struct {
	net.Listener
	at        ma.Multiaddr
	transport *tcpTransport
	ready     chan transport.CapableConn

	// Lifecycle. ctx ends with Close.
	ctx    context.Context
	cancel context.CancelFunc
	wg     sync.WaitGroup
}

var _ transport.Listener = (*listener)(nil)

// newListener takes over l, which is bound to at, and begins to accept.
func newListener(t *tcpTransport, l net.Listener, at ma.Multiaddr) *listener {
	ctx, cancel := context.WithCancel(context.Background())
	x := &listener{Listener: l, at: at, transport: t, ready: make(chan transport.CapableConn), ctx: ctx, cancel: cancel}
	x.wg.Go(x.loop)
	return x
}

func (l *listener) loop() {
	defer l.cancel()
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			if l.ctx.Err() != nil || errors.Is(err, net.ErrClosed) {
				return
			}
			l.pause()
			continue
		}
		unsift(c)
		noLinger(c)
		g := l.transport.upgrader.door.enter(c)
		if g == nil {
			c.Close()
			continue
		}
		l.wg.Go(func() { l.receive(g) })
	}
}

// receive has a connection admitted.
func (l *listener) receive(g *guest) {
	conn, err := l.transport.upgrader.accepted(l.ctx, l.transport, g)
	g.leave()
	if err == nil {
		l.deliver(conn)
	}
}

func (l *listener) pause() {
	timer := time.NewTimer(acceptPause)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-l.ctx.Done():
	}
}

// deliver waits for Accept; swarm is always in it, unless it is closing.
func (l *listener) deliver(c transport.CapableConn) {
	select {
	case l.ready <- c:
	case <-l.ctx.Done():
		c.Close()
	}
}

// Multiaddr implements transport.Listener.
func (l *listener) Multiaddr() ma.Multiaddr { return l.at }

// Accept implements transport.Listener.
func (l *listener) Accept() (transport.CapableConn, error) {
	for {
		select {
		case c := <-l.ready:
			if !c.IsClosed() {
				return c, nil
			}
			c.Close() // gives its place in the counts back
		case <-l.ctx.Done():
			return nil, transport.ErrListenerClosed
		}
	}
}

// Close implements transport.Listener. It ends the handshakes under way and
// waits for them.
func (l *listener) Close() error {
	err := l.Listener.Close()
	l.cancel()
	l.wg.Wait()
	return err
}
