// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package p2p_test

import (
	"context"
	"io"
	"sync"
	"testing"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/overlay"
	"github.com/arke-mesh/arke/overlay/p2p"
	"github.com/arke-mesh/arke/security"
)

// waitLimit bounds every wait for something that should come at once: a machine
// that is busy may take thirty times as long, and only a hang takes for ever.
const waitLimit = 2 * time.Minute

// node is a host with a handler that records what it is told.
type node struct {
	*p2p.Host
	t       testing.TB
	events  chan event
	streams chan overlay.Stream

	// Guarded by mu.
	mu   sync.Mutex
	busy map[peer.ID]bool
}

type event struct {
	up   bool
	peer peer.ID
}

// HandleStream implements overlay.TransportHandler.
func (n *node) HandleStream(s overlay.Stream) {
	defer n.alone(s.Remote())()
	n.streams <- s
}

// PeerUp implements overlay.TransportHandler.
func (n *node) PeerUp(p peer.ID) {
	defer n.alone(p)()
	n.events <- event{true, p}
}

// PeerDown implements overlay.TransportHandler.
func (n *node) PeerDown(p peer.ID) {
	defer n.alone(p)()
	n.events <- event{false, p}
}

// Certificate implements overlay.TransportHandler.
func (n *node) Certificate() []byte { return nil }

// Routes implements overlay.TransportHandler.
func (n *node) Routes(peer.ID, []byte) bool { return true }

// alone fails the test when two calls for one peer overlap.
func (n *node) alone(p peer.ID) func() {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.busy[p] {
		n.t.Error("two calls for one peer at a time")
	}
	n.busy[p] = true
	return func() {
		n.mu.Lock()
		defer n.mu.Unlock()
		delete(n.busy, p)
	}
}

// want waits for the next event and checks that it is the expected one.
func (n *node) want(up bool, p peer.ID) {
	n.t.Helper()
	select {
	case e := <-n.events:
		require.Equal(n.t, event{up, p}, e)
	case <-time.After(waitLimit):
		require.FailNow(n.t, "no event", "up %v, peer %v", up, p)
	}
}

// quiet checks that nothing is reported for a while.
func (n *node) quiet() {
	n.t.Helper()
	select {
	case e := <-n.events:
		require.FailNow(n.t, "unexpected event", "%+v", e)
	case <-time.After(200 * time.Millisecond):
	}
}

func (n *node) accept() overlay.Stream {
	n.t.Helper()
	select {
	case s := <-n.streams:
		return s
	case <-time.After(waitLimit):
		require.FailNow(n.t, "no stream")
		panic("unreachable")
	}
}

func (n *node) candidate() overlay.Candidate {
	return overlay.Candidate{Peer: n.Self(), Addrs: n.Addrs(), Source: overlay.SourceSeed}
}

// start runs a host on a free port of the IPv4 loopback, unless change says
// otherwise.
func start(t testing.TB, network *security.Network, change ...func(*p2p.Config)) *node {
	t.Helper()
	n := prepare(t, network, change...)
	require.NoError(t, n.Start(n))
	return n
}

// two starts two nodes of one network; change is for the first one.
func two(t testing.TB, change ...func(*p2p.Config)) (a, b *node) {
	t.Helper()
	network := p2p.NewNetwork(t)
	return start(t, network, change...), start(t, network)
}

// prepare makes what start starts.
func prepare(t testing.TB, network *security.Network, change ...func(*p2p.Config)) *node {
	t.Helper()
	return &node{
		Host: p2p.NewHost(t, network, change...), t: t, busy: make(map[peer.ID]bool),
		events: make(chan event, 1000), streams: make(chan overlay.Stream, 1000),
	}
}

// listen has a host listen somewhere else.
func listen(addrs ...string) func(*p2p.Config) {
	return func(c *p2p.Config) { c.Listen = addrs }
}

// patient has a host wait for its peers as long as the test does: where everything
// takes long no time of its own ends what the test is about.
func patient(c *p2p.Config) {
	c.DialTimeout, c.HandshakeTimeout, c.DrainTime = waitLimit, waitLimit, waitLimit
}

func within(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), waitLimit)
	t.Cleanup(cancel)
	return ctx
}

// connect joins a to b and waits until both know.
func connect(t testing.TB, a, b *node) {
	t.Helper()
	p, err := a.Connect(within(t), b.candidate())
	require.NoError(t, err)
	require.Equal(t, b.Self(), p)
	a.want(true, b.Self())
	b.want(true, a.Self())
}

// pair opens a stream from a to b at addrs, or at b's own; the first byte has
// crossed it.
func pair(t testing.TB, a, b *node, addrs ...string) (from, to overlay.Stream) {
	t.Helper()
	if len(addrs) == 0 {
		addrs = b.Addrs()
	}
	from, err := a.Open(within(t), b.Self(), addrs)
	require.NoError(t, err)
	_, err = from.Write([]byte{1})
	require.NoError(t, err)
	to = b.accept()
	_, err = io.ReadFull(to, make([]byte, 1))
	require.NoError(t, err)
	return from, to
}
