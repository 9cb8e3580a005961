// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package overlay_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/overlay"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// The kinds that tests send.
const (
	kindA = wire.KindRequest
	kindB = wire.KindReply
)

// node is an overlay on a memNet that records what it is told.
type node struct {
	*overlay.Overlay
	t         testing.TB
	transport *memTransport
	logs      *observer.ObservedLogs
	exec      *overlay.Workers

	mu     sync.Mutex
	events []overlay.PeerEvent
	got    []frame
	onGot  func(l *overlay.Link, f frame) // called without mu
}

type frame struct {
	from peer.ID
	kind wire.Kind
	body string
}

// newNode makes a node that is not started. Its address is "/mem/" and its id.
func newNode(t testing.TB, net *memNet, id peer.ID, change ...func(*overlay.Config)) *node {
	return newNodeAt(t, net, id, "/mem/"+string(id), change...)
}

func newNodeAt(t testing.TB, net *memNet, id peer.ID, addr string, change ...func(*overlay.Config)) *node {
	core, logs := observer.New(zapcore.InfoLevel)
	n := &node{t: t, transport: net.transport(id, addr), logs: logs, exec: overlay.NewWorkers(16)}
	cfg := overlay.Config{
		Seam: overlay.Seam{
			Transport: n.transport,
			Router:    noRouter{},
			Clock:     overlay.NewRealClock(),
			Rand:      overlay.NewRealRand(),
			Exec:      n.exec,
		},
		Logger: zap.New(core),
	}
	for _, f := range change {
		f(&cfg)
	}
	var err error
	n.Overlay, err = overlay.New(cfg)
	require.NoError(t, err)
	n.Subscribe(func(e overlay.PeerEvent) {
		n.mu.Lock()
		defer n.mu.Unlock()
		n.events = append(n.events, e)
	})
	for _, k := range []wire.Kind{kindA, kindB} {
		n.Handle(k, func(l *overlay.Link, body []byte) {
			f := frame{from: l.Peer(), kind: k, body: string(body)}
			n.mu.Lock()
			n.got = append(n.got, f)
			onGot := n.onGot
			n.mu.Unlock()
			if onGot != nil {
				onGot(l, f)
			}
		})
	}
	return n
}

// startNode makes and starts a node; the test's end closes it.
func startNode(t testing.TB, net *memNet, id peer.ID, change ...func(*overlay.Config)) *node {
	n := newNode(t, net, id, change...)
	n.start()
	return n
}

func (n *node) start() {
	require.NoError(n.t, n.Start(context.Background()))
	n.t.Cleanup(n.stop)
}

func (n *node) stop() {
	require.NoError(n.t, n.Close())
	require.NoError(n.t, n.exec.Close())
}

// between runs f in a bubble with two nodes that have started, low and high.
func between(t *testing.T, f func(t *testing.T, net *memNet, a, b *node)) {
	synctest.Test(t, func(t *testing.T) {
		net := newMemNet()
		f(t, net, startNode(t, net, low), startNode(t, net, high))
	})
}

// linked is between for nodes that have a link; l is a's end of it.
func linked(t *testing.T, f func(t *testing.T, a, b *node, l *overlay.Link)) {
	between(t, func(t *testing.T, _ *memNet, a, b *node) {
		l := a.wait(high)
		synctest.Wait()
		f(t, a, b, l)
	})
}

// facing runs f in a bubble with a node, low, and a peer that is played by hand, high.
func facing(t *testing.T, f func(t *testing.T, a *node, r *raw)) {
	synctest.Test(t, func(t *testing.T) {
		net := newMemNet()
		f(t, startNode(t, net, low), newRaw(t, net, high))
	})
}

// wait establishes the link to p and returns it.
func (n *node) wait(p peer.ID) *overlay.Link {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	l := n.Link(p)
	s, err := l.Wait(ctx, nil)
	require.NoError(n.t, err)
	require.NotZero(n.t, s)
	return l
}

// send sends one small frame.
func (n *node) send(p peer.ID, body string) uint64 {
	r, err := n.Link(p).Send(overlay.LaneRPC, kindA, []byte(body))
	require.NoError(n.t, err)
	return r.Session
}

// bodies lists what was received, in order.
func (n *node) bodies() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	var all []string
	for _, f := range n.got {
		all = append(all, f.body)
	}
	return all
}

// types lists the events about p, in order.
func (n *node) types(p peer.ID) []overlay.PeerEventType {
	var all []overlay.PeerEventType
	for _, e := range n.eventsOf(p) {
		all = append(all, e.Type)
	}
	return all
}

func (n *node) eventsOf(p peer.ID) []overlay.PeerEvent {
	n.mu.Lock()
	defer n.mu.Unlock()
	var all []overlay.PeerEvent
	for _, e := range n.events {
		if e.Peer == p {
			all = append(all, e)
		}
	}
	return all
}

// last returns the latest event about p.
func (n *node) last(p peer.ID) overlay.PeerEvent {
	all := n.eventsOf(p)
	require.NotEmpty(n.t, all)
	return all[len(all)-1]
}

// errors lists the messages logged at level error.
func (n *node) errors() []string {
	var all []string
	for _, e := range n.logs.FilterLevelExact(zapcore.ErrorLevel).All() {
		all = append(all, e.Message)
	}
	return all
}

type noRouter struct{}

func (noRouter) Nearest(overlay.Key, int) []peer.ID { return nil }

func (noRouter) Closest(context.Context, overlay.Key, int) ([]peer.ID, error) { return nil, nil }

func (noRouter) Size() int { return 0 }

func (noRouter) OnChange(func()) {}
