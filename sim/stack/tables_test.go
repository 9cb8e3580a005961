// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package stack_test

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"slices"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/overlay"
	"github.com/arke-mesh/arke/sim/play"
	"github.com/arke-mesh/arke/sim/stack"
)

// closest sorts peers by their distance to a point; written again here, so
// that the real tables are compared with something else than themselves.
func closest(target [32]byte, peers []peer.ID) []peer.ID {
	distance := func(p peer.ID) []byte {
		at := sha256.Sum256([]byte(p))
		for i := range at {
			at[i] ^= target[i]
		}
		return at[:]
	}
	sorted := slices.Clone(peers)
	slices.SortFunc(sorted, func(a, b peer.ID) int { return bytes.Compare(distance(a), distance(b)) })
	return sorted
}

// converged says what is missing for the tables of some nodes to be those of a
// network of exactly these nodes: each knows its own neighbourhood and no
// strangers, and all give the same answers, the right ones.
func converged(nodes []play.Participant) error {
	var all []peer.ID
	for _, n := range nodes {
		id, err := peer.Decode(n.Peer())
		if err != nil {
			return err
		}
		all = append(all, id)
	}
	for i, n := range nodes {
		table := stack.Table(n)
		for _, p := range table {
			if !slices.Contains(all, p) {
				return fmt.Errorf("node %d of %d knows a stranger", i, len(nodes))
			}
		}
		near := closest(sha256.Sum256([]byte(all[i])), all)[1:9]
		for _, p := range near {
			if !slices.Contains(table, p) {
				return fmt.Errorf("node %d of %d does not know its neighbour", i, len(nodes))
			}
		}
	}
	for k := range byte(4) {
		key := overlay.Key{k}
		want := closest(sha256.Sum256(key[:]), all)[:3]
		for i, n := range nodes {
			if got := stack.Closest(n, key, 3); !slices.Equal(got, want) {
				return fmt.Errorf("node %d of %d finds others for key %d", i, len(nodes), k)
			}
		}
	}
	return nil
}

// converge waits until the tables of all nodes are converged.
func (s *stage) converge(limit time.Duration) {
	s.t.Helper()
	begun := s.Now()
	for {
		err := converged(s.nodes)
		if err == nil {
			return
		}
		require.Less(s.t, s.Now()-begun, limit, err.Error())
		time.Sleep(100 * time.Millisecond)
	}
}
