// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package arketest_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke"
	"github.com/arke-mesh/arke/arketest"
)

// named asks cluster "who" and returns who answered.
func named(t *testing.T, caller *arke.Conn, opts ...arke.RequestOption) string {
	t.Helper()
	reply, err := caller.Request(t.Context(), "who", arke.Message{}, opts...)
	require.NoError(t, err)
	return string(reply.Body)
}

func TestPoliciesChooseMembersAsTheySay(t *testing.T) {
	// This test asks two members many times, by each policy and with a key.
	arketest.Run(t, func(t *testing.T, n *arketest.Network) {
		caller := who(t, n)
		for _, p := range []arke.Policy{arke.PolicyLoad, arke.PolicyRandom, arke.PolicyWeighted} {
			got := map[string]int{}
			for range 100 {
				got[named(t, caller, arke.Choose(p))]++
			}
			require.Len(t, got, 2, "policy %d", p)
		}
		for range 10 {
			first := named(t, caller, arke.Choose(arke.PolicyRoundRobin))
			require.NotEqual(t, first, named(t, caller, arke.Choose(arke.PolicyRoundRobin)))
		}
		for _, key := range []string{"ann", "ben", "cy"} {
			first := named(t, caller, arke.Sticky(key))
			for range 20 {
				require.Equal(t, first, named(t, caller, arke.Sticky(key)))
			}
		}
	})
}

func TestCapacityIsAWeight(t *testing.T) {
	// This test has one member of capacity 9 and one of 1: the former gets about
	// nine of ten requests.
	arketest.Run(t, func(t *testing.T, n *arketest.Network) {
		var large atomic.Int64
		for _, capacity := range []int{9, 1} {
			_, err := n.Join(map[int]string{9: "large", 1: "small"}[capacity]).Serve(t.Context(), "who",
				arke.HandlerFunc(func(context.Context, *arke.Request) (arke.Message, error) {
					if capacity == 9 {
						large.Add(1)
					}
					return arke.Message{}, nil
				}), arke.Capacity(capacity))
			require.NoError(t, err)
		}
		caller := n.Join("caller")
		time.Sleep(5 * time.Second)
		for range 500 {
			named(t, caller, arke.Choose(arke.PolicyWeighted))
		}
		require.InDelta(t, 450, large.Load(), 40)
	})
}

func TestSurveysAreBounded(t *testing.T) {
	// This test surveys two members with room for one reply, and with room for no
	// byte of one: whoever is left out is missing as too large.
	arketest.Run(t, func(t *testing.T, n *arketest.Network) {
		caller := who(t, n)
		for _, limit := range []arke.SurveyOption{arke.MaxReplies(1), arke.MaxReplyBytes(9)} {
			result, err := caller.Survey(t.Context(), "who", arke.Message{}, limit)
			require.NoError(t, err)
			require.Len(t, result.Replies, 1)
			require.False(t, result.Complete)
			require.Len(t, result.Missing, 1)
			require.ErrorIs(t, result.Missing[0].Err, arke.ErrTooLarge)
		}
	})
}

func TestSubscriptionsHearWhatTheyAskFor(t *testing.T) {
	// This test publishes 20 messages from a program with four subscriptions to
	// the topic: one of the program itself that wants no echo, two of a queue
	// group, elsewhere, that share the messages, and one that asks for signatures.
	arketest.Run(t, func(t *testing.T, n *arketest.Network) {
		publisher, other := n.Join("publisher"), n.Join("other")
		time.Sleep(5 * time.Second)
		counts := make([]atomic.Int64, 4)
		for i, s := range []struct {
			conn *arke.Conn
			opt  arke.SubscribeOption
		}{{publisher, arke.NoEcho()}, {other, arke.QueueGroup("g")}, {other, arke.QueueGroup("g")}, {other, arke.Signed()}} {
			_, err := s.conn.SubscribeFunc(t.Context(), "news.*", func(arke.Publication) { counts[i].Add(1) }, s.opt)
			require.NoError(t, err)
		}
		for range 20 {
			require.NoError(t, publisher.Publish(t.Context(), "news.today", arke.Message{}))
		}
		time.Sleep(time.Second)
		require.Zero(t, counts[0].Load())
		require.EqualValues(t, 20, counts[1].Load()+counts[2].Load())
		require.EqualValues(t, 20, counts[3].Load())
		require.ErrorIs(t, publisher.Publish(t.Context(), "news..today", arke.Message{}), arke.ErrTopic)
	})
}

func TestAFullBufferDropsOrBlocks(t *testing.T) {
	// This test fills buffers of two messages whose subscriber waits: the oldest or
	// the newest messages are dropped, with a gap, or the publisher is told that it
	// would block.
	for _, c := range []struct {
		overflow arke.Overflow
		heard    string
	}{{arke.DropOldest, "056"}, {arke.DropNewest, "012"}, {arke.BlockPublishers, "012"}} {
		arketest.Run(t, func(t *testing.T, n *arketest.Network) {
			conn := n.Join("conn")
			time.Sleep(5 * time.Second)
			var mu sync.Mutex
			var heard string  // guarded by mu
			var missed uint64 // guarded by mu
			sub, err := conn.SubscribeFunc(t.Context(), "t", func(p arke.Publication) {
				mu.Lock()
				heard += string(p.Body)
				mu.Unlock()
				time.Sleep(time.Second)
			}, arke.Buffer(2, 0), arke.WhenFull(c.overflow), arke.OnGap(func(g arke.Gap) {
				require.Equal(t, arke.GapSlow, g.Reason)
				require.True(t, g.Exact)
				mu.Lock()
				defer mu.Unlock()
				missed += g.Missed
			}))
			require.NoError(t, err)
			// The first one finds out who listens.
			require.NoError(t, conn.Publish(t.Context(), "t", arke.Message{Body: []byte("0")}))
			blocked := 0
			for i := 1; i < 7; i++ {
				err := conn.TryPublish("t", arke.Message{Body: []byte{byte('0' + i)}})
				if err != nil {
					require.ErrorIs(t, err, arke.ErrWouldBlock)
					blocked++
				}
				time.Sleep(time.Millisecond)
			}
			require.NoError(t, sub.Close(t.Context()))
			mu.Lock()
			defer mu.Unlock()
			require.Equal(t, c.heard, heard)
			require.EqualValues(t, 4, missed+uint64(blocked))
			require.Equal(t, c.overflow == arke.BlockPublishers, blocked > 0)
		})
	}
}
