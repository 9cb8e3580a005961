// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package gateway_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/gateway"
	"github.com/arke-mesh/arke/internal/node"
	"github.com/arke-mesh/arke/internal/simnet"
	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/patterns/request"
	"github.com/arke-mesh/arke/sim"
)

// twoClouds are eu, with a node that serves clusters of these names, and us with one that
// calls, before there is a gateway.
func twoClouds(t *testing.T, n *sim.Network, served ...string) (eu, us *simnet.Nodes, caller *node.Node) {
	eu, us = simnet.New(t, n, "eu"), simnet.New(t, n, "us")
	eu.Start("eu-0")
	server := eu.Start("eu-1")
	for _, c := range served {
		simServe(t, server, c, says(c))
	}
	us.Start("us-0")
	caller = us.Start("us-1")
	time.Sleep(10 * time.Second)
	return eu, us, caller
}

// lending starts a gateway of eu and us with these crossings.
func lending(t *testing.T, eu, us *simnet.Nodes, name string, crossings ...gateway.Crossing) *gateway.Gateway {
	g := started(t, gateway.Config{Networks: inBoth(eu, us, name), Crossings: crossings})
	time.Sleep(10 * time.Second)
	return g
}

// fromEU is a crossing from eu to us.
func fromEU(cluster, as string) gateway.Crossing {
	return gateway.Crossing{From: "eu", To: "us", Cluster: cluster, As: as, Reseal: true}
}

func TestAPatternLendsWhatSomebodyAsksFor(t *testing.T) {
	// This test lends geo.* of eu to us by two gateways, where it is called eu-geo.*: a
	// first request for one of these clusters is answered, and each gateway lends it then,
	// and no other cluster. A name that the pattern does not match, or nobody serves in eu
	// either, has no member, and so has one that is reserved. What was not used for five
	// minutes is not lent any more, until somebody asks again.
	sim.Run(t, sim.Config{Seed: 7, Link: wan}, func(t *testing.T, n *sim.Network) {
		eu, us, caller := twoClouds(t, n, "geo.maps", "geo.roads", "private")
		pair := []*gateway.Gateway{
			lending(t, eu, us, "g1", fromEU("geo.*", "eu-geo.*")), lending(t, eu, us, "g2", fromEU("geo.*", "eu-geo.*")),
		}
		require.Empty(t, pair[0].Status().Crossings)
		for _, want := range []string{"geo.maps", "geo.roads"} {
			require.Less(t, answers(t, caller, "eu-"+want, want), 2*time.Second)
			require.Less(t, answers(t, caller, "eu-"+want, want), 90*time.Millisecond, "it is lent by now")
			time.Sleep(time.Second)
		}
		for _, g := range pair {
			s := g.Status()
			require.Len(t, s.Crossings, 2)
			require.Equal(t, []gateway.PatternStatus{{From: "eu", To: "us", Cluster: "geo.*", As: "eu-geo.*", Clusters: 2}}, s.Patterns)
			require.True(t, s.Crossings[0].Lent && s.Crossings[1].Lent)
		}
		for _, nobody := range []string{"geo.maps", "private", "eu-geo.none", "eu-private"} {
			require.Less(t, fails(t, caller, nobody, patterns.ErrNoMembers), time.Second)
		}
		members, err := caller.Members(context.Background(), "eu-geo.maps@eu")
		require.NoError(t, err)
		require.Len(t, members, 2)

		time.Sleep(6 * time.Minute)
		require.Empty(t, pair[0].Status().Crossings)
		answers(t, caller, "eu-geo.maps", "geo.maps")
	})
}

func TestPatternsChangeWithoutDisturbingTheOthers(t *testing.T) {
	// This test has a request under way in a cluster that a pattern lends while another
	// pattern comes, this one gets limits, and at last goes: the request is answered, what
	// comes is lent at once, what goes is not any more, and a literal crossing stands
	// above a pattern.
	sim.Run(t, sim.Config{Seed: 8, Link: wan}, func(t *testing.T, n *sim.Network) {
		eu, us, caller := twoClouds(t, n, "geo.maps", "time.now", "time.then")
		g := lending(t, eu, us, "g1", fromEU("geo.*", ""))
		slow := eu.Start("eu-2")
		simServe(t, slow, "geo.slow", patterns.HandlerFunc(func(ctx context.Context, r *patterns.Request) (patterns.Message, error) {
			time.Sleep(4 * time.Second)
			return patterns.Message{Body: []byte("slow")}, nil
		}))
		answers(t, caller, "geo.maps", "geo.maps")
		fails(t, caller, "time.now", patterns.ErrNoMembers)

		answered := make(chan error, 1)
		go func() { _, _, err := simAsk(caller, "geo.slow"); answered <- err }()
		time.Sleep(time.Second)
		limited := fromEU("geo.*", "")
		limited.Limits.InFlight = 1
		require.NoError(t, g.Cross([]gateway.Crossing{limited, fromEU("time.*", ""), fromEU("time.then", "time.now")}))
		time.Sleep(time.Second)
		answers(t, caller, "time.then", "time.then")
		answers(t, caller, "time.now", "time.then")          // as the literal crossing says
		fails(t, caller, "geo.slow", patterns.ErrOverloaded) // the limit holds at once
		require.NoError(t, g.Cross([]gateway.Crossing{fromEU("time.*", "")}))
		require.NoError(t, <-answered)
		time.Sleep(20 * time.Second)
		fails(t, caller, "geo.maps", patterns.ErrNoMembers)
		require.Error(t, g.Cross([]gateway.Crossing{fromEU("geo.*", "geo")}))
		require.Error(t, g.Cross([]gateway.Crossing{fromEU("topic:*", "")}))
	})
}

func TestNobodyServesIsSaidAsQuicklyWithoutPatterns(t *testing.T) {
	// This test asks for what nobody serves, in a network without a gateway that lends by
	// pattern: the first time that takes one more look at what the network knows, and
	// after that no time at all. With a pattern that does not match it is the same, and
	// the gateway is asked nothing. While nobody can say whether a cluster would be lent,
	// nobody says that it has no member.
	sim.Run(t, sim.Config{Seed: 9, Link: wan}, func(t *testing.T, n *sim.Network) {
		eu, us, caller := twoClouds(t, n, "geo.maps")
		miss := func(name string) time.Duration { return fails(t, caller, name, patterns.ErrNoMembers) }
		require.Less(t, miss("nobody"), 20*time.Millisecond)
		require.Less(t, miss("nobody"), time.Millisecond)
		lending(t, eu, us, "g1", fromEU("geo.*", ""))
		require.Less(t, miss("nobody"), time.Millisecond)
		require.Less(t, miss("nobody-else"), 10*time.Millisecond)
		n.Partition([]string{"us-1"}, []string{"g1-in-us"})
		require.Less(t, fails(t, caller, "geo.maps", patterns.ErrUnreachable), 4*time.Second)
		n.Heal()
	})
}

// mute takes questions and answers none.
type mute struct{}

func (mute) Deliver(*request.Delivery) {}
func (mute) Cancel(*request.Delivery)  {}

func TestWhoOffersAllNamesAndAnswersNothingDelaysNobodyForLong(t *testing.T) {
	// This test has a node of us offer every name and answer no question: the first name
	// that nobody serves takes two seconds, and others a quarter of one, for ten seconds.
	// It is unreachable: the node might have been a gateway. What an honest one lends is
	// found meanwhile.
	sim.Run(t, sim.Config{Seed: 14, Link: wan}, func(t *testing.T, n *sim.Network) {
		eu, us, caller := twoClouds(t, n, "geo.maps", "geo.zones")
		liar := us.Start("us-9")
		_, err := liar.OfferPatterns(context.Background(), []string{"*"}, patterns.Limits{}, mute{})
		require.NoError(t, err)
		lending(t, eu, us, "g1", fromEU("geo.*", ""))
		miss := func(name string, atMost time.Duration) {
			t.Helper()
			require.Less(t, fails(t, caller, name, patterns.ErrUnreachable), atMost)
		}
		for range 3 {
			ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
			_, err := caller.Request(ctx, "nobody", patterns.Message{})
			cancel()
			require.Error(t, err)
		}
		_, took, _ := simAsk(caller, "nobody")
		require.Greater(t, took, 1900*time.Millisecond, "a caller with little time takes nobody else's")
		time.Sleep(11 * time.Second)
		miss("nobody", 2100*time.Millisecond)
		for i := range 10 {
			miss(fmt.Sprint("nobody-", i), 300*time.Millisecond)
		}
		answers(t, caller, "geo.maps", "geo.maps")
		time.Sleep(10 * time.Second)
		miss("nobody", 2100*time.Millisecond)
		require.Equal(t, uint64(13), caller.Status().Drops["federation.no_answer"], "and those of callers who had no time are not counted")
	})
}

func TestOnePeerHasItsShareOfWhatIsLent(t *testing.T) {
	// This test has one node ask for 300 clusters that a pattern matches, of which eu
	// serves none: the gateway keeps 256 of them, says of others that it does not know,
	// and another node is served as before.
	sim.Run(t, sim.Config{Seed: 10, Link: wan}, func(t *testing.T, n *sim.Network) {
		eu, us, caller := twoClouds(t, n, "geo.maps")
		g := lending(t, eu, us, "g1", fromEU("geo.*", ""))
		var none, unknown int
		for i := range 300 {
			switch _, _, err := simAsk(caller, fmt.Sprint("geo.", i)); {
			case err == nil:
			case fmt.Sprint(err) == patterns.ErrNoMembers.Error():
				none++
			default:
				require.ErrorIs(t, err, patterns.ErrUnreachable)
				unknown++
			}
		}
		require.LessOrEqual(t, g.Status().Patterns[0].Clusters, 256)
		require.GreaterOrEqual(t, g.Status().Patterns[0].Refused["clusters_limit"], uint64(unknown))
		require.Equal(t, uint64(unknown), caller.Status().Drops["federation.no_answer"])
		require.Positive(t, none)
		require.Equal(t, 300, none+unknown)
		answers(t, us.Start("us-2"), "geo.maps", "geo.maps")
	})
}
