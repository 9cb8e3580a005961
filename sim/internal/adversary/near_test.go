// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package adversary

import (
	"crypto/sha256"
	"math/bits"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/security"
)

// This test checks that who holds the keys of a cluster can choose an id beside its
// id, so that it becomes an anchor, and that who holds others lands anywhere.
func TestWhoHoldsTheKeysCanComeNear(t *testing.T) {
	now := time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)
	red := security.NewCluster("vault", []security.KeyVersion{{Version: 1, Key: security.Key{1}}})
	blue := security.NewCluster("vault", []security.KeyVersion{{Version: 1, Key: security.Key{2}}})
	near := func(c *security.Cluster) security.NodeKey {
		key, err := Near(c, now, rand.NewChaCha8([32]byte{1}))
		require.NoError(t, err)
		return key
	}
	require.GreaterOrEqual(t, shared(near(red), red.Epochs(now)[0]), nearBits)
	require.Less(t, shared(near(blue), red.Epochs(now)[0]), nearBits)
	require.Equal(t, near(red).PeerID(), near(red).PeerID(), "the same series gives the same key")
}

// shared is how many leading bits a node's place shares with a cluster's.
func shared(key security.NodeKey, e security.Epoch) (n int) {
	id := e.ID()
	a, b := sha256.Sum256([]byte(key.PeerID())), sha256.Sum256(id[:])
	for i := range a {
		if a[i] != b[i] {
			return n + bits.LeadingZeros8(a[i]^b[i])
		}
		n += 8
	}
	return n
}
