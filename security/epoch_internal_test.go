// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package security

import (
	"crypto/ed25519"
	"testing"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/stretchr/testify/require"
)

// TestAKeyOfOnesOwnProvesNothing proves what ties a proof to the cluster: an
// attacker without the cluster key can sign another's cluster id, correctly,
// with a key of its own, but the id is not that key's hash.
func TestAKeyOfOnesOwnProvesNothing(t *testing.T) {
	c := NewCluster("geo", []KeyVersion{{Version: 1, Key: Key{1}}})
	id := c.Epochs(time.Unix(0, 0))[0].ID()
	own := ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize))
	public := own.Public().(ed25519.PublicKey)
	p := peer.ID("attacker")
	proof := ed25519.Sign(own, proofMessage(id, p))
	require.True(t, ed25519.Verify(public, proofMessage(id, p), proof))
	require.ErrorIs(t, VerifyProof(id, public, proof, p), ErrBadProof)

	ownID := clusterID(public)
	require.NoError(t, VerifyProof(ownID, public, ed25519.Sign(own, proofMessage(ownID, p)), p))
}
