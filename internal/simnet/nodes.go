// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package simnet

import (
	"context"
	"crypto/sha256"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/internal/node"
	"github.com/arke-mesh/arke/security"
	"github.com/arke-mesh/arke/sim"
)

// Nodes are those of one network. Methods may be called concurrently.
type Nodes struct {
	// Immutable after New.
	t    *testing.T
	net  *sim.Network
	file security.NetworkFile

	// Guarded by mu.
	mu    sync.Mutex
	seed  string // the first node's name
	nodes []*node.Node
}

// New returns a network without nodes. Call it within sim.Run or sim.Replay.
func New(t *testing.T, n *sim.Network, network string) *Nodes {
	t.Helper()
	file, err := security.GenerateNetworkFile(network, rand.NewChaCha8(sha256.Sum256([]byte(network))))
	require.NoError(t, err)
	s := &Nodes{t: t, net: n, file: file}
	t.Cleanup(s.close)
	return s
}

// Config is what Start makes a node of: the first one is the seed of the others.
func (s *Nodes) Config(name string) node.Config {
	seam := s.net.Seam(name)
	cfg := node.Config{Network: s.file, Seam: &seam, Incarnation: s.net.Incarnation(name)}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.seed == "" {
		s.seed = name
	}
	if name != s.seed {
		cfg.Seeds = []string{s.seed + ":4001"}
	}
	return cfg
}

// Start starts a node, or starts it anew after a crash or its Close. Each change is
// applied to its Config.
func (s *Nodes) Start(name string, change ...func(*node.Config)) *node.Node {
	s.t.Helper()
	cfg := s.Config(name)
	for _, f := range change {
		f(&cfg)
	}
	n, err := node.New(cfg)
	require.NoError(s.t, err)
	s.mu.Lock()
	s.nodes = append(s.nodes, n)
	s.mu.Unlock()
	require.NoError(s.t, n.Start(context.Background()))
	return n
}

func (s *Nodes) close() {
	for _, n := range s.nodes {
		require.NoError(s.t, n.Close())
	}
}
