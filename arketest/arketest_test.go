// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package arketest_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke"
	"github.com/arke-mesh/arke/arketest"
)

func whereIs(_ context.Context, r *arke.Request) (arke.Message, error) {
	return arke.Message{Body: fmt.Appendf(nil, "%s is over there", r.Body)}, nil
}

func TestCallersGoToTheOtherMemberAfterACrash(t *testing.T) {
	// This test is the one of the package's documentation, with many seeds.
	arketest.Run(t, func(t *testing.T, n *arketest.Network) {
		ctx := context.Background()
		for _, name := range []string{"geo-1", "geo-2"} {
			_, err := n.Join(name).Serve(ctx, "geo", arke.HandlerFunc(whereIs))
			require.NoError(t, err)
		}
		shop := n.Join("shop")
		n.Crash("geo-1")
		reply, err := shop.Request(ctx, "geo", arke.Message{Body: []byte("Berlin")})
		require.NoError(t, err)
		require.Equal(t, "Berlin is over there", string(reply.Body))
	}, arketest.Seeds(5))
}

func TestABugInRetryLogicIsFound(t *testing.T) {
	// This test is the one of the example. The till that asks again after any error
	// charges an order twice with at least one of ten seeds. The till without the
	// bug charges no order twice with any of them.
	found := 0
	arketest.Run(t, func(t *testing.T, n *arketest.Network) {
		if len(chargedTwice(t, n, afterAnyError)) > 0 {
			found++
		}
	}, arketest.Seeds(10))
	require.NotZero(t, found)
	t.Logf("%d of 10 seeds find the bug", found)

	arketest.Run(t, func(t *testing.T, n *arketest.Network) {
		require.Empty(t, chargedTwice(t, n, ifItIsSafe))
	}, arketest.Seeds(10))
}

func TestEveryVerbWorksInASimulatedNetwork(t *testing.T) {
	// This test uses each verb between an embedded program and an attached one,
	// with a loop for a subscription and a connection, and ends in good order.
	arketest.Run(t, func(t *testing.T, n *arketest.Network) {
		ctx := context.Background()
		n.Relay("relay")
		app, embedded := n.Attach("app", "relay"), n.Join("embedded")
		everyVerb(t, ctx, app, embedded)
		everyVerb(t, ctx, embedded, app)
		require.NoError(t, app.Shutdown(ctx))
	})
}

func TestAWatchTellsOfMembersThatComeAndGo(t *testing.T) {
	// This test watches a cluster from an embedded program and from an attached
	// one: nobody, one member, two, and one again within two seconds after a crash.
	for _, attached := range []bool{false, true} {
		arketest.Run(t, func(t *testing.T, n *arketest.Network) {
			watcher := n.Relay("relay")
			if attached {
				watcher = n.Attach("app", "relay")
			}
			time.Sleep(5 * time.Second) // until it can be known that there is nobody
			ctx := context.Background()
			serve := func(name string) {
				_, err := n.Join(name).Serve(ctx, "geo", arke.HandlerFunc(whereIs))
				require.NoError(t, err)
			}
			steps := []func(){
				func() { serve("geo-1") }, func() { serve("geo-2") }, func() { n.Crash("geo-1") },
			}
			var last time.Duration // when the last step was
			var seen []int
			for members, err := range watcher.Watch(ctx, "geo") {
				if err != nil {
					require.ErrorIs(t, err, arke.ErrNoMembers)
				}
				live := 0
				for _, m := range members {
					if m.State == "live" {
						live++
					}
				}
				if len(seen) > 0 && seen[len(seen)-1] == live {
					continue // something else has changed
				}
				require.Less(t, n.Elapsed()-last, 7*time.Second)
				if seen = append(seen, live); len(seen) > len(steps) {
					break
				}
				last = n.Elapsed()
				n.Go(fmt.Sprint("step ", len(seen)), steps[len(seen)-1])
			}
			require.Less(t, n.Elapsed()-last, 2*time.Second)
			require.Equal(t, []int{0, 1, 2, 1}, seen)
		})
	}
}

func everyVerb(t *testing.T, ctx context.Context, member, caller *arke.Conn) {
	t.Helper()
	took := make(chan string, 2)
	take := func(_ context.Context, r *arke.Request) { took <- r.Pattern.String() }
	r, err := member.Serve(ctx, "all", arke.Service{
		Request: whereIs, Push: take, Broadcast: take,
		Tunnel: func(ctx context.Context, t *arke.Tunnel) error { return t.Send(ctx, t.Info().Open.Body) },
	})
	require.NoError(t, err)
	hello := arke.Message{Body: []byte("hello")}
	_, err = caller.Request(ctx, "all", hello, arke.WaitForMember())
	require.NoError(t, err)
	members, err := caller.Members(ctx, "all")
	require.NoError(t, err)
	require.Len(t, members, 1)
	require.Equal(t, r.ID(), members[0].ID)
	survey, err := caller.Survey(ctx, "all", hello)
	require.NoError(t, err)
	require.Len(t, survey.Replies, 1)
	require.NoError(t, caller.Push(ctx, "all", hello))
	require.Equal(t, "push", <-took)
	broadcast, err := caller.Broadcast(ctx, "all", hello)
	require.NoError(t, err)
	require.Equal(t, 1, broadcast.Members)
	require.Equal(t, "broadcast", <-took)
	tunnel, err := caller.OpenTunnel(ctx, "all", hello)
	require.NoError(t, err)
	body, err := tunnel.Receive(ctx)
	require.NoError(t, err)
	require.Equal(t, hello.Body, body)
	require.NoError(t, tunnel.Close())
	require.NoError(t, r.Close(ctx))

	sub, err := member.Subscribe(ctx, "news.*")
	require.NoError(t, err)
	require.NoError(t, caller.Publish(ctx, "news.today", hello))
	for m := range sub.Messages() {
		require.Equal(t, "news.today", m.Topic)
		break
	}
	require.NoError(t, sub.Close(ctx))
}
