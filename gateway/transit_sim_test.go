// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package gateway_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"slices"
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
	"github.com/arke-mesh/arke/sim/link"
)

// ring is networks each of which has gateways to the next one, and the last one to the
// first. Each serves all, and a cluster of its own name, and has one more node that calls.
type ring struct {
	t       *testing.T
	net     *sim.Network
	names   []string
	clouds  map[string]*simnet.Nodes
	callers map[string]*node.Node
	all     []string // who serves all, sorted
	pairs   map[string]*gateway.Gateway

	mu    sync.Mutex
	heard map[string]map[string]int // guarded by mu: message to member to how often
}

// inOneHouse is half a millisecond between any two machines.
func inOneHouse(string, string) link.Model { return link.Model{Latency: 500 * time.Microsecond} }

func newRing(t *testing.T, n *sim.Network, transit bool, gatewaysEach int, names ...string) *ring {
	r := &ring{
		t: t, net: n, names: names, clouds: map[string]*simnet.Nodes{}, callers: map[string]*node.Node{},
		pairs: map[string]*gateway.Gateway{}, heard: map[string]map[string]int{},
	}
	for i, name := range names {
		r.clouds[name] = simnet.New(t, n, name)
		r.callers[name] = r.clouds[name].Start(name + "-caller")
		for j := range 1 + i%2 { // one or two members
			who := fmt.Sprint(name, j)
			node := r.clouds[name].Start(who)
			r.serve(node, "all", who)
			r.serve(node, "only-"+name, who)
			r.all = append(r.all, who)
		}
	}
	slices.Sort(r.all)
	for i, name := range names {
		for j := range gatewaysEach {
			r.join(name, names[(i+1)%len(names)], fmt.Sprint(j), transit)
		}
	}
	time.Sleep(30 * time.Second)
	return r
}

// join starts a gateway between two networks that lends everything both ways.
func (r *ring) join(a, b, number string, transit bool) {
	name := a + b + number
	cfg := gateway.Config{Networks: []gateway.Network{
		{Name: a, Node: r.clouds[a].Config(name + "-in-" + a)}, {Name: b, Node: r.clouds[b].Config(name + "-in-" + b)},
	}}
	clusters := []string{"all", "extra"}
	for _, n := range r.names {
		clusters = append(clusters, "only-"+n)
	}
	for _, c := range clusters {
		cfg.Crossings = append(cfg.Crossings, gateway.Crossing{From: a, To: b, Cluster: c, Reseal: true, Transit: transit},
			gateway.Crossing{From: b, To: a, Cluster: c, Reseal: true, Transit: transit})
	}
	r.pairs[name] = started(r.t, cfg)
}

// crash ends a gateway without a word.
func (r *ring) crash(name string) {
	for _, n := range r.names {
		r.net.Crash(name + "-in-" + n)
	}
	require.NoError(r.t, r.pairs[name].Close())
	delete(r.pairs, name)
}

func (r *ring) serve(n *node.Node, cluster, who string) {
	hear := func(what []byte) {
		r.mu.Lock()
		defer r.mu.Unlock()
		if r.heard[string(what)] == nil {
			r.heard[string(what)] = map[string]int{}
		}
		r.heard[string(what)][who]++
	}
	simServe(r.t, n, cluster, patterns.Service{
		Request: func(_ context.Context, q *patterns.Request) (patterns.Message, error) {
			hear(q.Body)
			return patterns.Message{Body: []byte(who)}, nil
		},
		Broadcast: func(_ context.Context, q *patterns.Request) { hear(q.Body) },
	})
}

// survey asks all from a network, and says who has answered.
func (r *ring) survey(from string) (who []string, result patterns.SurveyResult) {
	result, err := r.callers[from].Survey(context.Background(), "all", patterns.Message{Body: []byte("survey " + from)},
		func(s patterns.SurveyReply) error { who = append(who, string(s.Message.Body)); return nil }, patterns.SurveyOptions{})
	require.NoError(r.t, err)
	slices.Sort(who)
	return who, result
}

// carried is how many messages have crossed all borders together, and refusedRound how
// many gateways refused because they would have gone round.
func (r *ring) carried() (crossed, refusedRound uint64) {
	for _, g := range r.pairs {
		for _, c := range g.Status().Crossings {
			crossed += c.Messages
			refusedRound += c.Refused["round"]
		}
	}
	return crossed, refusedRound
}

func TestARingOfFourNetworksServesEverybodyOnce(t *testing.T) {
	// This test joins four networks in a ring with two gateways at each border, all with
	// transit. From each network each cluster of another one is served, by its name and
	// its network's; a survey has a reply of every member and is complete; a broadcast is
	// heard by each member once, and crosses no more borders than there are on the
	// shortest ways.
	sim.Run(t, sim.Config{Seed: 3, Link: inOneHouse}, func(t *testing.T, n *sim.Network) {
		r := newRing(t, n, true, 2, "a", "b", "c", "d")
		for _, from := range r.names {
			for _, to := range r.names {
				for _, cluster := range []string{"only-" + to, "all@" + to} {
					reply, err := r.callers[from].Request(context.Background(), cluster, patterns.Message{})
					require.NoError(t, err, "%s from %s", cluster, from)
					require.Equal(t, to, string(reply.Body[:1]))
				}
			}
			who, result := r.survey(from)
			require.Equal(t, r.all, who)
			require.True(t, result.Complete)
		}
		for i := range 20 {
			from := r.names[i%4]
			what := "broadcast " + string(rune('a'+i))
			before, _ := r.carried()
			tally, err := r.callers[from].Broadcast(context.Background(), "all", patterns.Message{Body: []byte(what)})
			require.NoError(t, err)
			require.True(t, tally.Complete)
			require.Equal(t, len(r.all), tally.Members)
			after, _ := r.carried()
			require.Equal(t, uint64(4), after-before, "one border to each neighbour and two to the network opposite")
			time.Sleep(time.Second)
			require.Len(t, r.heard[what], len(r.all))
			for who, times := range r.heard[what] {
				require.Equal(t, 1, times, "%s heard %s", who, what)
			}
		}
		_, refused := r.carried()
		require.Zero(t, refused)
	})
}

func TestWhenGatewaysOfARingDieMessagesGoTheOtherWay(t *testing.T) {
	// This test has each network broadcast and survey twice a second while, in a ring
	// with two gateways at each border, first one between b and c dies and then the other
	// one. A member hears nothing twice; a survey or broadcast is complete, or names who
	// is missing; requests that may be repeated are all answered. When all is quiet c is
	// reached the other way round, across three borders from b, by what is its own and
	// by everybody's messages.
	sim.Run(t, sim.Config{Seed: 4, Link: inOneHouse}, func(t *testing.T, n *sim.Network) {
		r := newRing(t, n, true, 2, "a", "b", "c", "d")
		var wg sync.WaitGroup
		stop := make(chan struct{})
		for _, from := range r.names {
			wg.Go(func() {
				for i := 0; ; i++ {
					select {
					case <-stop:
						return
					case <-time.After(500 * time.Millisecond):
					}
					r.broadcastOnce(from, i)
					who, result := r.survey(from)
					require.Equal(t, slices.Compact(slices.Clone(who)), who, "a reply came twice")
					require.True(t, result.Complete || len(result.Missing) > 0)
					if result.Complete {
						require.Equal(t, r.all, who)
					}
					_, err := r.callers[from].Request(context.Background(), "only-c", patterns.Message{}, patterns.Idempotent())
					require.NoError(t, err, "from %s", from)
				}
			})
		}
		time.Sleep(5 * time.Second)
		r.crash("bc0")
		time.Sleep(10 * time.Second)
		r.crash("bc1")
		time.Sleep(30 * time.Second)
		close(stop)
		wg.Wait()
		r.mu.Lock()
		for what, members := range r.heard {
			for who, times := range members {
				if what != "" && what[:6] != "survey" {
					require.Equal(t, 1, times, "%s heard %s", who, what)
				}
			}
		}
		r.mu.Unlock()
		for _, from := range r.names {
			who, result := r.survey(from)
			require.True(t, result.Complete, "%v", result.Missing)
			require.Equal(t, r.all, who)
		}
		reply, err := r.callers["b"].Request(context.Background(), "only-c", patterns.Message{})
		require.NoError(t, err)
		require.Equal(t, "c0", string(reply.Body))
		require.Equal(t, 3, r.borders("ab", "a", "b", "only-c", "c"))
	})
}

// broadcastOnce sends a message that has a name of its own.
func (r *ring) broadcastOnce(from string, i int) {
	what := fmt.Sprintf("broadcast %s %d", from, i)
	tally, err := r.callers[from].Broadcast(context.Background(), "all", patterns.Message{Body: []byte(what)})
	require.NoError(r.t, err)
	require.True(r.t, tally.Complete || len(tally.Missing) > 0)
	if tally.Complete {
		require.Equal(r.t, len(r.all), tally.Members)
	}
}

// borders is how many borders a message crosses that a gateway of the pair lends on: a
// cluster of the network called of, from one network to another. 0 = it is not lent.
func (r *ring) borders(pair, from, to, cluster, of string) int {
	for _, c := range r.pairs[pair+"0"].Status().Crossings {
		if c.From == from && c.To == to && c.Cluster == cluster {
			for _, x := range c.Transit {
				if x.Network == of && x.Lent {
					return x.Borders
				}
			}
		}
	}
	return 0
}

func TestAClusterThatEndsIsNotRememberedInARing(t *testing.T) {
	// This test ends a service of which a ring of four networks knows: within seconds
	// nobody lends it any more, as nobody takes it from who has it from him, and callers
	// hear that it has no member. Then the ring is cut twice, so that it falls into
	// halves: what is beyond the cut is forgotten, and what is not goes on.
	sim.Run(t, sim.Config{Seed: 5, Link: inOneHouse}, func(t *testing.T, n *sim.Network) {
		r := newRing(t, n, true, 1, "a", "b", "c", "d")
		reg := simServe(t, r.callers["c"], "extra", says("c"))
		time.Sleep(5 * time.Second)
		_, err := r.callers["a"].Request(context.Background(), "extra", patterns.Message{})
		require.NoError(t, err)
		require.NoError(t, reg.Close(context.Background()))
		time.Sleep(5 * time.Second)
		for _, from := range []string{"a", "b", "d"} {
			_, err = r.callers[from].Request(context.Background(), "extra", patterns.Message{})
			require.ErrorIs(t, err, patterns.ErrNoMembers)
		}
		before, _ := r.carried()
		time.Sleep(time.Minute)
		after, _ := r.carried()
		require.Equal(t, before, after, "nothing goes on by itself")

		r.crash("bc0")
		r.crash("da0")
		time.Sleep(30 * time.Second)
		for from, reach := range map[string]string{"a": "ab", "b": "ab", "c": "cd", "d": "cd"} {
			var want []string
			for _, who := range r.all {
				if strings.Contains(reach, who[:1]) {
					want = append(want, who)
				}
			}
			who, result := r.survey(from)
			require.True(t, result.Complete)
			require.Equal(t, want, who)
		}
	})
}

func TestOutcomesKeepTheirMeaningAcrossSeveralBorders(t *testing.T) {
	// This test asks across two borders: what a handler refuses, or does not answer in
	// time, and what is too large, mean there what they mean at home. A tunnel carries a
	// megabyte both ways and ends in order. When the gateway that has a request dies
	// nobody says that no handler ran, and one that may not be repeated has run once.
	sim.Run(t, sim.Config{Seed: 6, Link: inOneHouse}, func(t *testing.T, n *sim.Network) {
		r := newRing(t, n, true, 1, "a", "b", "c", "d")
		ran := 0
		_, err := r.callers["c"].Serve(context.Background(), "extra", patterns.Service{
			Request: func(ctx context.Context, q *patterns.Request) (patterns.Message, error) {
				ran++
				switch string(q.Body) {
				case "fail":
					return patterns.Message{}, &patterns.RemoteError{Code: 417, Message: "no"}
				case "wait":
					<-ctx.Done()
				}
				return patterns.Message{Body: q.Body, Headers: q.Headers}, nil
			},
			Tunnel: func(ctx context.Context, tun patterns.Tunnel) error {
				m, err := tun.Receive(ctx)
				if err != nil {
					return err
				}
				return tun.Send(ctx, m)
			},
		}, patterns.Limits{MessageBytes: 2 << 20})
		require.NoError(t, err)
		time.Sleep(5 * time.Second)
		ask := func(body string, within time.Duration) (patterns.Message, error) {
			ctx, cancel := context.WithTimeout(context.Background(), within)
			defer cancel()
			return r.callers["a"].Request(ctx, "extra", patterns.Message{Body: []byte(body), Headers: patterns.Headers{{Key: "k", Value: "v"}}})
		}
		reply, err := ask("hi", time.Second)
		require.NoError(t, err)
		require.Equal(t, "hi", string(reply.Body))
		require.Equal(t, "v", reply.Headers.Get("k"))
		_, err = ask("fail", time.Second)
		var remote *patterns.RemoteError
		require.ErrorAs(t, err, &remote)
		require.Equal(t, patterns.RemoteError{Cluster: "extra", Code: 417, Message: "no"}, *remote)
		_, err = ask(strings.Repeat("x", 3<<20), time.Second)
		require.ErrorIs(t, err, patterns.ErrTooLarge)
		begin := time.Now()
		_, err = ask("wait", 2*time.Second)
		var late *patterns.DeadlineError
		require.ErrorAs(t, err, &late)
		require.True(t, late.MaybeRan)
		require.InDelta(t, 2*time.Second, time.Since(begin), float64(5*time.Millisecond))

		big := bytes.Repeat([]byte("tunnel"), 1<<20/6)
		tun, err := r.callers["a"].OpenTunnel(context.Background(), "extra", patterns.Message{})
		require.NoError(t, err)
		require.NoError(t, tun.Send(context.Background(), big))
		back, err := tun.Receive(context.Background())
		require.NoError(t, err)
		require.Equal(t, big, back)
		_, err = tun.Receive(context.Background())
		require.ErrorIs(t, err, io.EOF)

		before := ran
		outcome := make(chan error, 1)
		go func() { _, err := ask("wait", 20*time.Second); outcome <- err }()
		time.Sleep(time.Second)
		for name, g := range r.pairs { // the one that has it, at c
			for _, c := range g.Status().Crossings {
				if c.InFlight > 0 && c.From == "c" {
					r.crash(name)
					break
				}
			}
		}
		err = <-outcome
		require.Error(t, err)
		require.NotErrorIs(t, err, patterns.ErrNoMembers)
		require.NotErrorIs(t, err, patterns.ErrUnreachable)
		require.Equal(t, before+1, ran)
	})
}
