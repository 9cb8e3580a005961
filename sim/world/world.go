// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package world

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"go.uber.org/zap"

	"github.com/arke-mesh/arke/node"
	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/security"
	"github.com/arke-mesh/arke/sim"
	"github.com/arke-mesh/arke/sim/link"
	"github.com/arke-mesh/arke/sim/play"
	"github.com/arke-mesh/arke/sim/scenario"
)

// World is a simulated network and the nodes on it. Methods may be called
// concurrently, inside the bubble.
type World struct {
	// Immutable after New.
	n   *sim.Network
	cfg Config
	t   *testing.T // of Run; nil when a player made it

	mu      sync.Mutex
	nodes   map[string]*participant      // guarded by mu; by name, the last life of each
	files   map[string]*security.Network // guarded by mu; by encoded network file
	clients []*attached                  // guarded by mu; all lives
	order   []string                     // guarded by mu; names as they were first started
}

var (
	_ play.Level   = (*World)(nil)
	_ play.Witness = (*World)(nil)
)

// New makes a world on a network that was started, in its bubble.
func New(n *sim.Network, cfg Config) *World {
	return &World{n: n, cfg: cfg, nodes: make(map[string]*participant), files: make(map[string]*security.Network)}
}

// Net is the network below, for faults and links.
func (w *World) Net() *sim.Network { return w.n }

// Now implements play.Level.
func (w *World) Now() time.Duration { return w.n.Elapsed() }

// At implements play.Level.
func (w *World) At(at time.Duration, name string, f func()) { w.n.At(at, name, f) }

// Sleep implements play.Level.
func (w *World) Sleep(until time.Duration) { w.n.Run(until) }

// Note implements play.Level.
func (w *World) Note(node, text string) { w.n.Note(node, text) }

// Start implements play.Level. A node that was left closed, crashed or
// silenced starts again as its next incarnation.
func (w *World) Start(ctx context.Context, spec play.NodeSpec) (play.Participant, error) {
	if spec.Relay != "" {
		return w.attach(ctx, spec)
	}
	p, err := w.create(spec)
	if err != nil {
		return nil, err
	}
	err = p.Node.Start(ctx)
	if err == nil && spec.Relays {
		err = w.open(p, spec.Name)
	}
	if err != nil {
		_ = p.Close()
		return nil, fmt.Errorf("node %s: %w", spec.Name, err)
	}
	return p, nil
}

// log is where a node or a client logs.
func (w *World) log(name string) *zap.Logger {
	if w.cfg.Logger == nil {
		return nil
	}
	return w.cfg.Logger.Named(name)
}

func (w *World) create(spec play.NodeSpec) (*participant, error) {
	admission, err := w.admission(spec.Network)
	if err != nil {
		return nil, err
	}
	w.n.SetAdmission(spec.Name, admission)
	seam := w.n.Seam(spec.Name)
	cfg := node.Config{
		Network:     spec.Network,
		Zone:        spec.Zone,
		ClusterKeys: spec.ClusterKeys,
		Seam:        &seam,
		Incarnation: w.n.Incarnation(spec.Name),
		Heartbeat:   w.cfg.Heartbeat,
	}
	cfg.Logger = w.log(spec.Name)
	for _, name := range spec.Seeds {
		cfg.Seeds = append(cfg.Seeds, name+":4001")
	}
	created, err := node.New(cfg)
	if err != nil {
		return nil, fmt.Errorf("node %s: %w", spec.Name, err)
	}
	p := &participant{Node: created, seam: seam}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.nodes[spec.Name] == nil {
		w.order = append(w.order, spec.Name)
	}
	w.nodes[spec.Name] = p
	return p, nil
}

// admission returns what nodes with that file show in the handshake: one for
// all of them, so that each proof is checked once.
func (w *World) admission(file security.NetworkFile) (*security.Network, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	text := string(file.Encode())
	if known := w.files[text]; known != nil {
		return known, nil
	}
	made, err := security.NewNetwork(file)
	if err == nil {
		w.files[text] = made
	}
	return made, err
}

// SetLinks implements play.Level.
func (w *World) SetLinks(of func(from, to string) scenario.Link) {
	w.n.SetLinks(func(from, to string) link.Model { return modelOf(of(from, to)) })
}

// Close implements play.Level: it closes every node that is left. The network
// is closed by who made it.
func (w *World) Close() error {
	w.mu.Lock()
	var all []*participant
	for _, name := range w.order {
		all = append(all, w.nodes[name])
	}
	clients := w.clients
	w.mu.Unlock()
	var first error
	for _, c := range clients {
		if err := c.Close(); err != nil && !errors.Is(err, patterns.ErrInterrupted) && first == nil {
			first = err
		}
	}
	for _, p := range all {
		if err := p.Close(); err != nil && first == nil {
			first = err
		}
	}
	return first
}
