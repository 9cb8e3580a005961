// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package pubsub_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/internal/node"
	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/security"
	"github.com/arke-mesh/arke/sim"
)

// tally is a subscription that counts.
type tally struct {
	mu   sync.Mutex
	got  []string
	gaps []patterns.Gap
}

func (r *tally) ServePublication(p patterns.Publication) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.got = append(r.got, p.Headers.Get("n")+" "+string(p.Body)+" of "+p.From)
}

func (r *tally) ServeGap(g patterns.Gap) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.gaps = append(r.gaps, g)
}

func (r *tally) take() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := r.got
	r.got = nil
	return out
}

// tallied publishes messages of these numbers, and returns how tallies get them.
func (h *hall) tallied(from, to int, pause time.Duration) (want []string) {
	for i := from; i < to; i++ {
		m := patterns.Message{Headers: patterns.Headers{{Key: "n", Value: fmt.Sprint(i)}}, Body: []byte("body")}
		require.NoError(h.t, h.nodes[0].Publish(context.Background(), "news.world", m))
		want = append(want, fmt.Sprintf("%d body of %s", i, h.nodes[0].Self()))
		time.Sleep(pause)
	}
	return want
}

func TestWhatIsSignedArrivesHoweverItTravels(t *testing.T) {
	// This test publishes to nodes that ask for signatures, each also without: to few,
	// which are reached directly, and to so many that most are reached through others; in
	// a group with a key of its own and without; by patterns that begin with a word, or
	// with a wildcard, and for queues. Once the publisher knows, everybody gets everything,
	// in order, with headers.
	t.Parallel()
	for _, audience := range []int{3, 24} {
		for _, keyed := range []bool{false, true} {
			t.Run(fmt.Sprintf("%d nodes, key %t", audience, keyed), func(t *testing.T) {
				sim.Run(t, sim.Config{Seed: 11}, func(t *testing.T, n *sim.Network) { signedTo(t, n, audience, keyed) })
			})
		}
	}
}

func signedTo(t *testing.T, n *sim.Network, audience int, keyed bool) {
	key := func(c *node.Config) {
		if keyed {
			c.ClusterKeys = map[string][]security.KeyVersion{"topic:news": {{Version: 1, Key: security.Key{7}}}}
		}
	}
	h := newHall(t, n, audience, key)
	listened := []string{"news.>"}
	if !keyed { // else the root group lacks the key
		listened = append(listened, "*.world")
	}
	all := make(map[bool][]*tally)
	queues := make(map[string][]*tally)
	for _, l := range h.nodes {
		for _, pattern := range listened {
			for _, o := range []patterns.SubscribeOptions{{}, {Signed: true}, {Signed: true, Queue: "q"}} {
				to := &tally{}
				_, err := l.Subscribe(context.Background(), pattern, to, o)
				require.NoError(t, err)
				if o.Queue != "" {
					queues[pattern] = append(queues[pattern], to)
				} else {
					all[o.Signed] = append(all[o.Signed], to)
				}
			}
		}
	}
	time.Sleep(3 * time.Second)
	want := h.tallied(0, 50, 10*time.Millisecond)
	time.Sleep(time.Second)
	for signed, them := range all {
		for _, r := range them {
			require.Equal(t, want, r.take(), "signed %t", signed)
			require.Empty(t, r.gaps)
		}
	}
	for pattern, queue := range queues {
		var got []string
		for _, r := range queue {
			got = append(got, r.take()...)
			require.Empty(t, r.gaps)
		}
		slices.Sort(got)
		require.ElementsMatch(t, want, got, pattern)
	}
	require.Zero(t, h.nodes[1].Status().Drops["pubsub.unsigned"])
}

func TestAskingForSignaturesAndNoLongerDisturbsNobody(t *testing.T) {
	// This test has a node ask for signatures and no longer, again and again, by patterns
	// that begin with a word and with a wildcard, while another one publishes: the
	// forwarders of the root group register anew each time, and everybody else gets
	// everything, in order.
	t.Parallel()
	sim.Run(t, sim.Config{Seed: 5}, func(t *testing.T, n *sim.Network) {
		h := newHall(t, n, 5)
		var all []*tally
		for _, l := range h.nodes {
			for _, pattern := range []string{"news.>", "*.world"} {
				to := &tally{}
				_, err := l.Subscribe(t.Context(), pattern, to, patterns.SubscribeOptions{})
				require.NoError(t, err)
				all = append(all, to)
			}
		}
		time.Sleep(3 * time.Second)
		publish := func(from int) []string { return h.tallied(from, from+100, 20*time.Millisecond) }
		var want []string
		for range 5 {
			var asking []patterns.Subscription
			for _, pattern := range []string{"news.>", "*.world"} {
				s, err := h.nodes[1].Subscribe(t.Context(), pattern, &tally{}, patterns.SubscribeOptions{Signed: true})
				require.NoError(t, err)
				asking = append(asking, s)
			}
			want = append(want, publish(len(want))...)
			for _, s := range asking {
				require.NoError(t, s.Close(t.Context()))
			}
			want = append(want, publish(len(want))...)
		}
		time.Sleep(time.Second)
		for _, r := range all {
			require.Equal(t, want, r.take())
			require.Empty(t, r.gaps)
		}
	})
}
