// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package gateway_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/gateway"
	"github.com/arke-mesh/arke/internal/node"
	"github.com/arke-mesh/arke/internal/simnet"
	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/security"
	"github.com/arke-mesh/arke/sim"
)

// vaultVersions are keys of vault, of which the last has no end, and the others end at a
// moment.
func vaultVersions(end time.Time, versions ...byte) []security.KeyVersion {
	var keys []security.KeyVersion
	for i, v := range versions {
		k := security.KeyVersion{Version: uint32(v), Key: security.Key{v}}
		if i < len(versions)-1 {
			k.NotAfter = end.UTC().Truncate(time.Second)
		}
		keys = append(keys, k)
	}
	return keys
}

// vaultCrossing lends vault of eu to us, with the finding keys for these keys.
func vaultCrossing(keys []security.KeyVersion) gateway.Crossing {
	return gateway.Crossing{From: "eu", To: "us", Cluster: "vault", Finding: &security.FindingFile{Name: "vault", Keys: security.Finding(keys)}}
}

// vaultRig has vault in eu, with a key of its own, a caller in us, and a gateway that has
// the finding key; in both networks others stand by.
type vaultRig struct {
	*testing.T
	gateway *gateway.Gateway
	holders map[string]*node.Node           // of the key, by name
	files   map[string]security.NetworkFile // of their networks
	caller  *node.Node
	tunnel  patterns.Tunnel
	asked   int
}

func newVaultRig(t *testing.T, n *sim.Network, others int, keys []security.KeyVersion) *vaultRig {
	r := &vaultRig{T: t, holders: map[string]*node.Node{}, files: map[string]security.NetworkFile{}}
	eu, us := simnet.New(t, n, "eu"), simnet.New(t, n, "us")
	start := func(in *simnet.Nodes, name string) *node.Node {
		made := in.Start(name, func(c *node.Config) {
			c.ClusterKeys, r.files[name] = map[string][]security.KeyVersion{"vault": keys}, c.Network
		})
		r.holders[name] = made
		return made
	}
	for i := range others {
		eu.Start(fmt.Sprint("eu-other-", i))
		us.Start(fmt.Sprint("us-other-", i))
	}
	for _, name := range []string{"eu-1", "eu-2"} {
		simServe(t, start(eu, name), "vault", patterns.Service{Request: says("eu").Request, Tunnel: tunnelEcho})
	}
	r.caller = start(us, "us-1")
	r.gateway = lending(t, eu, us, "g1", vaultCrossing(keys))
	time.Sleep(5 * time.Second)
	var err error
	r.tunnel, err = r.caller.OpenTunnel(context.Background(), "vault", patterns.Message{})
	require.NoError(t, err)
	return r
}

// tunnelEcho sends back what comes.
func tunnelEcho(ctx context.Context, s patterns.Tunnel) error {
	for {
		m, err := s.Receive(ctx)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := s.Send(ctx, m); err != nil {
			return err
		}
	}
}

// brief is a pause during which nothing is missed.
const brief = 30 * time.Millisecond

// works has requests, which may not be repeated, and messages of the tunnel cross for so
// long, one after the other, with a pause between; none is lost.
func (r *vaultRig) works(during, pause time.Duration, why string) {
	r.Helper()
	ctx := context.Background()
	for until := time.Now().Add(during); time.Now().Before(until); time.Sleep(pause) {
		r.asked++
		body := fmt.Sprint(r.asked)
		m, err := r.caller.Request(ctx, "vault", patterns.Message{Body: []byte(body)})
		require.NoError(r, err, why)
		require.Equal(r, "eu "+body, string(m.Body))
		require.NoError(r, r.tunnel.Send(ctx, []byte(body)), why)
		back, err := r.tunnel.Receive(ctx)
		require.NoError(r, err, why)
		require.Equal(r, body, string(back))
	}
	s := r.gateway.Status().Crossings
	require.Len(r, s, 1)
	require.Equal(r, 2, s[0].Passed, why)
	require.Equal(r, 1, s[0].Tunnels, why)
	require.Empty(r, s[0].Error)
	require.Equal(r, uint64(r.asked+1), s[0].Messages, "it is the same crossing as before: %s", why)
}

// finds has the gateway find by these keys from now on, as after SIGHUP.
func (r *vaultRig) finds(keys []security.KeyVersion) {
	r.Helper()
	require.NoError(r, r.gateway.Cross([]gateway.Crossing{vaultCrossing(keys)}))
}

// holds has a node hold these keys from now on.
func (r *vaultRig) holds(name string, keys []security.KeyVersion) {
	r.Helper()
	require.NoError(r, r.holders[name].SetKeys(node.Keys{Network: r.files[name], Clusters: map[string][]security.KeyVersion{"vault": keys}}))
}

func TestAnotherFindingKeyDisturbsNothing(t *testing.T) {
	// This test gives a gateway the finding key of another version, without that of before,
	// while requests, which may not be repeated, and a tunnel cross: members and callers have
	// both versions. No request hears that there is nobody, or anything else than its answer,
	// the tunnel goes on for as long as it likes, and it is the same crossing, with what it
	// has counted.
	sim.Run(t, sim.Config{Seed: 21, Link: wan}, func(t *testing.T, n *sim.Network) {
		both := vaultVersions(time.Now().Add(time.Hour), 1, 2)
		r := newVaultRig(t, n, 9, both) // so many that others are vault's anchors
		r.works(2*time.Second, brief, "before")
		r.finds(both[1:])
		r.works(15*time.Second, brief, "with the newer one alone")
		r.finds(both[:1])
		r.works(15*time.Second, brief, "with the older one alone")
		r.finds(both)
		r.works(15*time.Second, brief, "with both")
	})
}

func TestARotationOfASealedClustersKeyLosesNothingAcrossABorder(t *testing.T) {
	// This test rotates the key of vault twice, as docs/keys.md says: members and
	// callers get the new file one after the other, the gateway its finding key last, within
	// the overlap, and then the old version ends. Requests, which may not be repeated, and
	// a tunnel that lasts cross all the time, and none is lost.
	for _, first := range []string{"members", "callers", "gateway"} {
		t.Run(first+" first", func(t *testing.T) {
			sim.Run(t, sim.Config{Seed: 22, Link: wan}, func(t *testing.T, n *sim.Network) {
				r := newVaultRig(t, n, 1, vaultVersions(time.Time{}, 1))
				r.works(2*time.Second, brief, "before")
				for version := byte(2); version <= 3; version++ {
					end := time.Now().Add(2 * time.Minute)
					keys := vaultVersions(end, version-1, version)
					if first == "gateway" {
						r.finds(keys)
						r.works(12*time.Second, brief, "the gateway has the new finding key")
					}
					order := []string{"eu-1", "eu-2", "us-1"}
					if first == "callers" {
						order = []string{"us-1", "eu-2", "eu-1"}
					}
					for _, name := range order {
						r.holds(name, keys)
						r.works(2*time.Second, brief, name+" has the new key")
					}
					if first != "gateway" {
						r.finds(keys)
						r.works(12*time.Second, brief, "the gateway has the new finding key")
					}
					for _, moment := range []time.Time{end, end.Add(security.ClockTolerance)} {
						time.Sleep(time.Until(moment) - 2*time.Second)
						r.works(4*time.Second, brief, "the old version ends")
					}
				}
			})
		})
	}
}
