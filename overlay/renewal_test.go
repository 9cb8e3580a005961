// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package overlay_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/overlay"
)

// renewable is a transport whose connections are all admitted by an old key, until
// they were replaced once.
type renewable struct {
	*memTransport

	mu      sync.Mutex
	settled map[peer.ID]bool // whether the connection was replaced
}

// newRenewable makes and starts a node with such a transport.
func newRenewable(t *testing.T, net *memNet, id peer.ID) (n *node, r *renewable) {
	n = startNode(t, net, id, func(c *overlay.Config) {
		r = &renewable{memTransport: c.Seam.Transport.(*memTransport), settled: make(map[peer.ID]bool)}
		c.Seam.Transport = r
	})
	return n, r
}

func (r *renewable) Retire(p peer.ID) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return !r.settled[p]
}

func (r *renewable) Settle(p peer.ID, replaced bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.settled[p] = replaced
}

func (r *renewable) done(p peer.ID) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.settled[p]
}

func TestAConnectionIsReplacedWhileItCarriesMessages(t *testing.T) {
	// This test renews the connections of two nodes while both send: each message
	// arrives once and in order, in one session, and nobody is ever suspect.
	net := newMemNet()
	a, transport := newRenewable(t, net, "a")
	b, _ := newRenewable(t, net, "b")
	a.wait("b")
	b.wait("a")
	session := a.Link("b").Session()
	a.Renew()
	sent := 0
	require.Eventually(t, func() bool {
		a.send("b", fmt.Sprint(sent))
		b.send("a", fmt.Sprint(sent))
		sent++
		return transport.done("b")
	}, 30*time.Second, time.Millisecond)
	for range 100 {
		a.send("b", fmt.Sprint(sent))
		b.send("a", fmt.Sprint(sent))
		sent++
	}
	for _, n := range []*node{a, b} {
		require.Eventually(t, func() bool { return len(n.bodies()) >= sent }, 30*time.Second, time.Millisecond)
		for i, body := range n.bodies() {
			require.Equal(t, fmt.Sprint(i), body)
		}
	}
	require.Equal(t, session, a.Link("b").Session())
	require.Equal(t, []overlay.PeerEventType{overlay.LinkUp}, a.types("b"))
	require.Equal(t, []overlay.PeerEventType{overlay.LinkUp}, b.types("a"))
	require.Len(t, transport.open(), 1, "the old connection carries nothing")
}

func TestAConnectionThatCantBeReplacedStays(t *testing.T) {
	// This test renews while the peer can't be dialled: what stands goes on.
	net := newMemNet()
	a, transport := newRenewable(t, net, "a")
	b := startNode(t, net, "b")
	b.wait("a")
	a.wait("b")
	back := b.transport.vanish()
	a.Renew()
	tried := func() bool {
		transport.mu.Lock()
		defer transport.mu.Unlock()
		_, tried := transport.settled["b"]
		return tried
	}
	require.Eventually(t, tried, 30*time.Second, time.Millisecond)
	require.False(t, transport.done("b"))
	back()
	a.send("b", "x")
	require.Eventually(t, func() bool { return len(b.bodies()) == 1 }, 30*time.Second, time.Millisecond)
	require.NotContains(t, a.types("b"), overlay.LinkDown)
}
