// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package node_test

import (
	"context"
	"crypto/rand"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/internal/node"
	"github.com/arke-mesh/arke/overlay"
	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/security"
)

// patience is how long a test waits for one thing before it says that it hangs.
// No promise is about it: on a busy machine everything may take long.
const patience = time.Minute

// newNetwork returns a network of its own for a test.
func newNetwork(t testing.TB) security.NetworkFile {
	t.Helper()
	f, err := security.GenerateNetworkFile("test", rand.Reader)
	require.NoError(t, err)
	return f
}

// start starts a node on loopback whose seeds are the other nodes.
func start(t testing.TB, network security.NetworkFile, change func(*node.Config), seeds ...*node.Node) *node.Node {
	t.Helper()
	cfg := node.Config{Network: network, Listen: []string{"/ip4/127.0.0.1/tcp/0"}, NoMDNS: true}
	for _, s := range seeds {
		cfg.Seeds = append(cfg.Seeds, s.Addrs()[0]+"/p2p/"+s.Self().String())
	}
	if change != nil {
		change(&cfg)
	}
	n, err := node.New(cfg)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, n.Close()) })
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	require.NoError(t, n.Start(ctx))
	return n
}

// echo answers with what was asked.
var echo = patterns.HandlerFunc(func(_ context.Context, r *patterns.Request) (patterns.Message, error) {
	return patterns.Message{Headers: r.Headers, Body: r.Body}, nil
})

// serve registers a member.
func serve(t testing.TB, n *node.Node, cluster string, h patterns.Handler, l patterns.Limits) patterns.Registration {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	r, err := n.Serve(ctx, cluster, h, l)
	require.NoError(t, err)
	return r
}

// echoTunnel sends back what it receives.
func echoTunnel(ctx context.Context, s patterns.Tunnel) error {
	for {
		m, err := s.Receive(ctx)
		if err != nil {
			return nil
		}
		if err := s.Send(ctx, m); err != nil {
			return err
		}
	}
}

// exchange has a caller send requests to a cluster, which may not be repeated, and chunks
// through a tunnel, until ctx ends. Each comes back as it was sent, and is counted.
func exchange(ctx context.Context, t *testing.T, wg *sync.WaitGroup, caller *node.Node, cluster string, requests, chunks *atomic.Int64) {
	t.Helper()
	tunnel, err := caller.OpenTunnel(t.Context(), cluster, patterns.Message{})
	require.NoError(t, err)
	repeat := func(count *atomic.Int64, send func(body []byte) ([]byte, error)) {
		for n := 0; ctx.Err() == nil; n++ {
			body := fmt.Sprint(n)
			back, err := send([]byte(body))
			if count.Add(1); err != nil || string(back) != body {
				t.Errorf("to %s: %q, %v, want %s", cluster, back, err, body)
				return
			}
			time.Sleep(2 * time.Millisecond)
		}
	}
	wg.Go(func() {
		repeat(requests, func(body []byte) ([]byte, error) {
			asked, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			defer cancel()
			m, err := caller.Request(asked, cluster, patterns.Message{Body: body})
			return m.Body, err
		})
	})
	wg.Go(func() {
		defer tunnel.Close()
		repeat(chunks, func(body []byte) ([]byte, error) {
			if err := tunnel.Send(t.Context(), body); err != nil {
				return nil, err
			}
			return tunnel.Receive(t.Context())
		})
	})
}

// give has nodes go by another file of the network.
func give(t testing.TB, f security.NetworkFile, nodes ...*node.Node) {
	t.Helper()
	for _, n := range nodes {
		require.NoError(t, n.SetKeys(node.Keys{Network: f}))
	}
}

// banning returns a file that bans these, and nobody else.
func banning(f security.NetworkFile, who ...peer.ID) security.NetworkFile {
	f.Bans = who
	return f
}

// wrapped is a Transport whose streams, those that come and those that go, are others.
type wrapped struct {
	overlay.Transport
	wrap func(overlay.Stream) overlay.Stream
}

func (w wrapped) Start(h overlay.TransportHandler) error {
	return w.Transport.Start(wrappedDoor{h, w.wrap})
}

func (w wrapped) Open(ctx context.Context, p peer.ID, addrs []string) (overlay.Stream, error) {
	s, err := w.Transport.Open(ctx, p, addrs)
	if err != nil {
		return nil, err
	}
	return w.wrap(s), nil
}

type wrappedDoor struct {
	overlay.TransportHandler
	wrap func(overlay.Stream) overlay.Stream
}

func (d wrappedDoor) HandleStream(s overlay.Stream) { d.TransportHandler.HandleStream(d.wrap(s)) }

// until waits for something to become true.
func until(t testing.TB, f func() bool) {
	t.Helper()
	require.Eventually(t, f, patience, 2*time.Millisecond)
}

// after waits until a counter has grown by so much.
func after(t testing.TB, n int64, c *atomic.Int64) {
	t.Helper()
	from := c.Load()
	until(t, func() bool { return c.Load() >= from+n })
}
