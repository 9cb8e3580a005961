// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package p2p_test

import (
	"io"
	"net"
	"sync"
	"testing"

	ma "github.com/multiformats/go-multiaddr"
	manet "github.com/multiformats/go-multiaddr/net"
	"github.com/stretchr/testify/require"
)

// gate forwards TCP connections, and can stop doing so for a while: to both
// ends the other one seems to hang.
type gate struct {
	addr string // where it listens, as a multiaddr
	l    net.Listener

	// Guarded by mu.
	mu     sync.Mutex
	to     string
	opened *sync.Cond
	paused bool
	closed bool
	conns  []net.Conn

	wg sync.WaitGroup
}

// newGate returns a gate to a multiaddr.
func newGate(t testing.TB, to string) *gate {
	t.Helper()
	target, err := manet.ToNetAddr(ma.StringCast(to))
	require.NoError(t, err)
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	require.NoError(t, err)
	addr, err := manet.FromNetAddr(l.Addr())
	require.NoError(t, err)
	g := &gate{addr: addr.String(), l: l, to: target.String()}
	g.opened = sync.NewCond(&g.mu)
	g.wg.Go(g.accept)
	t.Cleanup(g.close)
	return g
}

// lead has the next connections lead to another multiaddr.
func (g *gate) lead(to string) {
	target, _ := manet.ToNetAddr(ma.StringCast(to))
	g.mu.Lock()
	defer g.mu.Unlock()
	g.to = target.String()
}

func (g *gate) accept() {
	for {
		a, err := g.l.Accept()
		if err != nil {
			return
		}
		g.mu.Lock()
		to := g.to
		g.mu.Unlock()
		b, err := net.Dial("tcp", to)
		if err != nil {
			a.Close()
			continue
		}
		g.mu.Lock()
		g.conns = append(g.conns, a, b)
		g.mu.Unlock()
		g.wg.Go(func() { g.copy(a, b) })
		g.wg.Go(func() { g.copy(b, a) })
	}
}

func (g *gate) copy(to, from net.Conn) {
	defer to.Close()
	defer from.Close()
	buf := make([]byte, 16<<10)
	for {
		n, err := from.Read(buf)
		g.mu.Lock()
		for g.paused && !g.closed {
			g.opened.Wait()
		}
		g.mu.Unlock()
		if _, werr := to.Write(buf[:n]); werr != nil || err != nil && err != io.EOF {
			return
		}
		if err == io.EOF {
			_ = to.(*net.TCPConn).CloseWrite()
			return
		}
	}
}

func (g *gate) pause() { g.set(true) }

func (g *gate) resume() { g.set(false) }

func (g *gate) set(paused bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.paused = paused
	g.opened.Broadcast()
}

// cut ends all connections.
func (g *gate) cut() {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, c := range g.conns {
		c.Close()
	}
	g.conns = nil
}

func (g *gate) close() {
	g.l.Close()
	g.mu.Lock()
	g.closed = true
	g.opened.Broadcast()
	g.mu.Unlock()
	g.cut()
	g.wg.Wait()
}
