// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package tcp_test

import (
	"context"
	"io"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/cmd/arke/internal/fake"
	"github.com/arke-mesh/arke/cmd/arke/internal/tcp"
	"github.com/arke-mesh/arke/patterns"
)

// network is a Messenger as far as an Exposer and a Forwarder need one: it
// opens tunnels to the member that was registered last.
type network struct {
	mu sync.Mutex
	// Guarded by mu.
	member     *registration
	registered int

	tunnels sync.WaitGroup
}

type registration struct {
	net     *network
	service patterns.Service
}

func (n *network) Serve(_ context.Context, _ string, h patterns.Handler, _ patterns.Limits) (patterns.Registration, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.member = &registration{n, patterns.ServiceOf(h)}
	n.registered++
	return n.member, nil
}

func (r *registration) Member() string { return "member" }

func (r *registration) Close(context.Context) error {
	r.net.mu.Lock()
	defer r.net.mu.Unlock()
	if r.net.member == r {
		r.net.member = nil
	}
	return nil
}

func (n *network) OpenTunnel(_ context.Context, cluster string, _ patterns.Message, _ ...patterns.RequestOption) (patterns.Tunnel, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.member == nil || cluster != "db" {
		return nil, patterns.ErrNoMembers
	}
	serve := n.member.service.Tunnel
	caller, member := fake.Pair(64 << 10)
	n.tunnels.Go(func() {
		if err := serve(context.Background(), member); err != nil {
			_ = member.Reset(patterns.CodeUnknown, err.Error())
			return
		}
		_ = member.Close()
	})
	return caller, nil
}

func (n *network) members() (now, ever int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.member != nil {
		now = 1
	}
	return now, n.registered
}

// forwards starts a forwarder to the cluster and returns its address.
func forwards(t *testing.T, n *network, cluster string) string {
	t.Helper()
	l := listen(t, anyPort)
	f := tcp.NewForwarder(tcp.ForwardConfig{Listener: l, Cluster: cluster, Opener: n})
	ctx, stop := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- f.Serve(ctx) }()
	t.Cleanup(func() {
		stop()
		require.NoError(t, <-served)
		_ = f.Shutdown(ctx) // which has ended: all that is left is cut off
		n.tunnels.Wait()
	})
	return l.Addr().String()
}

// exposes makes the address a member and returns how often it was ready.
func exposes(t *testing.T, n *network, target string) *atomic.Int64 {
	t.Helper()
	var ready atomic.Int64
	e := tcp.NewExposer(tcp.ExposeConfig{
		Cluster: "db", Target: target, Server: n,
		Pause: 5 * time.Millisecond, Ready: func() { ready.Add(1) },
	})
	ctx, stop := context.WithCancel(context.Background())
	ran := make(chan error, 1)
	go func() { ran <- e.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		require.NoError(t, <-ran)
		e.Close()
	})
	return &ready
}

// echoes serves TCP connections on addr, and sends back what comes.
func echoes(t *testing.T, addr string) (at string, stop func()) {
	t.Helper()
	l := listen(t, addr)
	var work sync.WaitGroup
	work.Go(func() {
		for {
			conn, err := l.AcceptTCP()
			if err != nil {
				return
			}
			work.Go(func() {
				defer conn.Close()
				_, _ = io.Copy(conn, conn)
			})
		}
	})
	var once sync.Once
	stop = func() { once.Do(func() { _ = l.Close() }) }
	t.Cleanup(func() { stop(); work.Wait() })
	return l.Addr().String(), stop
}

func TestPortLeadsToTheService(t *testing.T) {
	// This test checks the whole way with many connections at once.
	n := &network{}
	service, _ := echoes(t, anyPort)
	ready := exposes(t, n, service)
	soon(t, "ready", func() bool { return ready.Load() == 1 })
	port := forwards(t, n, "db")
	var clients sync.WaitGroup
	for range 50 {
		conn := dial(t, port)
		clients.Go(func() {
			for range 20 {
				if _, err := io.WriteString(conn, "hello"); err != nil {
					t.Error(err)
					return
				}
				got := make([]byte, 5)
				if _, err := io.ReadFull(conn, got); err != nil || string(got) != "hello" {
					t.Errorf("%q, %v", got, err)
					return
				}
			}
			_ = conn.CloseWrite()
			if rest, err := io.ReadAll(conn); err != nil || len(rest) > 0 {
				t.Errorf("%q, %v", rest, err)
			}
		})
	}
	clients.Wait()
}

func TestConnectionWithoutMemberIsReset(t *testing.T) {
	// This test checks that nobody waits for a cluster that nobody serves.
	refused(t, forwards(t, &network{}, "nobody"))
}

func TestServiceThatIsGoneLeavesTheCluster(t *testing.T) {
	// This test checks that the member waits for its service, leaves when a
	// connection to it fails, and comes back with it.
	n := &network{}
	l := listen(t, "127.0.77.4:0") // elsewhere somebody might take the port meanwhile
	target := l.Addr().String()
	require.NoError(t, l.Close())
	ready := exposes(t, n, target)
	<-time.After(50 * time.Millisecond)
	require.Zero(t, ready.Load())

	_, stop := echoes(t, target)
	soon(t, "ready", func() bool { return ready.Load() == 1 })
	port := forwards(t, n, "db")
	old := dial(t, port)
	writes(t, old, "one")
	reads(t, old, "one")

	stop()
	refused(t, port)
	soon(t, "it leaves", func() bool { now, _ := n.members(); return now == 0 })
	writes(t, old, "two")
	reads(t, old, "two")

	echoes(t, target)
	soon(t, "it is back", func() bool { now, ever := n.members(); return now == 1 && ever == 2 })
	again := dial(t, port)
	writes(t, again, "three")
	reads(t, again, "three")
}

func TestShutdownWaitsForConnectionsAndThenCutsThemOff(t *testing.T) {
	// This test checks that a connection under way may end by itself, and that
	// one that does not is cut off when the time is over.
	n := &network{}
	service, _ := echoes(t, anyPort)
	exposes(t, n, service)
	soon(t, "a member", func() bool { now, _ := n.members(); return now == 1 })
	l := listen(t, anyPort)
	f := tcp.NewForwarder(tcp.ForwardConfig{Listener: l, Cluster: "db", Opener: n})
	ctx, stop := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- f.Serve(ctx) }()
	polite, stubborn := dial(t, l.Addr().String()), dial(t, l.Addr().String())
	for _, conn := range []io.ReadWriter{polite, stubborn} {
		_, _ = io.WriteString(conn, "x")
		_, err := io.ReadFull(conn, make([]byte, 1))
		require.NoError(t, err)
	}
	stop()
	require.NoError(t, <-served)
	grace, cut := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- f.Shutdown(grace) }()

	writes(t, polite, "last words")
	reads(t, polite, "last words")
	require.NoError(t, polite.CloseWrite())
	_, err := io.ReadAll(polite)
	require.NoError(t, err)
	select {
	case <-ended:
		t.Fatal("it did not wait for the other one")
	default:
	}
	cut()
	require.ErrorIs(t, <-ended, context.Canceled)
	_, err = stubborn.Read(make([]byte, 1))
	require.ErrorIs(t, err, syscall.ECONNRESET)
	n.tunnels.Wait()
}
