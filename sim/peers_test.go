// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package sim_test

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/overlay"
	"github.com/arke-mesh/arke/sim"
)

// actor is the simplest thing above a seam: it keeps what the transport tells
// it, and hands incoming streams to accept.
type actor struct {
	name string
	overlay.Seam

	streams chan overlay.Stream

	mu     sync.Mutex
	events []string // guarded by mu
}

func (a *actor) HandleStream(s overlay.Stream) { a.streams <- s }
func (a *actor) PeerUp(peer.ID)                { a.note("up") }
func (a *actor) PeerDown(peer.ID)              { a.note("down") }

func (a *actor) note(what string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.events = append(a.events, what)
}

func (a *actor) seen() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.events)
}

// start starts an actor, or the next incarnation of one.
func start(t *testing.T, n *sim.Network, name string) *actor {
	a := &actor{name: name, Seam: n.Seam(name), streams: make(chan overlay.Stream, 1024)}
	require.NoError(t, a.Transport.Start(a))
	t.Cleanup(func() { require.NoError(t, a.Transport.Close()) })
	return a
}

// candidate says how to reach a.
func (a *actor) candidate() overlay.Candidate {
	return overlay.Candidate{Peer: a.Transport.Self(), Addrs: a.Transport.Addrs()}
}

func (a *actor) connect(b *actor) error {
	_, err := a.Transport.Connect(context.Background(), b.candidate())
	return err
}

// open opens a stream from a to b and returns both ends.
func open(t *testing.T, a, b *actor) (here, there overlay.Stream) {
	here, err := a.Transport.Open(context.Background(), b.Transport.Self(), b.Transport.Addrs())
	require.NoError(t, err)
	return here, <-b.streams
}

// two starts two connected actors with a stream between them.
func two(t *testing.T, n *sim.Network) (a, b *actor, here, there overlay.Stream) {
	a, b = start(t, n, "a"), start(t, n, "b")
	here, there = open(t, a, b)
	return a, b, here, there
}

// lines is a recorded trace as text.
func lines(t *testing.T, trace *sim.Trace) string {
	var b strings.Builder
	require.NoError(t, trace.Write(&b))
	return b.String()
}
