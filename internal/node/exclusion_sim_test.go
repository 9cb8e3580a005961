// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package node_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/internal/node"
	"github.com/arke-mesh/arke/internal/raced"
	"github.com/arke-mesh/arke/internal/simnet"
	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/security"
	"github.com/arke-mesh/arke/sim"
)

// crowd is an issued network of many simulated nodes, and of guests that each of them
// has a link with.
type crowd struct {
	*office
	nodes  []*node.Node
	guests []*node.Node
	file   security.NetworkFile
}

func newCrowd(t *testing.T, n *sim.Network, nodes, guests int) *crowd {
	c := &crowd{office: &office{t: t}}
	places := simnet.New(t, n, "crowd")
	optional := security.Issuance{} // where certificates are required keys ban nobody
	for i := range nodes {
		c.nodes = append(c.nodes, c.start(places, fmt.Sprint("n", i), all, &optional))
	}
	for i := range guests {
		g := c.start(places, fmt.Sprint("g", i), all, &optional)
		c.guests = append(c.guests, g)
		_, err := g.Serve(context.Background(), fmt.Sprint("trap", i), echo, patterns.Limits{})
		require.NoError(t, err)
	}
	time.Sleep(2 * time.Second)
	for i := range guests {
		for _, n := range c.nodes {
			_, err := n.Request(context.Background(), fmt.Sprint("trap", i), patterns.Message{})
			require.NoError(t, err)
		}
	}
	return c
}

// start starts a node with a certificate, in whose file this stands, by the authority of
// the crowd; nil = nothing, as of a node that obeys nobody.
func (c *crowd) start(at *simnet.Nodes, name string, r rights, stands *security.Issuance) *node.Node {
	return at.Start(name, func(cfg *node.Config) {
		if c.authority.IsZero() {
			var err error
			c.authority, err = security.GenerateAuthority(cfg.Network.ID, rand.NewChaCha8([32]byte{1}))
			require.NoError(c.t, err)
		}
		if stands != nil {
			cfg.Network.Issuance = security.Issuance{Authority: c.authority.ID(), Required: stands.Required}
			c.file = cfg.Network
		}
		cfg.Certificate = c.sign(name, cfg.Seam.Transport.Self(), r)
	})
}

// cutOff tells one node, and returns how long it is until none has a link with a guest:
// at each node, in rising order.
func (c *crowd) cutOff(g *node.Node, tell func()) []time.Duration {
	for _, n := range c.nodes {
		require.True(c.t, hasLink(n, g))
	}
	begin := time.Now()
	tell()
	var took []time.Duration
	for left := slices.Clone(c.nodes); len(left) > 0; time.Sleep(5 * time.Millisecond) {
		left = slices.DeleteFunc(left, func(n *node.Node) bool {
			gone := !hasLink(n, g)
			if gone {
				took = append(took, time.Since(begin))
			}
			return gone
		})
		require.Less(c.t, time.Since(begin), 5*time.Second, "%d nodes still have a link", len(left))
	}
	return took
}

func TestAHundredNodesCutWhoIsExcludedWithinFiveSeconds(t *testing.T) {
	// This test tells one node of a hundred of a ban, and another one of a revocation, twice
	// each: within 5 s no node has a link with the guest that it is about, and
	// none gets one again. It logs how long it took.
	const rounds = 2
	count := 100
	if raced.Enabled {
		count = 30 // or it takes minutes
	}
	sim.Run(t, sim.Config{Seed: 11}, func(t *testing.T, n *sim.Network) {
		c := newCrowd(t, n, count, 2*rounds)
		var bans, revocations []time.Duration
		var out []peer.ID
		for i := range rounds {
			guest, told := c.guests[2*i], c.nodes[(37*i+5)%len(c.nodes)]
			bans = append(bans, c.cutOff(guest, func() {
				give(t, banning(c.file, guest.Self()), told)
			})...)
			guest, told = c.guests[2*i+1], c.nodes[(53*i+11)%len(c.nodes)]
			out = append(out, guest.Self())
			revocations = append(revocations, c.cutOff(guest, func() {
				require.NoError(t, told.Credentials().Revoke(c.list(uint64(i+1), out...)))
			})...)
		}
		for name, took := range map[string][]time.Duration{"ban": bans, "revocation": revocations} {
			slices.Sort(took)
			t.Logf("%s to the link cut: p50 %v, max %v, of %d", name, took[len(took)/2], took[len(took)-1], len(took))
		}
		time.Sleep(5 * time.Second) // they try again
		for _, n := range c.nodes {
			require.False(t, slices.ContainsFunc(c.guests, func(g *node.Node) bool { return hasLink(n, g) }))
		}
	})
}

func TestWhoMayNotPublishIsNotHeardThroughForwardersThatLie(t *testing.T) {
	// This test has a node publish what its certificate does not allow to 60 subscribers, of
	// which half obey nobody and pass on whatever comes: those hear it, and each that
	// asks for certificates does not. What is allowed all of them hear. Then its certificate is
	// renewed, and all hear on; and revoked, and those who ask hear nothing more.
	sim.Run(t, sim.Config{Seed: 5}, func(t *testing.T, n *sim.Network) {
		c := &crowd{office: &office{t: t}}
		places := simnet.New(t, n, "publishers")
		required := security.Issuance{Required: true}
		var allowed, forbidden [2]atomic.Int64 // of the lawless, and of the others
		publisher := c.start(places, "publisher", func(c *security.Certificate) { all(c); c.Publish = []string{"news.*"} }, nil)
		nodes := []*node.Node{publisher}
		for i := range 60 {
			s := c.start(places, fmt.Sprint("s", i), all, [...]*security.Issuance{nil, &required}[i%2])
			nodes = append(nodes, s)
			for topic, count := range map[string]*atomic.Int64{"news.a": &allowed[i%2], "news.a.b": &forbidden[i%2]} {
				_, err := s.Subscribe(t.Context(), topic, patterns.SubscriberFunc(func(patterns.Publication) { count.Add(1) }), patterns.SubscribeOptions{})
				require.NoError(t, err)
			}
		}
		time.Sleep(5 * time.Second)
		publish := func(times int) {
			for _, topic := range []string{"news.a", "news.a.b"} { // one after the other: a frame is refused whole
				for range times {
					require.NoError(t, publisher.Publish(t.Context(), topic, patterns.Message{}))
				}
				time.Sleep(2 * time.Second)
			}
		}
		publish(50)
		require.EqualValues(t, 30*50, allowed[0].Load())
		require.EqualValues(t, 30*50, allowed[1].Load())
		require.Positive(t, forbidden[0].Load(), "who asks nobody hears it")
		require.Zero(t, forbidden[1].Load())

		require.NoError(t, publisher.Credentials().Show(c.sign("publisher", publisher.Self(), all)))
		publish(50)
		require.EqualValues(t, 30*100, allowed[1].Load())
		require.EqualValues(t, 30*50, forbidden[1].Load(), "with another certificate it may")

		require.NoError(t, nodes[2].Credentials().Revoke(c.list(1, publisher.Self())))
		time.Sleep(5 * time.Second)
		publish(50)
		require.Greater(t, allowed[0].Load(), int64(30*100))
		require.EqualValues(t, 30*100, allowed[1].Load())
		require.EqualValues(t, 30*50, forbidden[1].Load())
	})
}
