// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package node

import (
	"crypto/rand"
	"testing"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/stretchr/testify/require"
	"go.uber.org/zap"

	"github.com/arke-mesh/arke/internal/issued"
	"github.com/arke-mesh/arke/security"
)

// TestAClosedNodeHasNoEphemeralKeys proves that a node which is closed, in a process that goes
// on, can open nothing any more that was sealed for it.
func TestAClosedNodeHasNoEphemeralKeys(t *testing.T) {
	file, err := security.GenerateNetworkFile("test", rand.Reader)
	require.NoError(t, err)
	n, err := New(Config{Network: file, Listen: []string{"/ip4/127.0.0.1/tcp/0"}, NoMDNS: true})
	require.NoError(t, err)
	require.NoError(t, n.Start(t.Context()))
	keys := n.ephemerals
	other := security.NewEphemerals(rand.Reader, time.Now())
	_, err = keys.With(other.Public())
	require.NoError(t, err)
	require.NoError(t, n.Close())
	_, err = keys.With(other.Public())
	require.ErrorIs(t, err, security.ErrForgotten)
}

// TestARenewalThatOthersWouldRefuseIsNotTaken proves that a node keeps the certificate that
// it has when an issuer, which may be hostile, sends one that begins later or that was
// revoked, and that a revoked one that was kept does not count after a restart.
func TestARenewalThatOthersWouldRefuseIsNotTaken(t *testing.T) {
	now := time.Now().Truncate(time.Second)
	network := security.NetworkID{1}
	key, err := security.GenerateNodeKey(rand.Reader)
	require.NoError(t, err)
	self := key.PeerID()
	authority, err := security.GenerateAuthority(network, rand.Reader)
	require.NoError(t, err)
	original, err := authority.Sign(security.Certificate{
		Serial: 1, Name: "n", Peer: self, NotBefore: now, NotAfter: now.Add(time.Hour), RenewUntil: now.Add(100 * time.Hour),
	})
	require.NoError(t, err)
	terms := security.Delegation{Serial: 99, NotBefore: now, NotAfter: now.Add(100 * time.Hour), Life: 6 * time.Hour}
	issuer, err := security.NewIssuer(authority, terms, rand.Reader)
	require.NoError(t, err)

	boot := func(s state) *credentials {
		roll := issued.New(self, network, security.Issuance{Authority: authority.ID(), Required: true}, time.Now)
		c := &credentials{Roll: roll, log: zap.NewNop(), state: s}
		require.NoError(t, c.Present(original))
		return c
	}
	c := boot(state{})
	later, err := issuer.Renew(original, now.Add(50*time.Hour))
	require.NoError(t, err)
	_, err = c.renewed(later)
	require.ErrorIs(t, err, security.ErrExpired)
	require.Equal(t, original, c.Certificate())

	list, err := authority.SignRevocations(security.RevocationList{Number: 1, Issued: now, Serials: []uint64{terms.Serial}, Peers: []peer.ID{}})
	require.NoError(t, err)
	taken, err := issuer.Renew(original, now)
	require.NoError(t, err)
	c = boot(state{dir: t.TempDir()})
	require.NoError(t, c.state.keepCertificate(taken))
	c.resume(original)
	require.Equal(t, taken, c.Certificate())
	c = boot(c.state)
	require.NoError(t, recall(c, list))
	c.resume(original)
	require.Equal(t, original, c.Certificate())
	_, err = c.renewed(taken)
	require.ErrorIs(t, err, security.ErrRevoked)
	require.Equal(t, original, c.Certificate())
}
