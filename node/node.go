// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package node

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"

	"github.com/libp2p/go-libp2p/core/peer"

	"github.com/arke-mesh/arke/cluster"
	"github.com/arke-mesh/arke/overlay"
	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/patterns/broadcast"
	"github.com/arke-mesh/arke/patterns/pubsub"
	"github.com/arke-mesh/arke/patterns/push"
	"github.com/arke-mesh/arke/patterns/request"
	"github.com/arke-mesh/arke/patterns/survey"
	"github.com/arke-mesh/arke/patterns/tunnel"
	"github.com/arke-mesh/arke/security"
)

// Node is one participant of the network. All methods may be called
// concurrently.
type Node struct {
	// Immutable after New.
	cfg         Config
	incarnation uint64
	state       state
	outside     outside
	overlay     *overlay.Overlay
	clusters    *cluster.Clusters
	requests    *request.Engine
	surveys     *survey.Engine
	pushes      *push.Engine
	broadcasts  *broadcast.Engine
	topics      *pubsub.Engine
	tunnels     *tunnel.Engine
	ids         overlay.RandStream // of members

	phase atomic.Uint32 // of the node's life

	mu            sync.Mutex
	registrations map[cluster.MemberID]*registration // guarded by mu

	// Lifecycle.
	closeOnce sync.Once
	closeErr  error
}

var _ patterns.Messenger = (*Node)(nil)

// Phases of a node's life, in their order.
const (
	phaseNew uint32 = iota
	phaseRunning
	phaseDraining
	phaseClosed
)

// New checks cfg, and opens the data directory: the node needs its key and its
// incarnation. It starts nothing. Close the node, even if it is never started.
func New(cfg Config) (*Node, error) {
	cfg = cfg.withDefaults()
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	network, err := security.NewNetwork(cfg.Network)
	if err != nil {
		return nil, err
	}
	s, err := openState(cfg.DataDir)
	if err != nil {
		return nil, err
	}
	n := &Node{cfg: cfg, state: s, registrations: make(map[cluster.MemberID]*registration)}
	if err := n.assemble(network); err != nil {
		return nil, errors.Join(err, s.close())
	}
	return n, nil
}

// assemble makes the layers, from the bottom up. The clusters come before the
// requests, so that they hear of a lost link first.
func (n *Node) assemble(network *security.Network) (err error) {
	if n.outside, err = newOutside(n.cfg, network, n.state); err != nil {
		return err
	}
	if n.incarnation, err = n.incarnate(); err != nil {
		return err
	}
	keys := newKeyring(network, n.cfg.ClusterKeys)
	n.ids = n.outside.Rand.Stream("node.members")
	if n.overlay, err = overlay.New(n.overlayConfig()); err != nil {
		return err
	}
	if n.clusters, err = cluster.New(n.clusterConfig(keys)); err != nil {
		return err
	}
	if n.tunnels, err = tunnel.New(n.tunnelConfig(keys)); err != nil {
		return err
	}
	if n.requests, err = request.New(n.requestConfig(keys)); err != nil {
		return err
	}
	if n.topics, err = pubsub.New(n.topicsConfig(keys)); err != nil {
		return err
	}
	return n.assembleMany()
}

// Start begins to listen and to look for the network; ctx bounds only Start
// itself. A node that could not start must still be closed.
func (n *Node) Start(ctx context.Context) error {
	if n.phase.Load() != phaseNew {
		return errors.New("node: started twice, or closed")
	}
	if err := n.clusters.Start(); err != nil {
		return err
	}
	if err := n.overlay.Start(ctx); err != nil {
		return err
	}
	if err := n.outside.discover(n.overlay.AddCandidate); err != nil {
		return err
	}
	n.phase.CompareAndSwap(phaseNew, phaseRunning)
	return nil
}

// Self is the node's peer id.
func (n *Node) Self() peer.ID { return n.overlay.Self() }

// Addrs are the multiaddrs, without /p2p, that others reach the node at. The
// caller owns the slice.
func (n *Node) Addrs() []string { return n.overlay.Addrs() }

// Shutdown implements patterns.Messenger. The package documentation has its
// steps; if ctx ends, what is left of them is cut short, and ctx's error is
// returned. A second call, and one after Close, only closes.
func (n *Node) Shutdown(ctx context.Context) error {
	if !n.phase.CompareAndSwap(phaseRunning, phaseDraining) {
		return n.Close()
	}
	for _, r := range n.allRegistrations() {
		n.clusters.Unregister(r.cluster, r.member)
	}
	return errors.Join(
		n.topics.Drain(ctx), n.requests.Drain(ctx), n.tunnels.Drain(ctx), n.overlay.Shutdown(ctx), n.Close(),
	)
}

// Close implements patterns.Messenger.
func (n *Node) Close() error {
	n.closeOnce.Do(func() {
		n.phase.Store(phaseClosed)
		n.tunnels.Stop() // handlers of requests may wait for one, and those of tunnels for a request
		n.closeErr = errors.Join(
			n.topics.Close(), n.requests.Close(), n.tunnels.Close(), n.clusters.Close(), n.overlay.Close(), n.outside.close(), n.state.close(),
		)
	})
	return n.closeErr
}

// running returns why the node can't be used, if so.
func (n *Node) running() error {
	switch n.phase.Load() {
	case phaseNew:
		return ErrNotStarted
	case phaseClosed:
		return patterns.ErrClosed
	}
	return nil
}
