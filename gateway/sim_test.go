// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package gateway_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/gateway"
	"github.com/arke-mesh/arke/internal/node"
	"github.com/arke-mesh/arke/internal/simnet"
	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/sim"
	"github.com/arke-mesh/arke/sim/link"
)

// wan is the path between two simulated machines: 40 ms to and from those whose names
// begin with eu, else half a millisecond.
func wan(from, to string) link.Model {
	if strings.HasPrefix(from, "eu") != strings.HasPrefix(to, "eu") {
		return link.Model{Latency: 40 * time.Millisecond}
	}
	return link.Model{Latency: 500 * time.Microsecond}
}

// between starts a gateway of two simulated networks that stands in us: its node of eu
// is named name, too.
func between(t *testing.T, eu, us *simnet.Nodes, name string) *gateway.Gateway {
	back := gateway.Crossing{From: "us", To: "eu", Cluster: "geo", Reseal: true}
	return started(t, gateway.Config{Networks: inBoth(eu, us, name), Crossings: []gateway.Crossing{fromEU("geo", ""), back}})
}

// inBoth are the networks of a gateway of that name.
func inBoth(eu, us *simnet.Nodes, name string) []gateway.Network {
	return []gateway.Network{{Name: "eu", Node: eu.Config(name + "-in-eu")}, {Name: "us", Node: us.Config(name + "-in-us")}}
}

// crashes ends a gateway of both without a word.
func crashes(n *sim.Network, name string) {
	n.Crash(name + "-in-eu")
	n.Crash(name + "-in-us")
}

// simServe serves a cluster on a simulated node.
func simServe(t *testing.T, n *node.Node, cluster string, h patterns.Handler) patterns.Registration {
	t.Helper()
	r, err := n.Serve(context.Background(), cluster, h, patterns.Limits{})
	require.NoError(t, err)
	return r
}

// simAsk asks a cluster, and says who answered and how long that took.
func simAsk(n *node.Node, cluster string) (who string, took time.Duration, err error) {
	begin := time.Now()
	reply, err := n.Request(context.Background(), cluster, patterns.Message{}, patterns.Idempotent())
	return strings.TrimSpace(string(reply.Body)), time.Since(begin), err
}

// answers requires that a cluster answers so, and says how long that took.
func answers(t *testing.T, n *node.Node, cluster, want string) time.Duration {
	t.Helper()
	who, took, err := simAsk(n, cluster)
	require.NoError(t, err)
	require.Equal(t, want, who)
	return took
}

// fails requires that a request fails so, and says how long that took.
func fails(t *testing.T, n *node.Node, cluster string, want error) time.Duration {
	t.Helper()
	_, took, err := simAsk(n, cluster)
	require.ErrorIs(t, err, want, cluster)
	return took
}

func TestARequestAcrossAnOceanCostsOneRoundTrip(t *testing.T) {
	// This test calls a service that is 40 ms away, of which the caller's network has
	// none: a request takes one round trip of 80 ms, and a first one no more than one
	// that the caller's own network answers, as the gateway watches for it.
	sim.Run(t, sim.Config{Seed: 1, Link: wan}, func(t *testing.T, n *sim.Network) {
		eu, us := simnet.New(t, n, "eu"), simnet.New(t, n, "us")
		eu.Start("eu-0")
		simServe(t, eu.Start("eu-1"), "geo", says("eu"))
		us.Start("us-0")
		g := between(t, eu, us, "g1")
		time.Sleep(10 * time.Second)
		caller := us.Start("us-1")
		time.Sleep(5 * time.Second)
		took := answers(t, caller, "geo", "eu")
		require.Less(t, took, 180*time.Millisecond, "the first one looks for the members, and opens the link to the gateway")
		for range 20 {
			require.InDelta(t, 81*time.Millisecond, answers(t, caller, "geo", "eu"), float64(3*time.Millisecond))
		}
		for _, c := range g.Status().Crossings {
			if c.From == "eu" {
				require.InDelta(t, 80*time.Millisecond, c.RoundTrip, float64(3*time.Millisecond))
			}
		}
	})
}

func TestACloudThatIsCutOffServesItselfAndComesBack(t *testing.T) {
	// This test has geo in both networks, cuts eu off from the gateways for a minute, and
	// heals it: us never asks anybody else. From 2 s on callers of geo@eu hear at once that
	// the network eu can't be reached, and never that it has no members; and they are
	// answered again as soon as the line is back. When us's own service goes afterwards
	// eu's is asked, and us's own again when it is back.
	sim.Run(t, sim.Config{Seed: 2, Link: wan}, func(t *testing.T, n *sim.Network) {
		eu, us := simnet.New(t, n, "eu"), simnet.New(t, n, "us")
		eu.Start("eu-0")
		simServe(t, eu.Start("eu-1"), "geo", says("eu"))
		us.Start("us-0")
		own := simServe(t, us.Start("us-1"), "geo", says("us"))
		between(t, eu, us, "g1")
		between(t, eu, us, "g2")
		caller := us.Start("us-2")
		time.Sleep(15 * time.Second)
		answers(t, caller, "geo", "us")
		answers(t, caller, "geo@eu", "eu")
		n.Partition([]string{"eu-0", "eu-1"}, []string{"g1-in-eu", "g2-in-eu"})
		time.Sleep(2 * time.Second)
		for range 60 {
			answers(t, caller, "geo", "us")
			_, took, err := simAsk(caller, "geo@eu")
			require.ErrorIs(t, err, patterns.ErrUnreachable)
			require.ErrorContains(t, err, "no gateway reaches the network eu")
			require.Less(t, took, 100*time.Millisecond)
			time.Sleep(time.Second)
		}
		n.Heal()
		began := time.Now()
		for {
			_, _, err := simAsk(caller, "geo@eu")
			require.Less(t, time.Since(began), 3*time.Second, "%v", err)
			if err == nil {
				break
			}
			require.ErrorIs(t, err, patterns.ErrUnreachable)
			time.Sleep(50 * time.Millisecond)
		}
		t.Logf("eu answers %v after the line is back", time.Since(began))
		time.Sleep(time.Minute)
		answers(t, caller, "geo@eu", "eu")
		require.NoError(t, own.Close(context.Background()))
		time.Sleep(time.Second)
		answers(t, caller, "geo", "eu")
		simServe(t, us.Start("us-3"), "geo", says("us"))
		time.Sleep(5 * time.Second)
		answers(t, caller, "geo", "us")
	})
}
