// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package world

import (
	"encoding/binary"
	"hash/fnv"
	"math/rand/v2"
	"testing"

	"github.com/arke-mesh/arke/security"
	"github.com/arke-mesh/arke/sim"
)

// Run runs body in a bubble, with a world of its own, and returns the trace.
// The nodes that body adds are closed after it; what they can't do fails t.
func Run(t *testing.T, cfg Config, body func(w *World)) *sim.Trace {
	t.Helper()
	cfg.Net.Seed = cfg.Seed
	return sim.Run(t, cfg.Net, func(t *testing.T, n *sim.Network) {
		w := New(n, cfg)
		w.t = t
		t.Cleanup(func() {
			if err := w.Close(); err != nil {
				t.Errorf("world: %v", err)
			}
		})
		body(w)
	})
}

// Network returns the network file that a seed and a label decide: the same
// each time. Nodes with files of different labels are strangers.
func Network(seed uint64, label string) (security.NetworkFile, error) {
	h := fnv.New64a()
	_, _ = h.Write([]byte(label))
	var key [32]byte
	binary.BigEndian.PutUint64(key[:], seed)
	binary.BigEndian.PutUint64(key[8:], h.Sum64())
	name := label
	if name == "" {
		name = "sim"
	}
	return security.GenerateNetworkFile(name, rand.NewChaCha8(key))
}
