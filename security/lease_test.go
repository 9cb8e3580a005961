// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package security_test

import (
	"crypto/rand"
	"crypto/rsa"
	"slices"
	"testing"

	"github.com/libp2p/go-libp2p/core/crypto"
	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/security"
)

func newLease(t testing.TB, node string) (security.NodeKey, security.Lease) {
	t.Helper()
	k := newNodeKey(t, node)
	return k, security.Lease{
		Network: security.NetworkID{1}, Cluster: security.ClusterID{2}, Peer: k.PeerID(),
		Member: 3, Incarnation: 4, Record: []byte("sealed record"),
	}
}

// TestALeaseIsGoodForOneMemberInOnePlace proves that a signed lease can't be
// moved: to another network, cluster, node, member, incarnation or record.
func TestALeaseIsGoodForOneMemberInOnePlace(t *testing.T) {
	key, honest := newLease(t, "node")
	signature := key.SignLease(honest)
	require.Len(t, signature, 64)
	require.NoError(t, security.VerifyLease(honest, signature))
	for what, change := range map[string]func(*security.Lease){
		"another network":     func(l *security.Lease) { l.Network[15]++ },
		"another cluster":     func(l *security.Lease) { l.Cluster[31]++ },
		"another node":        func(l *security.Lease) { l.Peer = newPeer(t, "other") },
		"another member":      func(l *security.Lease) { l.Member++ },
		"another incarnation": func(l *security.Lease) { l.Incarnation = 1<<64 - 1 },
		"another record":      func(l *security.Lease) { l.Record = []byte("other record") },
		"no record":           func(l *security.Lease) { l.Record = nil },
		"a longer record":     func(l *security.Lease) { l.Record = append(slices.Clone(l.Record), 0) },
		"swapped numbers":     func(l *security.Lease) { l.Member, l.Incarnation = l.Incarnation, l.Member },
	} {
		t.Run(what, func(t *testing.T) {
			l := honest
			change(&l)
			require.ErrorIs(t, security.VerifyLease(l, signature), security.ErrBadSignature)
		})
	}
	forEachChange(signature, func(changed []byte) {
		require.ErrorIs(t, security.VerifyLease(honest, changed), security.ErrBadSignature)
	})
	forEachChange(honest.Record, func(changed []byte) {
		l := honest
		l.Record = changed
		require.ErrorIs(t, security.VerifyLease(l, signature), security.ErrBadSignature)
	})
}

// TestNobodySignsForAnotherNode proves that neither another node's key nor the
// key of the cluster makes a good lease.
func TestNobodySignsForAnotherNode(t *testing.T) {
	_, honest := newLease(t, "node")
	other, _ := newLease(t, "other")
	require.ErrorIs(t, security.VerifyLease(honest, other.SignLease(honest)), security.ErrBadSignature)
	e := security.NewCluster("geo", versions(1)).Epochs(noon)[0]
	honest.Cluster = e.ID()
	require.ErrorIs(t, security.VerifyLease(honest, e.Prove(honest.Peer)), security.ErrBadSignature)
}

// TestAPeerIDIsReadInOneEncodingOnly proves that a node has no second name under
// which it could sign, and that no key of another kind is taken for one.
func TestAPeerIDIsReadInOneEncodingOnly(t *testing.T) {
	key, honest := newLease(t, "node")
	raw := string(honest.Peer)
	foreign, _, err := crypto.KeyPairFromStdKey(newRSA(t))
	require.NoError(t, err)
	hashed, err := peer.IDFromPrivateKey(foreign)
	require.NoError(t, err)
	for what, p := range map[string]peer.ID{
		"no peer":           "",
		"a byte too few":    peer.ID(raw[:len(raw)-1]),
		"a byte too much":   peer.ID(raw + "\x00"),
		"a field too much":  peer.ID("\x00\x26\x08\x01\x12\x20" + raw[6:] + "\x18\x00"),
		"a longer number":   peer.ID("\x00\x25\x08\x81\x00\x12\x20" + raw[6:]),
		"a hash of the key": peer.ID("\x12\x20" + raw[6:]),
		"an RSA key":        hashed,
	} {
		l := honest
		l.Peer = p
		require.ErrorIs(t, security.VerifyLease(l, key.SignLease(l)), security.ErrBadSignature, what)
	}
}

func newRSA(t *testing.T) *rsa.PrivateKey {
	t.Helper()
	k, err := rsa.GenerateKey(rand.Reader, 2048)
	require.NoError(t, err)
	return k
}

// FuzzVerifyLease proves that no bytes of any length make it panic, and that none
// but the honest ones are good.
func FuzzVerifyLease(f *testing.F) {
	key, honest := newLease(f, "node")
	signature := key.SignLease(honest)
	f.Add([]byte(honest.Peer), honest.Member, honest.Incarnation, honest.Record, signature)
	f.Fuzz(func(t *testing.T, p []byte, member, incarnation uint64, record, signed []byte) {
		l := honest
		l.Peer, l.Member, l.Incarnation, l.Record = peer.ID(p), member, incarnation, record
		if security.VerifyLease(l, signed) == nil && l.Peer == honest.Peer {
			require.Equal(t, honest, l)
			require.Equal(t, signature, signed)
		}
	})
}

func BenchmarkSignLease(b *testing.B) {
	key, l := newLease(b, "node")
	l.Record = make([]byte, 200)
	b.ReportAllocs()
	for b.Loop() {
		key.SignLease(l)
	}
}

func BenchmarkVerifyLease(b *testing.B) {
	key, l := newLease(b, "node")
	l.Record = make([]byte, 200)
	signature := key.SignLease(l)
	b.ReportAllocs()
	for b.Loop() {
		if err := security.VerifyLease(l, signature); err != nil {
			b.Fatal(err)
		}
	}
}
