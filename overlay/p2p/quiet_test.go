// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package p2p_test

import (
	"io"
	"net"
	"sync"
	"testing"
	"time"

	ma "github.com/multiformats/go-multiaddr"
	manet "github.com/multiformats/go-multiaddr/net"
	"github.com/stretchr/testify/require"
)

// valve passes bytes between whoever connects to it and one address, until it
// is shut: then nothing moves, and nothing breaks, as in a partition.
type valve struct {
	l  net.Listener
	to string

	mu    sync.Mutex
	shut  bool       // guarded by mu
	conns []net.Conn // guarded by mu
	wg    sync.WaitGroup
}

func newValve(t *testing.T, to string) *valve {
	_, where, err := manet.DialArgs(ma.StringCast(to))
	require.NoError(t, err)
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	require.NoError(t, err)
	v := &valve{l: l, to: where}
	v.wg.Go(v.accept)
	t.Cleanup(func() {
		l.Close()
		v.mu.Lock()
		for _, c := range v.conns {
			c.Close()
		}
		v.mu.Unlock()
		v.wg.Wait()
	})
	return v
}

func (v *valve) accept() {
	for {
		a, err := v.l.Accept()
		if err != nil {
			return
		}
		b, err := net.Dial("tcp4", v.to)
		if err != nil {
			a.Close()
			continue
		}
		v.mu.Lock()
		v.conns = append(v.conns, a, b)
		v.mu.Unlock()
		v.wg.Go(func() { v.pass(a, b) })
		v.wg.Go(func() { v.pass(b, a) })
	}
}

func (v *valve) pass(from, to net.Conn) {
	b := make([]byte, 64<<10)
	for {
		n, err := from.Read(b)
		v.mu.Lock()
		shut := v.shut
		v.mu.Unlock()
		if shut {
			_, _ = io.Copy(io.Discard, from)
			return
		}
		if err != nil {
			to.Close()
			return
		}
		_, _ = to.Write(b[:n])
	}
}

func (v *valve) close() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.shut = true
}

// This test checks that a connection on which nothing comes back any more, as
// after a partition, is replaced when somebody wants the peer, although neither
// TCP nor the multiplexer has noticed.
func TestAQuietConnectionMustShowThatItWorks(t *testing.T) {
	network := newNetwork(t)
	a, b := start(t, network), start(t, network)
	v := newValve(t, b.Addrs()[0])
	through := b.candidate()
	through.Addrs = []string{v.l.Addr().String()}
	_, err := a.Connect(within(t), through)
	require.NoError(t, err)
	a.want(true, b.Self())
	b.want(true, a.Self())

	time.Sleep(2500 * time.Millisecond)
	_, err = a.Connect(within(t), through)
	require.NoError(t, err)
	require.Zero(t, a.Counters()["conn_stale"], "it answers")

	v.close()
	time.Sleep(2500 * time.Millisecond)
	begun := time.Now()
	defer func() { t.Log(a.Counters(), b.Counters()) }()
	pair(t, a, b)
	require.Less(t, time.Since(begun), 10*time.Second)
	require.NotZero(t, a.Counters()["conn_stale"])
}
