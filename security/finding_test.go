// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package security_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/security"
)

// vault returns a cluster with two keys of its own, and who finds it.
func vault(t testing.TB) (c, finder *security.Cluster, f security.ClusterFile) {
	t.Helper()
	f, err := security.GenerateClusterFile("vault", seeded("vault"))
	require.NoError(t, err)
	other, err := security.GenerateClusterFile("vault", seeded("other"))
	require.NoError(t, err)
	f.Keys = append(f.Keys, security.KeyVersion{Version: 2, Key: other.Keys[0].Key})
	return security.NewCluster(f.Name, f.Keys), security.NewFinder(f.Name, f.Finding().Keys), f
}

func TestAFindingKeyFindsTheClusterUnderEachOfItsKeys(t *testing.T) {
	// This test checks that ids and proofs are those of the cluster key's holders, for
	// both accepted versions, in two epochs.
	c, finder, _ := vault(t)
	require.True(t, finder.FindsOnly())
	require.False(t, c.FindsOnly())
	require.False(t, finder.Derived())
	for _, at := range []int{0, 1} {
		now := noon.AddDate(0, 0, at)
		whole, found := c.Epochs(now), finder.Epochs(now)
		require.Len(t, found, len(whole))
		for i := range whole {
			require.Equal(t, whole[i].ID(), found[i].ID())
			require.Equal(t, whole[i].Prove("p"), found[i].Prove("p"))
			require.NoError(t, security.VerifyProof(whole[i].ID(), found[i].PublicKey(), found[i].Prove("p"), "p"))
		}
	}
}

func TestAFindingKeyOpensWhereAMemberIsAndNothingElse(t *testing.T) {
	// This test has who holds only the finding key try all that the cluster key opens,
	// and seal.
	c, finder, _ := vault(t)
	whole, found := c.Epochs(noon)[0], finder.Epochs(noon)[0]
	record := whole.SealRecordParts(seeded("salt"), []byte("capacity, payload"), []byte("addresses"))
	for _, e := range []security.Epoch{whole, found} {
		reach, err := e.OpenReach(record)
		require.NoError(t, err)
		require.Equal(t, "addresses", string(reach))
	}
	plain, err := whole.OpenRecord(record)
	require.NoError(t, err)
	require.Equal(t, "capacity, payload", string(plain))

	passed, ok := security.PassedRecord(record)
	require.True(t, ok)
	require.NotContains(t, string(passed), "addresses")
	plain, err = whole.OpenRecord(passed)
	require.NoError(t, err)
	require.Equal(t, "capacity, payload", string(plain))
	_, err = whole.OpenReach(passed)
	require.ErrorIs(t, err, security.ErrUnauthorized)

	for _, sealed := range [][]byte{record, passed, whole.SealRecord(seeded("salt"), []byte("whole"))} {
		_, err := found.OpenRecord(sealed)
		require.ErrorIs(t, err, security.ErrUnauthorized)
	}
	b := security.Binding{Sender: "p", RequestID: 1}
	_, err = finder.Open(b, c.Seal(seeded("salt"), b, nil, []byte("secret")))
	require.ErrorIs(t, err, security.ErrUnauthorized)
	_, err = finder.Stream(security.StreamBinding{}, c.NewStreamHead(seeded("head")), security.NewStreamSalt(seeded("salt")), false)
	require.ErrorIs(t, err, security.ErrUnauthorized)
	require.Zero(t, finder.KeyID())
	require.Zero(t, finder.CommonKey())
	require.False(t, finder.Opens(security.KeyID{}))
	require.Panics(t, func() { finder.Seal(seeded("salt"), b, nil, []byte("forged")) })
	require.Panics(t, func() { finder.NewStreamHead(seeded("salt")) })
	require.Panics(t, func() { found.SealRecord(seeded("salt"), []byte("forged")) })
	require.Panics(t, func() { found.SealRecordParts(seeded("salt"), []byte("forged"), nil) })
}

func TestWhatWasSealedWithAFindingKeyIsNoMembersRecord(t *testing.T) {
	// This test checks that the formats of records are not taken for each other,
	// whichever byte says which one it is.
	c, finder, _ := vault(t)
	whole, found := c.Epochs(noon)[0], finder.Epochs(noon)[0]
	lent := found.SealLent(seeded("salt"), []byte("record"))
	plain, err := whole.OpenLent(lent)
	require.NoError(t, err)
	require.Equal(t, "record", string(plain))
	for format := range 6 {
		lent[0] = byte(format)
		_, err := whole.OpenRecord(lent)
		require.ErrorIs(t, err, security.ErrUnauthorized, format)
	}
	parts := whole.SealRecordParts(seeded("salt"), []byte("record"), []byte("reach"))
	for i := range parts {
		bad := append([]byte(nil), parts...)
		bad[i] ^= 1
		_, first := whole.OpenRecord(bad)
		_, second := whole.OpenReach(bad)
		require.False(t, first == nil && second == nil, i)
	}
	for n := range parts {
		_, err := whole.OpenRecord(parts[:n])
		passed, ok := security.PassedRecord(parts[:n])
		require.False(t, err == nil && !ok, "%d: %x", n, passed)
	}
}

func TestASignatureHoldsForThePartThatIsPassedOn(t *testing.T) {
	// This test checks that a member signs once, for its own network's anchors and for
	// who gets the first part only; and that it covers the second part, too.
	c, _, _ := vault(t)
	e := c.Epochs(noon)[0]
	node := newNodeKey(t, "node")
	lease := security.Lease{Network: security.NetworkID{1}, Cluster: e.ID(), Peer: node.PeerID(), Member: 2, Incarnation: 3}
	lease.Record = e.SealRecordParts(seeded("salt"), []byte("record"), []byte("reach"))
	signature := node.SignLease(lease)
	require.NoError(t, security.VerifyLease(lease, signature))
	whole := lease.Record
	lease.Record, _ = security.PassedRecord(whole)
	require.True(t, security.IsPassedRecord(lease.Record))
	require.NoError(t, security.VerifyLease(lease, signature))
	lease.Network[0]++
	require.ErrorIs(t, security.VerifyLease(lease, signature), security.ErrBadSignature)
	lease.Network[0]--
	forEachChange(whole, func(changed []byte) {
		lease.Record = changed
		require.ErrorIs(t, security.VerifyLease(lease, signature), security.ErrBadSignature)
	})
}

func TestAFindingFileIsNoKeyFile(t *testing.T) {
	// This test writes and reads one, and checks that neither kind is taken for the
	// other.
	_, _, f := vault(t)
	path := filepath.Join(t.TempDir(), "vault.finding")
	require.NoError(t, security.WriteFindingFile(path, f.Finding()))
	back, err := security.ReadFindingFile(path)
	require.NoError(t, err)
	require.Equal(t, f.Finding(), back)
	require.ErrorIs(t, security.WriteFindingFile(path, back), os.ErrExist)
	_, err = security.ReadClusterFile(path)
	require.ErrorContains(t, err, "arke-cluster")
	_, err = security.ParseFindingFile(f.Encode())
	require.ErrorContains(t, err, "arke-finding")
	for i := range f.Keys {
		require.NotEqual(t, f.Keys[i].Key, back.Keys[i].Key)
	}
}

func FuzzPartsOfRecords(f *testing.F) {
	// This fuzz test has every byte string opened as a record: nothing panics, and what
	// opens was sealed.
	c, _, _ := vault(f)
	e := c.Epochs(noon)[0]
	f.Add(e.SealRecordParts(seeded("salt"), []byte("record"), []byte("reach")))
	f.Add(e.SealLent(seeded("salt"), []byte("record")))
	f.Fuzz(func(t *testing.T, b []byte) {
		if plain, err := e.OpenRecord(b); err == nil {
			require.Equal(t, "record", string(plain))
		}
		if plain, err := e.OpenReach(b); err == nil {
			require.Equal(t, "reach", string(plain))
		}
		if passed, ok := security.PassedRecord(b); ok {
			require.True(t, security.IsPassedRecord(passed))
		}
		_, _ = e.OpenLent(b)
	})
}
