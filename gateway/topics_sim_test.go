// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package gateway_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/gateway"
	"github.com/arke-mesh/arke/internal/node"
	"github.com/arke-mesh/arke/internal/simnet"
	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/sim"
)

// borderOf starts a gateway of two simulated networks that lends topics.
func borderOf(t *testing.T, eu, us *simnet.Nodes, name string, topics ...gateway.TopicCrossing) *gateway.Gateway {
	return started(t, gateway.Config{Networks: inBoth(eu, us, name), Topics: topics})
}

// exchange is eu, where three nodes publish quotes, and us, before there is a gateway.
func exchange(t *testing.T, n *sim.Network) (eu, us *simnet.Nodes, publishers []*node.Node) {
	eu, us = simnet.New(t, n, "eu"), simnet.New(t, n, "us")
	for i := range 3 {
		publishers = append(publishers, eu.Start(fmt.Sprint("eu-", i)))
	}
	us.Start("us-0")
	return eu, us, publishers
}

// opens has all publishers do the same at once; done waits for them.
func opens(n *sim.Network, publishers []*node.Node, do func(p *node.Node)) (done func()) {
	var wg sync.WaitGroup
	for i, p := range publishers {
		wg.Add(1)
		n.Go(fmt.Sprint("publisher ", i), func() {
			defer wg.Done()
			do(p)
		})
	}
	return wg.Wait
}

// quotes is what most of these tests lend, and its way back.
func quotes(limits gateway.TopicLimits) gateway.TopicCrossing {
	return gateway.TopicCrossing{From: "eu", To: "us", Topic: "quotes.>", Reseal: true, Limits: limits}
}

func back(c gateway.TopicCrossing) gateway.TopicCrossing {
	c.From, c.To = c.To, c.From
	return c
}

// listener is a subscription that writes down what it hears: the number in each message
// by its publisher, in order, and what it is told to be missing.
type listener struct {
	patterns.Subscription

	mu      sync.Mutex
	got     map[string][]uint64 // by publisher
	topics  map[string]int
	missed  uint64
	gaps    []patterns.Gap
	wrong   []string
	unknown int
}

func listen(t *testing.T, n *node.Node, pattern string, o patterns.SubscribeOptions) *listener {
	t.Helper()
	l := &listener{got: map[string][]uint64{}, topics: map[string]int{}}
	var err error
	l.Subscription, err = n.Subscribe(context.Background(), pattern, l, o)
	require.NoError(t, err)
	return l
}

func (l *listener) ServePublication(p patterns.Publication) {
	l.mu.Lock()
	defer l.mu.Unlock()
	number, who := binary.BigEndian.Uint64(p.Body), p.From
	if was := l.got[who]; len(was) > 0 && was[len(was)-1] >= number {
		l.wrong = append(l.wrong, fmt.Sprintf("%s: %d after %d", who, number, was[len(was)-1]))
	}
	l.got[who] = append(l.got[who], number)
	l.topics[p.Topic]++
}

func (l *listener) ServeGap(g patterns.Gap) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.missed += g.Missed
	if g.Missed == 0 {
		l.unknown++
	}
	l.gaps = append(l.gaps, g)
}

// count is how many messages have come.
func (l *listener) count() (n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, got := range l.got {
		n += len(got)
	}
	return n
}

// hasAll requires that what came and what is told to be missing is what was sent, of each
// publisher in order and once.
func (l *listener) hasAll(t *testing.T, sent int, what string) {
	t.Helper()
	got := l.count()
	l.mu.Lock()
	defer l.mu.Unlock()
	require.Empty(t, l.wrong, what)
	require.Equal(t, sent, got+int(l.missed), "%s: %d came; %v", what, got, l.gaps)
}

// number is the body of the nth message.
func number(n int) patterns.Message {
	return patterns.Message{Body: binary.BigEndian.AppendUint64(nil, uint64(n))}
}

// publish publishes messages of these numbers, one each millisecond.
func publish(t *testing.T, n *node.Node, topic string, from, to int) {
	for i := from; i < to; i++ {
		if err := n.Publish(context.Background(), topic, number(i)); err != nil {
			t.Error(i, err)
		}
		time.Sleep(time.Millisecond)
	}
}

// carriedBy is how many messages have crossed by that gateway from there.
func carriedBy(g *gateway.Gateway, from string) (n int) {
	for _, s := range g.Status().Topics {
		if s.From == from {
			n += int(s.Messages)
		}
	}
	return n
}

func TestAPublicationCrossesOnceForManyWhoListen(t *testing.T) {
	// This test lends quotes in both directions by two gateways, has 20 nodes of us
	// listen in several ways, and publishes in eu: everybody has each message once, from
	// its publisher and in order; each message crosses once; what is not lent, and what has
	// crossed, does not cross.
	sim.Run(t, sim.Config{Seed: 1, Link: wan}, func(t *testing.T, n *sim.Network) {
		const sent, far = 200, 20
		eu, us, publishers := exchange(t, n)
		both := []gateway.TopicCrossing{quotes(gateway.TopicLimits{}), back(quotes(gateway.TopicLimits{}))}
		gs := []*gateway.Gateway{borderOf(t, eu, us, "g1", both...), borderOf(t, eu, us, "g2", both...)}
		var ears []*listener
		patternsOf := []string{"quotes.>", "quotes.*", "quotes.x", ">", "*.x"}
		for i := range far {
			ears = append(ears, listen(t, us.Start(fmt.Sprint("us-", i+1)), patternsOf[i%len(patternsOf)], patterns.SubscribeOptions{}))
		}
		own := listen(t, publishers[0], "quotes.>", patterns.SubscribeOptions{})
		time.Sleep(10 * time.Second)
		opens(n, publishers, func(p *node.Node) {
			publish(t, p, "quotes.x", 0, sent)
			publish(t, p, "private.x", 0, 5)
		})()
		time.Sleep(3 * time.Second)
		for i, e := range ears {
			e.hasAll(t, sent*len(publishers), patternsOf[i%len(patternsOf)])
			require.Zero(t, e.missed)
			require.Len(t, e.got, len(publishers))
			for who := range e.got {
				require.True(t, strings.HasSuffix(who, "@eu"), who)
			}
			require.Equal(t, map[string]int{"quotes.x": sent * len(publishers)}, e.topics)
		}
		own.hasAll(t, sent*len(publishers), "in eu itself")
		require.Equal(t, sent*len(publishers), carriedBy(gs[0], "eu")+carriedBy(gs[1], "eu"), "each once")
		require.NotZero(t, carriedBy(gs[0], "eu"))
		require.NotZero(t, carriedBy(gs[1], "eu"), "they share the publishers")
		require.Zero(t, carriedBy(gs[0], "us")+carriedBy(gs[1], "us"), "nothing goes back")
	})
}

func TestAGatewayThatDiesUnderLoadLosesNoMessageSilently(t *testing.T) {
	// This test has three publishers, each a message a millisecond, and kills the busier of
	// two gateways meanwhile: everybody who listens to all has each message once and in order,
	// or is told that it is missing.
	for seed := range uint64(6) {
		sim.Run(t, sim.Config{Seed: seed, Link: wan}, func(t *testing.T, n *sim.Network) {
			const sent = 3000
			eu, us, publishers := exchange(t, n)
			gs := []*gateway.Gateway{borderOf(t, eu, us, "g1", quotes(gateway.TopicLimits{})), borderOf(t, eu, us, "g2", quotes(gateway.TopicLimits{}))}
			ears := map[string]*listener{}
			for i, pattern := range []string{"quotes.>", "quotes.*", "quotes.x", ">", "*.x"} {
				ears[pattern] = listen(t, us.Start(fmt.Sprint("us-", i+1)), pattern, patterns.SubscribeOptions{})
			}
			time.Sleep(10 * time.Second)
			done := opens(n, publishers, func(p *node.Node) { publish(t, p, "quotes.x", 0, sent) })
			time.Sleep(time.Second)
			busier := "g1"
			if carriedBy(gs[1], "eu") > carriedBy(gs[0], "eu") {
				busier = "g2"
			}
			crashes(n, busier)
			done()
			time.Sleep(5 * time.Second)
			for pattern, e := range ears {
				e.hasAll(t, sent*len(publishers), fmt.Sprint("seed ", seed, ": ", pattern))
				require.Less(t, int(e.missed), sent/2, pattern)
				require.NotZero(t, e.missed, "what it had is lost with it")
				require.NotZero(t, e.unknown, "that it is lost is told at once")
			}
		})
	}
}

func TestWhatIsBeyondTheLimitsOfABorderIsToldAsAGap(t *testing.T) {
	// This test publishes twice as fast as a border lets pass, on two topics: what comes
	// and what is told to be missing is what was sent, also at the end; the gateway counts
	// it by name. Who listens to one of the topics is told at most as much.
	sim.Run(t, sim.Config{Seed: 3, Link: wan}, func(t *testing.T, n *sim.Network) {
		const sent = 2000
		eu, us := simnet.New(t, n, "eu"), simnet.New(t, n, "us")
		publisher := eu.Start("eu-0")
		us.Start("us-0")
		g := borderOf(t, eu, us, "g1", quotes(gateway.TopicLimits{Messages: 500}))
		all := listen(t, us.Start("us-1"), "quotes.>", patterns.SubscribeOptions{})
		one := listen(t, us.Start("us-2"), "quotes.x", patterns.SubscribeOptions{})
		time.Sleep(10 * time.Second)
		for i := range sent {
			require.NoError(t, publisher.Publish(context.Background(), []string{"quotes.x", "quotes.y"}[i%2], number(i)))
			time.Sleep(time.Millisecond)
		}
		time.Sleep(3 * time.Second)
		all.hasAll(t, sent, "all")
		require.Greater(t, all.missed, uint64(400))
		require.Empty(t, one.wrong)
		require.GreaterOrEqual(t, one.count()+int(one.missed), sent/2)
		for _, g := range all.gaps {
			require.Equal(t, patterns.GapBorder, g.Reason)
			require.True(t, strings.HasSuffix(g.From, "@eu"), g.From)
		}
		require.Equal(t, map[string]uint64{"messages_limit": all.missed}, g.Status().Topics[0].Refused)
	})
}

func TestAGatewayThatIsDrainedHandsOver(t *testing.T) {
	// This test shuts one of two gateways down under load: each message comes once and in
	// order, or is told to be missing, which few are; and nobody is told that a publisher
	// was lost.
	for seed := range uint64(4) {
		sim.Run(t, sim.Config{Seed: seed, Link: wan}, func(t *testing.T, n *sim.Network) {
			const sent = 3000
			eu, us, publishers := exchange(t, n)
			g := borderOf(t, eu, us, "g1", quotes(gateway.TopicLimits{}))
			borderOf(t, eu, us, "g2", quotes(gateway.TopicLimits{}))
			ear := listen(t, us.Start("us-1"), "quotes.>", patterns.SubscribeOptions{})
			time.Sleep(10 * time.Second)
			done := opens(n, publishers, func(p *node.Node) { publish(t, p, "quotes.x", 0, sent) })
			time.Sleep(time.Second)
			require.NoError(t, g.Shutdown(context.Background()))
			done()
			time.Sleep(3 * time.Second)
			ear.hasAll(t, sent*len(publishers), fmt.Sprint("seed ", seed))
			require.Zero(t, ear.unknown)
			require.Less(t, ear.missed, uint64(50))
		})
	}
}

func TestQueuesOfTheOwnNetworkComeFirst(t *testing.T) {
	// This test has a queue in both networks, and one in the far one only: of the first one
	// the publisher's own network has each message, of the second one a member there, each
	// once. When nobody at home has the queue any more the far members do.
	sim.Run(t, sim.Config{Seed: 4, Link: wan}, func(t *testing.T, n *sim.Network) {
		const sent = 100
		eu, us := simnet.New(t, n, "eu"), simnet.New(t, n, "us")
		publisher := eu.Start("eu-0")
		us.Start("us-0")
		borderOf(t, eu, us, "g1", quotes(gateway.TopicLimits{}))
		borderOf(t, eu, us, "g2", quotes(gateway.TopicLimits{}))
		own := listen(t, eu.Start("eu-1"), "quotes.*", patterns.SubscribeOptions{Queue: "both"})
		far := us.Start("us-1")
		both := listen(t, far, "quotes.*", patterns.SubscribeOptions{Queue: "both"})
		only := []*listener{
			listen(t, far, "quotes.*", patterns.SubscribeOptions{Queue: "far"}),
			listen(t, us.Start("us-2"), "quotes.*", patterns.SubscribeOptions{Queue: "far"}),
		}
		time.Sleep(10 * time.Second)
		publish(t, publisher, "quotes.x", 0, sent)
		time.Sleep(2 * time.Second)
		own.hasAll(t, sent, "at home")
		require.Zero(t, both.count())
		require.Equal(t, sent, only[0].count()+only[1].count())
		require.NotZero(t, only[0].count())
		require.NotZero(t, only[1].count())
		require.NoError(t, own.Close(context.Background()))
		time.Sleep(2 * time.Second)
		publish(t, publisher, "quotes.x", sent, 2*sent)
		time.Sleep(2 * time.Second)
		both.hasAll(t, sent, "nobody at home")
	})
}

func TestTopicsUnderAnotherNameAndWithoutSignatures(t *testing.T) {
	// This test lends topics under another first word, from a group with a queue of its own
	// name for gateways that no program can take, and listens to them with Signed, which is
	// a gap for each; and nobody listens, so nothing crosses, and it does soon after
	// somebody begins.
	sim.Run(t, sim.Config{Seed: 5, Link: wan}, func(t *testing.T, n *sim.Network) {
		eu, us := simnet.New(t, n, "eu"), simnet.New(t, n, "us")
		publisher := eu.Start("eu-0")
		us.Start("us-0")
		x := quotes(gateway.TopicLimits{})
		x.As = "rates"
		g := borderOf(t, eu, us, "g1", x)
		time.Sleep(10 * time.Second)
		publish(t, publisher, "quotes.x.y", 0, 10)
		time.Sleep(time.Second)
		status := g.Status().Topics[0]
		require.False(t, status.Listened)
		require.False(t, status.Lent)
		require.Zero(t, status.Messages)
		_, err := publisher.Subscribe(context.Background(), "quotes.>", patterns.SubscriberFunc(func(patterns.Publication) {}), patterns.SubscribeOptions{Queue: "$x"})
		require.ErrorIs(t, err, patterns.ErrTopic)

		far := us.Start("us-1")
		lax := listen(t, far, "rates.x.*", patterns.SubscribeOptions{})
		strict := listen(t, far, "rates.>", patterns.SubscribeOptions{Signed: true})
		time.Sleep(time.Second)
		status = g.Status().Topics[0]
		require.True(t, status.Lent)
		require.Equal(t, "rates.>", status.As)
		require.NoError(t, g.Ready())
		publish(t, publisher, "quotes.x.y", 10, 20)
		time.Sleep(time.Second)
		lax.hasAll(t, 10, "rates")
		require.Equal(t, map[string]int{"rates.x.y": 10}, lax.topics)
		require.Zero(t, strict.count())
		require.Equal(t, uint64(10), strict.missed)
		require.Equal(t, patterns.GapUnsigned, strict.gaps[0].Reason)

		require.NoError(t, g.CrossTopics(nil))
		time.Sleep(time.Second)
		publish(t, publisher, "quotes.x.y", 20, 30)
		time.Sleep(time.Second)
		lax.hasAll(t, 10, "no longer lent")
		require.Error(t, g.CrossTopics([]gateway.TopicCrossing{{From: "eu", To: "us", Topic: ">"}}))
	})
}
