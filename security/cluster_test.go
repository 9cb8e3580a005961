// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package security_test

import (
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/security"
)

// noon is some instant; nothing depends on which.
var noon = time.Date(2026, 8, 1, 12, 0, 0, 0, time.UTC)

func ids(epochs []security.Epoch) []security.ClusterID {
	var out []security.ClusterID
	for _, e := range epochs {
		out = append(out, e.ID())
	}
	return out
}

// middle returns an instant in which exactly one epoch of c is valid, and
// overlap one, later, in which the next one is too.
func middle(c *security.Cluster) time.Time { return c.NextChange(overlap(c)).Add(2 * time.Hour) }

func overlap(c *security.Cluster) time.Time {
	at := noon
	for range 4 {
		if at = c.NextChange(at); c.NextChange(at).Sub(at) == 15*time.Minute {
			return at
		}
	}
	panic("no overlap")
}

// TestEveryHolderFindsTheSameEpochs proves that nodes agree on a cluster's ids
// without talking, and that a gateway or a restarted node does too.
func TestEveryHolderFindsTheSameEpochs(t *testing.T) {
	f := newFile(t, "net")
	one, two := newNetwork(t, f).Cluster("geo"), newNetwork(t, f).Cluster("geo")
	require.Equal(t, "geo", one.Name())
	require.True(t, one.Derived())
	require.Equal(t, ids(one.Epochs(noon)), ids(two.Epochs(noon)))
	require.Equal(t, one.NextChange(noon), two.NextChange(noon))

	explicit := security.NewCluster("geo", versions(1))
	require.False(t, explicit.Derived())
	require.Equal(t, ids(explicit.Epochs(noon)), ids(security.NewCluster("geo", versions(1)).Epochs(noon)))
	require.NotEqual(t, ids(explicit.Epochs(noon)), ids(one.Epochs(noon)))
}

// TestIDsShareNothing proves that a cluster's id changes with the name, the
// key, the network and the epoch.
func TestIDsShareNothing(t *testing.T) {
	seen := make(map[security.ClusterID]string)
	add := func(what string, c *security.Cluster, at time.Time) {
		for _, id := range ids(c.Epochs(at)) {
			require.NotContains(t, seen, id, "%s and %s", what, seen[id])
			seen[id] = what
		}
	}
	net := newNetwork(t, newFile(t, "net"))
	c := net.Cluster("geo")
	add("derived", c, middle(c))
	add("next epoch", c, middle(c).Add(6*time.Hour))
	add("another name", net.Cluster("geo2"), middle(c))
	add("no name", net.Cluster(""), middle(c))
	add("another network", newNetwork(t, newFile(t, "net2")).Cluster("geo"), middle(c))
	add("explicit", security.NewCluster("geo", versions(1)), middle(c))
	add("another key", security.NewCluster("geo", versions(2)), middle(c))
}

// TestEpochsComeBestFirst proves the order: the newest key before the older
// one, and the current epoch before the one that overlaps with it.
func TestEpochsComeBestFirst(t *testing.T) {
	old, both, young := security.NewCluster("geo", versions(1)),
		security.NewCluster("geo", versions(1, 2)), security.NewCluster("geo", versions(2))
	at := overlap(both) // 15 minutes before the next epoch
	require.Len(t, both.Epochs(at), 4)
	require.Equal(t, append(ids(young.Epochs(at)), ids(old.Epochs(at))...), ids(both.Epochs(at)))
	require.Equal(t, uint32(2), both.Epochs(at)[0].KeyVersion())
	require.Equal(t, uint32(1), both.Epochs(at)[3].KeyVersion())

	before, after := young.Epochs(at.Add(-time.Second)), young.Epochs(at.Add(30*time.Minute))
	require.Len(t, before, 1)
	require.Len(t, after, 1)
	require.Equal(t, []security.ClusterID{before[0].ID(), after[0].ID()}, ids(young.Epochs(at)))
	require.Equal(t, []security.ClusterID{after[0].ID(), before[0].ID()}, ids(young.Epochs(at.Add(15*time.Minute))))
	require.Empty(t, security.NewCluster("geo", nil).Epochs(at))
}

// TestClocksMayDifferByTheOverlap proves that the epoch a caller watches first
// is one that a member has registered under while their clocks differ by less
// than 15 minutes, whenever that is.
func TestClocksMayDifferByTheOverlap(t *testing.T) {
	caller, member := security.NewCluster("geo", versions(1)), security.NewCluster("geo", versions(1))
	for minutes := range 13 * 60 {
		at := noon.Add(time.Duration(minutes) * time.Minute)
		first := caller.Epochs(at)[0].ID()
		for _, skew := range []time.Duration{-15*time.Minute + time.Second, 0, 15*time.Minute - time.Second} {
			require.Contains(t, ids(member.Epochs(at.Add(skew))), first)
		}
	}
}

// TestNextChangeIsWhenEpochsChange proves that NextChange agrees with Epochs:
// nothing changes before it, something does at it.
func TestNextChangeIsWhenEpochsChange(t *testing.T) {
	c := security.NewCluster("geo", versions(1, 2))
	at := noon.Add(123456789 * time.Nanosecond)
	for range 20 {
		next := c.NextChange(at)
		require.True(t, next.After(at))
		require.Equal(t, ids(c.Epochs(at)), ids(c.Epochs(next.Add(-time.Nanosecond))))
		require.NotEqual(t, ids(c.Epochs(at)), ids(c.Epochs(next)))
		at = next
	}
	require.Equal(t, 20/3*6*time.Hour, at.Sub(noon).Truncate(6*time.Hour))
}

// TestResultOfEpochsBelongsToTheCaller proves that the cache can't be spoilt.
func TestResultOfEpochsBelongsToTheCaller(t *testing.T) {
	c := security.NewCluster("geo", versions(1, 2))
	want := ids(c.Epochs(noon))
	c.Epochs(noon)[0] = security.Epoch{}
	e := c.Epochs(noon)[0]
	e.PublicKey()[0] ^= 1
	require.Equal(t, want, ids(c.Epochs(noon)))
	require.NoError(t, security.VerifyProof(e.ID(), e.PublicKey(), e.Prove("p"), "p"))
}

// TestEpochsMayBeAskedForConcurrently proves that many goroutines, also with
// different ideas of the time, get the right answer. It relies on the race
// detector for the rest.
func TestEpochsMayBeAskedForConcurrently(t *testing.T) {
	shared := security.NewCluster("geo", versions(1, 2))
	begin := overlap(shared).Add(-5 * time.Minute)
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			for i := range 50 {
				own := security.NewCluster("geo", versions(1, 2)) // nothing cached
				at := begin.Add(time.Duration((i+g)%5) * 10 * time.Minute)
				if got, want := ids(shared.Epochs(at)), ids(own.Epochs(at)); !slices.Equal(got, want) {
					t.Errorf("%v: %v instead of %v", at, got, want)
				}
			}
		})
	}
	wg.Wait()
}

// TestIDsToComeTakeTheClustersOwnKey proves that who holds the network's keys and
// knows the name can't tell where a cluster with a key of its own will be: its ids
// of no epoch are those that other keys give, while those of a cluster with a derived
// key are known to the whole network.
func TestIDsToComeTakeTheClustersOwnKey(t *testing.T) {
	file := newFile(t, "net")
	own := security.NewCluster("geo", versions(3))
	guesses := []*security.Cluster{
		newNetwork(t, file).Cluster("geo"),            // by the network's key
		security.NewCluster("geo", file.Keys),         // by that key as the cluster's
		security.NewCluster("geo", versions(1, 2, 4)), // by other keys
		security.NewCluster("other", versions(3)),     // by the key, but another name
	}
	seen := make(map[security.ClusterID]bool)
	for epoch := range 100 {
		at := noon.Add(time.Duration(epoch) * 6 * time.Hour)
		for _, e := range own.Epochs(at) {
			seen[e.ID()] = true
		}
		for _, e := range security.NewCluster("geo", versions(3)).Epochs(at) {
			require.True(t, seen[e.ID()], "who holds the key can")
		}
		for _, g := range guesses {
			for _, e := range g.Epochs(at) {
				require.False(t, seen[e.ID()])
			}
		}
		for i, e := range newNetwork(t, file).Cluster("geo").Epochs(at) {
			require.Equal(t, guesses[0].Epochs(at)[i].ID(), e.ID())
		}
	}
	require.GreaterOrEqual(t, len(seen), 100, "each epoch has an id of its own")
}

// TestProofIsGoodForOnePeerInOneEpoch proves what a registration rests on:
// only a holder of the key can make a proof, and nobody can use another's.
func TestProofIsGoodForOnePeerInOneEpoch(t *testing.T) {
	c := security.NewCluster("geo", versions(1))
	e, later := c.Epochs(middle(c))[0], c.Epochs(middle(c).Add(6 * time.Hour))[0]
	p, other := newPeer(t, "p"), newPeer(t, "other")
	proof := e.Prove(p)
	require.Len(t, proof, 64)
	require.Len(t, e.PublicKey(), 32)
	require.NoError(t, security.VerifyProof(e.ID(), e.PublicKey(), proof, p))

	for name, err := range map[string]error{
		"another peer":             security.VerifyProof(e.ID(), e.PublicKey(), proof, other),
		"no peer":                  security.VerifyProof(e.ID(), e.PublicKey(), proof, ""),
		"another epoch":            security.VerifyProof(later.ID(), later.PublicKey(), proof, p),
		"key of another epoch":     security.VerifyProof(e.ID(), later.PublicKey(), later.Prove(p), p),
		"id of another epoch":      security.VerifyProof(later.ID(), e.PublicKey(), proof, p),
		"no key":                   security.VerifyProof(e.ID(), nil, proof, p),
		"no proof":                 security.VerifyProof(e.ID(), e.PublicKey(), nil, p),
		"key with a byte too much": security.VerifyProof(e.ID(), append(e.PublicKey(), 0), proof, p),
		"zeros":                    security.VerifyProof(e.ID(), e.PublicKey(), make([]byte, 64), p),
	} {
		require.ErrorIs(t, err, security.ErrBadProof, name)
	}
	forEachChange(proof, func(changed []byte) {
		require.ErrorIs(t, security.VerifyProof(e.ID(), e.PublicKey(), changed, p), security.ErrBadProof)
	})
	forEachChange(e.PublicKey(), func(changed []byte) {
		require.ErrorIs(t, security.VerifyProof(e.ID(), changed, proof, p), security.ErrBadProof)
	})
}

// FuzzVerifyProof proves that no bytes of any length make it panic.
func FuzzVerifyProof(f *testing.F) {
	e := security.NewCluster("geo", versions(1)).Epochs(noon)[0]
	id := e.ID()
	f.Add(id[:], e.PublicKey(), e.Prove("p"), "p")
	f.Fuzz(func(t *testing.T, rawID, key, proof []byte, p string) {
		var id security.ClusterID
		copy(id[:], rawID)
		_ = security.VerifyProof(id, key, proof, peer.ID(p))
	})
}

// TestSealedRecordOpensInItsEpoch proves the round trip, and that neither
// another epoch nor another cluster's key opens it.
func TestSealedRecordOpensInItsEpoch(t *testing.T) {
	c := security.NewCluster("geo", versions(1))
	e := c.Epochs(middle(c))[0]
	for _, plain := range []string{"", "record"} {
		sealed := e.SealRecord(seeded("salt"), []byte(plain))
		require.Len(t, sealed, len(plain)+security.RecordOverhead)
		got, err := security.NewCluster("geo", versions(1)).Epochs(middle(c))[0].OpenRecord(sealed)
		require.NoError(t, err)
		require.Equal(t, plain, string(got))
		for name, e := range map[string]security.Epoch{
			"another epoch":   c.Epochs(middle(c).Add(6 * time.Hour))[0],
			"another key":     security.NewCluster("geo", versions(2)).Epochs(middle(c))[0],
			"another cluster": security.NewCluster("geo2", versions(1)).Epochs(middle(c))[0],
		} {
			_, err := e.OpenRecord(sealed)
			require.ErrorIs(t, err, security.ErrUnauthorized, name)
		}
	}
	rand := seeded("salt")
	require.NotEqual(t, e.SealRecord(rand, []byte("record")), e.SealRecord(rand, []byte("record")))
}

// TestEveryByteOfARecordIsProtected proves that anchors can't change one.
func TestEveryByteOfARecordIsProtected(t *testing.T) {
	e := security.NewCluster("geo", versions(1)).Epochs(noon)[0]
	forEachChange(e.SealRecord(seeded("salt"), []byte("record")), func(changed []byte) {
		_, err := e.OpenRecord(changed)
		require.ErrorIs(t, err, security.ErrUnauthorized)
	})
}

// FuzzOpenRecord proves that no bytes make OpenRecord panic, and that none but
// the honest ones open.
func FuzzOpenRecord(f *testing.F) {
	e := security.NewCluster("geo", versions(1)).Epochs(noon)[0]
	honest := e.SealRecord(seeded("salt"), []byte("record"))
	f.Add(honest)
	f.Fuzz(func(t *testing.T, sealed []byte) {
		if _, err := e.OpenRecord(sealed); err == nil {
			require.Equal(t, honest, sealed)
		}
	})
}

func BenchmarkEpochs(b *testing.B) {
	c := security.NewCluster("geo", versions(1, 2))
	b.ReportAllocs()
	for b.Loop() {
		c.Epochs(noon)
	}
}

func BenchmarkVerifyProof(b *testing.B) {
	e := security.NewCluster("geo", versions(1)).Epochs(noon)[0]
	id, key, proof := e.ID(), e.PublicKey(), e.Prove("p")
	for b.Loop() {
		if err := security.VerifyProof(id, key, proof, "p"); err != nil {
			b.Fatal(err)
		}
	}
}
