// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package gateway_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/internal/node"
	"github.com/arke-mesh/arke/internal/simnet"
	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/security"
	"github.com/arke-mesh/arke/sim"
)

// servesMany has these nodes serve the cluster, with so many members each.
func servesMany(t *testing.T, nodes []*node.Node, each int, cluster string) (all []patterns.Registration) {
	t.Helper()
	for i := range each {
		for j, n := range nodes {
			all = append(all, simServe(t, n, cluster, says(fmt.Sprint(i, " ", j))))
		}
	}
	return all
}

// twelve are so many nodes of eu, and one of us that calls.
func twelve(eu, us *simnet.Nodes, options ...func(*node.Config)) (servers []*node.Node, caller *node.Node) {
	for i := range 12 {
		servers = append(servers, eu.Start(fmt.Sprint("eu-", i), options...))
	}
	us.Start("us-0")
	return servers, us.Start("us-1", options...)
}

// leave ends members one after the other, while the cluster is asked, and waits until it is
// whole again.
func leave(t *testing.T, caller *node.Node, cluster string, members []patterns.Registration) {
	t.Helper()
	for _, m := range members {
		require.NoError(t, m.Close(context.Background()))
		_, _, err := simAsk(caller, cluster)
		require.NoError(t, err)
	}
	time.Sleep(40 * time.Second)
}

// surveys asks all members, and returns how many answered.
func surveys(t *testing.T, n *node.Node, cluster string) int {
	t.Helper()
	answers := make(map[string]bool)
	r, err := n.Survey(context.Background(), cluster, patterns.Message{}, func(r patterns.SurveyReply) error {
		answers[string(r.Message.Body)] = true
		return nil
	}, patterns.SurveyOptions{})
	require.NoError(t, err)
	require.True(t, r.Complete, "%d answers, missing %v", len(answers), r.Missing)
	return len(answers)
}

func TestMembersOfAShardedClusterCrossABorder(t *testing.T) {
	// This test lends a cluster of 600 members, which is sharded in its own network and has
	// one member in the other one: the gateway. A survey from there reaches all; when most
	// members have left, the few that stay; and with the last one there is none.
	sim.Run(t, sim.Config{Seed: 31, Link: wan}, func(t *testing.T, n *sim.Network) {
		eu, us := simnet.New(t, n, "eu"), simnet.New(t, n, "us")
		servers, caller := twelve(eu, us)
		between(t, eu, us, "g1")
		time.Sleep(3 * time.Second)
		members := servesMany(t, servers, 50, "geo")
		time.Sleep(10 * time.Second)
		require.Equal(t, len(members), surveys(t, caller, "geo"))
		for range 50 {
			_, _, err := simAsk(caller, "geo")
			require.NoError(t, err)
		}
		leave(t, caller, "geo", members[10:])
		require.Equal(t, 10, surveys(t, caller, "geo"))
		for _, m := range members[:10] {
			require.NoError(t, m.Close(context.Background()))
		}
		time.Sleep(5 * time.Second)
		fails(t, caller, "geo", patterns.ErrNoMembers)
	})
}

func TestMembersOfAShardedClusterWithItsOwnKeyCrossABorder(t *testing.T) {
	// This test lends a cluster of 600 members with a key of its own by its finding key. It is
	// sharded in its own network, so the leases that members have signed are for ids of
	// shards; in the other one, to which 256 are passed on, it is whole. Callers know those, and
	// each answers.
	sim.Run(t, sim.Config{Seed: 32, Link: wan}, func(t *testing.T, n *sim.Network) {
		eu, us := simnet.New(t, n, "eu"), simnet.New(t, n, "us")
		keys := vaultVersions(time.Time{}, 1)
		holds := func(c *node.Config) { c.ClusterKeys = map[string][]security.KeyVersion{"vault": keys} }
		servers, caller := twelve(eu, us, holds)
		g := lending(t, eu, us, "g1", vaultCrossing(keys))
		passed := func() int {
			all := g.Status().Crossings
			require.Len(t, all, 1)
			require.Empty(t, all[0].Error)
			return all[0].Passed
		}
		time.Sleep(3 * time.Second)
		members := servesMany(t, servers, 50, "vault")
		time.Sleep(20 * time.Second)
		require.Equal(t, 256, passed())
		require.Equal(t, 256, surveys(t, caller, "vault"))
		leave(t, caller, "vault", members[10:])
		require.Equal(t, 10, passed())
		require.Equal(t, 10, surveys(t, caller, "vault"))
	})
}
