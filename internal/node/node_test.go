// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package node_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/internal/node"
	"github.com/arke-mesh/arke/overlay"
	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/security"
)

func TestALoneNodeServesItself(t *testing.T) {
	// This test checks a network of one: registration, a request to the own
	// node, small and large, and the list of members.
	n := start(t, newNetwork(t), func(c *node.Config) { c.Zone, c.Name = "north", "attic" })
	r := serve(t, n, "echo", echo, patterns.Limits{Capacity: 3, MessageBytes: 2 << 20})
	for _, size := range []int{0, 100, 2 << 20} {
		reply, err := n.Request(t.Context(), "echo", patterns.Message{Body: make([]byte, size)})
		require.NoError(t, err)
		require.Len(t, reply.Body, size)
	}
	members, err := n.Members(t.Context(), "echo")
	require.NoError(t, err)
	require.Len(t, members, 1)
	require.NotZero(t, members[0].Incarnation)
	members[0].Incarnation = 0
	require.Equal(t, patterns.Member{
		ID: r.Member(), Peer: n.Self().String(), Name: "attic", Zone: "north", Network: "test", Capacity: 3, State: "live",
	}, members[0])
	require.NoError(t, r.Close(t.Context()))
	require.NoError(t, r.Close(t.Context()), "it is idempotent")
}

func TestNoMemberIsAnAnswer(t *testing.T) {
	// This test checks that a cluster without members is told from one that
	// nobody knows about: by one node, by three, and again once its only
	// member has left; never by a deadline. A node that does not know yet says
	// that, too, after two seconds, which may come first on a busy machine.
	network := newNetwork(t)
	a := start(t, network, nil)
	answer := func(n *node.Node, cluster string) {
		knows := func(err error) bool {
			require.True(t, errors.Is(err, patterns.ErrNoMembers) || errors.Is(err, patterns.ErrUnreachable), err)
			return errors.Is(err, patterns.ErrNoMembers)
		}
		for _, asks := range []func() error{
			func() error { _, err := n.Request(t.Context(), cluster, patterns.Message{}); return err },
			func() error { _, err := n.Members(t.Context(), cluster); return err },
		} {
			for tries := 0; !knows(asks()); tries++ {
				require.Less(t, tries, 10)
			}
		}
	}
	answer(a, "nobody")
	b, c := start(t, network, nil, a), start(t, network, nil, a)
	answer(c, "nobody")
	r := serve(t, b, "somebody", echo, patterns.Limits{})
	_, err := c.Request(t.Context(), "somebody", patterns.Message{})
	require.NoError(t, err)
	require.NoError(t, r.Close(t.Context()))
	answer(c, "somebody")
}

func TestOutcomesCrossTheNetwork(t *testing.T) {
	// This test goes through the outcomes that depend on the member, with real
	// links between caller and member.
	network := newNetwork(t)
	a := start(t, network, nil)
	b := start(t, network, nil, a)
	var began, ended atomic.Int64
	stuck := patterns.HandlerFunc(func(ctx context.Context, _ *patterns.Request) (patterns.Message, error) {
		began.Add(1)
		<-ctx.Done()
		ended.Add(1)
		return patterns.Message{}, ctx.Err()
	})
	refusing := patterns.HandlerFunc(func(context.Context, *patterns.Request) (patterns.Message, error) {
		return patterns.Message{}, &patterns.RemoteError{Code: 404, Message: "no such place"}
	})
	serve(t, a, "stuck", stuck, patterns.Limits{Concurrency: 1, QueueLength: -1})
	serve(t, a, "refusing", refusing, patterns.Limits{})
	serve(t, a, "small", echo, patterns.Limits{MessageBytes: 10})

	_, err := b.Request(t.Context(), "refusing", patterns.Message{})
	require.Equal(t, &patterns.RemoteError{Cluster: "refusing", Code: 404, Message: "no such place"}, err)
	_, err = b.Request(t.Context(), "small", patterns.Message{Body: make([]byte, 11)})
	require.ErrorIs(t, err, patterns.ErrTooLarge)

	ctx, cancel := context.WithCancel(t.Context())
	first := make(chan error, 1)
	go func() {
		_, err := b.Request(ctx, "stuck", patterns.Message{})
		first <- err
	}()
	until(t, func() bool { return began.Load() == 1 }) // what is cancelled before that never runs
	_, err = b.Request(t.Context(), "stuck", patterns.Message{})
	require.ErrorIs(t, err, patterns.ErrOverloaded)
	cancel()
	require.Equal(t, &patterns.DeadlineError{Cause: context.Canceled, MaybeRan: true}, <-first)
	until(t, func() bool { return ended.Load() == 1 }) // the handler was told
	until(t, func() bool {                             // its place is free
		for _, q := range a.Status().Queues {
			if q.Cluster == "stuck" && q.Running == 0 {
				return true
			}
		}
		return false
	})

	const short = time.Second // long enough to get there
	begin := time.Now()
	ctx, cancel = context.WithTimeout(t.Context(), short)
	defer cancel()
	_, err = b.Request(ctx, "stuck", patterns.Message{})
	require.Equal(t, &patterns.DeadlineError{Cause: context.DeadlineExceeded, MaybeRan: true}, err)
	require.GreaterOrEqual(t, time.Since(begin), short)
	until(t, func() bool { return ended.Load() == 2 })
}

func TestAClusterWithItsOwnKeyIsForItsHolders(t *testing.T) {
	// This test checks that holders of an explicit key reach each other, and
	// that a node of the network without it does not find the cluster at all.
	network := newNetwork(t)
	withKey := func(c *node.Config) {
		c.ClusterKeys = map[string][]security.KeyVersion{"vault": {{Version: 1, Key: security.Key{1, 2, 3}}}}
	}
	a := start(t, network, withKey)
	b, outsider := start(t, network, withKey, a), start(t, network, nil, a)
	serve(t, a, "vault", echo, patterns.Limits{})
	reply, err := b.Request(t.Context(), "vault", patterns.Message{Body: []byte("hi")})
	require.NoError(t, err)
	require.Equal(t, "hi", string(reply.Body))
	_, err = outsider.Request(t.Context(), "vault", patterns.Message{})
	require.Error(t, err)
	require.NotErrorIs(t, err, context.DeadlineExceeded)
}

func TestStatusTellsWhatToolsLookFor(t *testing.T) {
	// This test checks the JSON's keys, that empty lists are lists, and what
	// a link, a queue and a drop look like.
	network := newNetwork(t)
	a := start(t, network, func(c *node.Config) { c.Zone = "north" })
	encode := func(n *node.Node) map[string]any {
		text, err := json.Marshal(n.Status())
		require.NoError(t, err)
		var out map[string]any
		require.NoError(t, json.Unmarshal(text, &out))
		return out
	}
	empty := encode(a)
	for _, key := range []string{"addrs", "links", "clusters", "watches", "queues"} {
		require.IsType(t, []any{}, empty[key], key)
	}
	require.Equal(t, "north", empty["zone"])
	require.Equal(t, "running", empty["state"])
	require.Equal(t, network.Name, empty["network"])
	require.Equal(t, network.ID.String(), empty["network_id"])

	b := start(t, network, nil, a)
	r := serve(t, a, "echo", echo, patterns.Limits{MessageBytes: 1})
	_, err := b.Request(t.Context(), "echo", patterns.Message{})
	require.NoError(t, err)
	var s node.Status
	until(t, func() bool { // the reply is there before its sender has counted it
		s = a.Status()
		return s.Queues[0].Handled > 0 && s.SentBytes[overlay.LaneRPC] > 0
	})
	require.Equal(t, b.Self().String(), s.Links[0].Peer)
	require.Equal(t, "up", s.Links[0].State)
	require.Equal(t, "echo", s.Clusters[0].Cluster)
	require.Equal(t, r.Member(), s.Queues[0].Member)
	require.EqualValues(t, 1, s.Queues[0].Handled)
	require.EqualValues(t, 1, b.Status().Requests.Sent)
	require.Equal(t, "echo", b.Status().Watches[0].Cluster)
	require.Positive(t, s.ReceivedBytes)
	require.IsType(t, float64(0), encode(a)["sent_bytes"].(map[string]any)["bulk"])
	require.IsType(t, float64(0), encode(a)["queued_bytes"].(map[string]any)["rpc"])
	text, err := json.Marshal(s)
	require.NoError(t, err)
	require.NotContains(t, string(text), strings.Repeat("0", 64), "keys are not in it")
}

func TestANodeLivesOnce(t *testing.T) {
	// This test checks what each phase allows: nothing before Start, no second
	// Start, no service while it drains, nothing after Close, and that Close
	// and Shutdown may be called again.
	cfg := node.Config{Network: newNetwork(t), Listen: []string{"/ip4/127.0.0.1/tcp/0"}, NoMDNS: true}
	n, err := node.New(cfg)
	require.NoError(t, err)
	require.Equal(t, "new", n.Status().State)
	_, err = n.Serve(t.Context(), "echo", echo, patterns.Limits{})
	require.ErrorIs(t, err, node.ErrNotStarted)
	_, err = n.Request(t.Context(), "echo", patterns.Message{})
	require.ErrorIs(t, err, node.ErrNotStarted)
	_, err = n.Members(t.Context(), "echo")
	require.ErrorIs(t, err, node.ErrNotStarted)
	require.ErrorIs(t, n.Push(t.Context(), "echo", patterns.Message{}), node.ErrNotStarted)
	require.NoError(t, n.Start(t.Context()))
	require.Error(t, n.Start(t.Context()))
	_, err = n.Serve(t.Context(), "echo", nil, patterns.Limits{})
	require.ErrorContains(t, err, "handler")
	_, err = n.Serve(t.Context(), "", echo, patterns.Limits{})
	require.Error(t, err)
	require.NoError(t, n.Shutdown(t.Context()))
	require.NoError(t, n.Shutdown(t.Context()))
	require.NoError(t, n.Close())
	require.Equal(t, "closed", n.Status().State)
	_, err = n.Serve(t.Context(), "echo", echo, patterns.Limits{})
	require.ErrorIs(t, err, patterns.ErrClosed)
	_, err = n.Request(t.Context(), "echo", patterns.Message{})
	require.ErrorIs(t, err, patterns.ErrClosed)
	require.Error(t, n.Start(t.Context()))

	never, err := node.New(cfg)
	require.NoError(t, err)
	require.NoError(t, never.Close(), "it was never started")
}

func TestARegistrationThatDoesNotSucceedLeavesNothing(t *testing.T) {
	// This test ends the context of Serve at once, and looks for the member.
	n := start(t, newNetwork(t), nil)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := n.Serve(ctx, "echo", echo, patterns.Limits{})
	require.ErrorIs(t, err, context.Canceled)
	require.Empty(t, n.Status().Queues)
	require.Empty(t, n.Status().Clusters)
	_, err = n.Request(t.Context(), "echo", patterns.Message{})
	require.ErrorIs(t, err, patterns.ErrNoMembers)
}

func TestConfigIsChecked(t *testing.T) {
	// This test checks that each mistake is named.
	good := newNetwork(t)
	for name, test := range map[string]struct {
		change func(*node.Config)
		says   string
	}{
		"no network":      {func(c *node.Config) { c.Network = security.NetworkFile{} }, "Network is required"},
		"bad network":     {func(c *node.Config) { c.Network.Name = "" }, "name"},
		"long zone":       {func(c *node.Config) { c.Zone = strings.Repeat("z", 65) }, "Zone"},
		"no workers":      {func(c *node.Config) { c.Workers = -1 }, "Workers"},
		"bad listen":      {func(c *node.Config) { c.Listen = []string{"nonsense"} }, "nonsense"},
		"bad cluster key": {func(c *node.Config) { c.ClusterKeys = map[string][]security.KeyVersion{"x": nil} }, "\"x\""},
		"bad heartbeat":   {func(c *node.Config) { c.Heartbeat = time.Hour }, "Heartbeat"},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := node.Config{Network: good, NoMDNS: true}
			test.change(&cfg)
			_, err := node.New(cfg)
			require.ErrorContains(t, err, test.says)
		})
	}
}

func TestANodeThatHasNotJoinedSaysSo(t *testing.T) {
	// This test starts a node whose only seed is dead, and one without seeds: the first one
	// says in its status that it can't tell who serves what, and why; the other one can.
	network := newNetwork(t)
	apart := start(t, network, func(c *node.Config) { c.Seeds = []string{"127.0.0.1:9"} })
	require.Contains(t, apart.Status().Doubt, "this node has not joined its network: 127.0.0.1:9")
	require.Empty(t, start(t, network, nil).Status().Doubt)
}
