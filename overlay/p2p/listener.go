// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package p2p

import (
	"context"
	"errors"
	"net"
	"sync"
	"time"

	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/core/transport"
	manet "github.com/multiformats/go-multiaddr/net"
)

// acceptPause is how long a listener rests after an error that passes, such
// as too many open files.
const acceptPause = 20 * time.Millisecond

// GateMaListener implements transport.Upgrader. Nothing is counted yet: see admit.
func (u *upgrader) GateMaListener(l manet.Listener) transport.GatedMaListener {
	return plainListener{l}
}

// UpgradeListener implements transport.Upgrader.
func (u *upgrader) UpgradeListener(t transport.Transport, l manet.Listener) transport.Listener {
	return u.UpgradeGatedMaListener(t, u.GateMaListener(l))
}

// UpgradeGatedMaListener implements transport.Upgrader. It takes over l and
// begins to accept.
func (u *upgrader) UpgradeGatedMaListener(t transport.Transport, l transport.GatedMaListener) transport.Listener {
	ctx, cancel := context.WithCancel(context.Background())
	x := &listener{
		GatedMaListener: l,
		upgrader:        u,
		transport:       t,
		ready:           make(chan transport.CapableConn),
		ctx:             ctx,
		cancel:          cancel,
	}
	x.wg.Go(x.loop)
	return x
}

// plainListener counts nothing.
type plainListener struct{ manet.Listener }

// Accept implements transport.GatedMaListener.
func (l plainListener) Accept() (manet.Conn, network.ConnManagementScope, error) {
	c, err := l.Listener.Accept()
	return c, nil, err
}

// listener takes what it accepts through the door, each connection on a goroutine of
// its own, and hands over those that were admitted.
type listener struct {
	transport.GatedMaListener
	upgrader  *upgrader
	transport transport.Transport
	ready     chan transport.CapableConn

	// Lifecycle. ctx ends with Close.
	ctx    context.Context
	cancel context.CancelFunc
	wg     sync.WaitGroup
}

var _ transport.Listener = (*listener)(nil)

func (l *listener) loop() {
	defer l.cancel()
	for {
		c, _, err := l.GatedMaListener.Accept()
		if err != nil {
			if l.ctx.Err() != nil || errors.Is(err, net.ErrClosed) {
				return
			}
			l.pause()
			continue
		}
		g := l.upgrader.door.enter(c)
		if g == nil {
			c.Close()
			continue
		}
		l.wg.Go(func() { l.receive(c, g) })
	}
}

// receive has a connection admitted.
func (l *listener) receive(c manet.Conn, g *guest) {
	conn, err := l.upgrader.admit(l.ctx, l.transport, c, g)
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
	err := l.GatedMaListener.Close()
	l.cancel()
	l.wg.Wait()
	return err
}
