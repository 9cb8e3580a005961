// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package node_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/cluster"
	"github.com/arke-mesh/arke/internal/node"
	"github.com/arke-mesh/arke/patterns"
)

// takesAll is a service that counts what comes, by pattern.
func takesAll(counts *[5]atomic.Int64) patterns.Service {
	return patterns.Service{
		Request: func(_ context.Context, r *patterns.Request) (patterns.Message, error) {
			counts[r.Pattern].Add(1)
			return patterns.Message{Headers: r.Headers, Body: r.Body}, nil
		},
		Push:      func(_ context.Context, r *patterns.Request) { counts[r.Pattern].Add(1) },
		Broadcast: func(_ context.Context, r *patterns.Request) { counts[r.Pattern].Add(1) },
	}
}

// seesAll waits until n knows that it knows so many members: the network is
// younger than any list of members.
func seesAll(t *testing.T, n *node.Node, cluster string, count int) {
	t.Helper()
	until(t, func() bool {
		r, err := n.Survey(t.Context(), cluster, patterns.Message{}, nil, patterns.SurveyOptions{})
		return err == nil && r.Complete && r.Replies == count
	})
}

func TestEveryPatternReachesMembersOnOtherNodes(t *testing.T) {
	// This test sends one of each over real links: a survey and a broadcast to
	// both members, a push to one, and what a node says of that.
	a, b, c := trio(t)
	var counts [5]atomic.Int64
	serve(t, a, "all", takesAll(&counts), patterns.Limits{})
	serve(t, b, "all", takesAll(&counts), patterns.Limits{})
	m := patterns.Message{Headers: patterns.Headers{{Key: "k", Value: "v"}}, Body: []byte("hi")}
	seesAll(t, c, "all", 2)
	counts[patterns.PatternSurvey].Store(0)
	before := c.Status().Surveys

	var replies []patterns.SurveyReply
	got, err := c.Survey(t.Context(), "all", m, func(r patterns.SurveyReply) error {
		replies = append(replies, r)
		return nil
	}, patterns.SurveyOptions{})
	require.NoError(t, err)
	require.Equal(t, patterns.SurveyResult{Replies: 2, Complete: true}, got)
	require.Len(t, replies, 2)
	for _, r := range replies {
		require.NoError(t, r.Err)
		require.Equal(t, m, r.Message)
	}

	sent, err := c.Broadcast(t.Context(), "all", m)
	require.NoError(t, err)
	require.Equal(t, patterns.BroadcastResult{Members: 2, Nodes: 2, Complete: true}, sent)

	require.NoError(t, c.Push(t.Context(), "all", m))
	until(t, func() bool {
		return counts[patterns.PatternBroadcast].Load() == 2 && counts[patterns.PatternPush].Load() == 1
	})
	require.EqualValues(t, 2, counts[patterns.PatternSurvey].Load())

	s := c.Status()
	require.EqualValues(t, 2, s.Surveys.Replies-before.Replies)
	require.EqualValues(t, 1, s.Surveys.Complete-before.Complete)
	require.EqualValues(t, 2, s.Broadcasts.Accepted)
	require.EqualValues(t, 1, s.Pushes.Accepted)
}

func TestNamesOfTopicsAreNoClusters(t *testing.T) {
	// This test checks that no service can be registered, and nothing be
	// sent, under the name of a group of topics.
	n := start(t, newNetwork(t), nil)
	const name = "topic:orders"
	_, err := n.Serve(t.Context(), name, echo, patterns.Limits{})
	require.ErrorIs(t, err, cluster.ErrName)
	_, err = n.Request(t.Context(), name, patterns.Message{})
	require.ErrorIs(t, err, cluster.ErrName)
	_, err = n.Survey(t.Context(), name, patterns.Message{}, func(patterns.SurveyReply) error { return nil }, patterns.SurveyOptions{})
	require.ErrorIs(t, err, cluster.ErrName)
	require.ErrorIs(t, n.Push(t.Context(), name, patterns.Message{}), cluster.ErrName)
	_, err = n.Broadcast(t.Context(), name, patterns.Message{})
	require.ErrorIs(t, err, cluster.ErrName)
	_, err = n.Members(t.Context(), name)
	require.ErrorIs(t, err, cluster.ErrName)
}

func TestASurveyReachesMoreMembersThanACallerPicksFrom(t *testing.T) {
	// This test surveys 150 members on three nodes: everybody answers once. A caller's picks for one
	// member work with 64 of them.
	network := newNetwork(t)
	nodes := []*node.Node{start(t, network, nil)}
	for range 2 {
		nodes = append(nodes, start(t, network, nil, nodes[0]))
	}
	caller := start(t, network, nil, nodes[0])
	var wg sync.WaitGroup
	for i := range 150 {
		wg.Go(func() {
			serve(t, nodes[i%3], "many", patterns.Service{
				Request:   func(context.Context, *patterns.Request) (patterns.Message, error) { return patterns.Message{}, nil },
				Broadcast: func(context.Context, *patterns.Request) {},
			}, patterns.Limits{})
		})
	}
	wg.Wait()
	seen := make(map[string]int)
	seesAll(t, caller, "many", 150)
	got, err := caller.Survey(t.Context(), "many", patterns.Message{}, func(r patterns.SurveyReply) error {
		seen[r.Member]++
		return nil
	}, patterns.SurveyOptions{})
	require.NoError(t, err)
	require.Equal(t, patterns.SurveyResult{Replies: 150, Complete: true}, got)
	require.Len(t, seen, 150)
	sent, err := caller.Broadcast(t.Context(), "many", patterns.Message{Body: make([]byte, 1000)})
	require.NoError(t, err)
	require.Equal(t, patterns.BroadcastResult{Members: 150, Nodes: 3, Complete: true}, sent)

	got, err = caller.Survey(t.Context(), "many", patterns.Message{}, func(patterns.SurveyReply) error { return nil },
		patterns.SurveyOptions{MaxReplies: 100})
	require.NoError(t, err)
	require.Equal(t, 100, got.Replies)
	require.False(t, got.Complete)
	require.Len(t, got.Missing, 50)
	for _, m := range got.Missing {
		require.Equal(t, patterns.ErrTooLarge, m.Err, fmt.Sprint(m))
	}
}
