// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package gateway_test

import (
	"context"
	"crypto/rand"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/gateway"
	"github.com/arke-mesh/arke/internal/node"
	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/security"
)

// vaultKeys makes the key file of a cluster.
func vaultKeys(t *testing.T, name string) security.ClusterFile {
	t.Helper()
	f, err := security.GenerateClusterFile(name, rand.Reader)
	require.NoError(t, err)
	return f
}

// lentSealed is one crossing that the gateway can't open.
func lentSealed(from, to *cloud, keys security.ClusterFile) gateway.Crossing {
	finding := keys.Finding()
	return gateway.Crossing{From: from.file.Name, To: to.file.Name, Cluster: keys.Name, Finding: &finding}
}

func TestASealedClusterServesItsCallersOfTheOtherNetwork(t *testing.T) {
	// This test serves vault, which has a key of its own, with two members in eu, and calls it from us, through
	// a gateway that has the finding key only: requests, errors of handlers and pushes
	// cross, the caller knows the members by their own ids, and who has no key in us
	// finds nobody.
	eu, us := newCloud(t, "eu"), newCloud(t, "us")
	keys := vaultKeys(t, "vault")
	pushed := make(chan string, 1)
	v := says("eu")
	v.Push = func(_ context.Context, r *patterns.Request) { pushed <- string(r.Body) }
	members := []*node.Node{eu.node(keys), eu.node(keys)}
	regs := []patterns.Registration{serve(t, members[0], "vault", v), serve(t, members[1], "vault", v)}
	g := join(t, []gateway.Crossing{lentSealed(eu, us, keys)}, eu, us)
	caller := us.node(keys)
	gets(t, caller, "vault", "eu ")
	gets(t, caller, "vault@eu", "eu ")
	_, err := ask(t, caller, "vault", "fail")
	var remote *patterns.RemoteError
	require.ErrorAs(t, err, &remote)
	require.Equal(t, patterns.RemoteError{Cluster: "vault", Code: 417, Message: "no"}, *remote)
	require.NoError(t, caller.Push(t.Context(), "vault", patterns.Message{Body: []byte("pushed")}))
	require.Equal(t, "pushed", <-pushed)

	for _, m := range knows(t, caller, "vault", 2) {
		require.Equal(t, "eu", m.Network)
		require.Equal(t, 3, m.Capacity)
		require.Contains(t, []string{members[0].Self().String(), members[1].Self().String()}, m.Peer)
		require.Contains(t, []string{regs[0].Member(), regs[1].Member()}, m.ID)
	}
	nobody(t, us.node(), "vault")
	s := g.Status().Crossings[0]
	require.True(t, s.Sealed)
	require.True(t, s.Lent)
	require.Equal(t, 2, s.Passed)
	require.NotZero(t, s.Messages)

	for _, r := range regs {
		require.NoError(t, r.Close(t.Context()))
	}
	left(t, caller, "vault")
}

func TestOneMemberBehindTwoGatewaysIsOneMember(t *testing.T) {
	// This test has two gateways pass on two members: callers know two. One gateway dies
	// while requests are under way: none that may be repeated is lost, and both members
	// are still there. Surveys hear each once, all the time.
	eu, us := newCloud(t, "eu"), newCloud(t, "us")
	keys := vaultKeys(t, "vault")
	serve(t, eu.node(keys), "vault", says("one"))
	serve(t, eu.node(keys), "vault", says("two"))
	crossings := []gateway.Crossing{lentSealed(eu, us, keys)}
	first, second := join(t, crossings, eu, us), join(t, crossings, eu, us)
	caller := us.node(keys)
	knows(t, caller, "vault", 2)
	for _, g := range []*gateway.Gateway{first, second} {
		require.Eventually(t, func() bool { return g.Status().Crossings[0].Passed == 2 }, patience, 20*time.Millisecond)
	}
	heard := func() {
		t.Helper()
		var said []string
		result, err := caller.Survey(t.Context(), "vault", patterns.Message{}, func(r patterns.SurveyReply) error {
			said = append(said, string(r.Message.Body))
			return nil
		}, patterns.SurveyOptions{})
		require.NoError(t, err)
		require.True(t, result.Complete, "%v", result.Missing)
		require.ElementsMatch(t, []string{"one ", "two "}, said)
	}
	heard()
	who := map[string]int{}
	for i := range 400 {
		if i == 100 {
			go first.Close()
		}
		got, err := ask(t, caller, "vault", "", patterns.Idempotent())
		require.NoError(t, err, "%d", i)
		who[got]++
	}
	require.NotZero(t, who["one "])
	require.NotZero(t, who["two "])
	require.NotZero(t, second.Status().Crossings[0].Messages)
	list, err := caller.Members(t.Context(), "vault")
	require.NoError(t, err)
	require.Len(t, list, 2)
	heard()
}

func TestMembersOfTheOwnNetworkAreAskedBeforeThoseThatArePassedOn(t *testing.T) {
	// This test serves vault in both networks: callers ask their own network's member,
	// and the other one's when that has left. Broadcasts reach both.
	eu, us := newCloud(t, "eu"), newCloud(t, "us")
	keys := vaultKeys(t, "vault")
	heard := make(chan string, 2)
	v := func(who string) patterns.Service {
		s := says(who)
		s.Broadcast = func(context.Context, *patterns.Request) { heard <- who }
		return s
	}
	serve(t, eu.node(keys), "vault", v("eu"))
	reg := serve(t, us.node(keys), "vault", v("us"))
	join(t, []gateway.Crossing{lentSealed(eu, us, keys)}, eu, us)
	caller := us.node(keys)
	gets(t, caller, "vault@eu", "eu ")
	gets(t, caller, "vault", "us ") // it may have heard of the other one first
	for range 20 {
		got, err := ask(t, caller, "vault", "")
		require.NoError(t, err)
		require.Equal(t, "us ", got)
	}
	result, err := caller.Broadcast(t.Context(), "vault", patterns.Message{})
	require.NoError(t, err)
	require.Equal(t, 2, result.Members)
	require.ElementsMatch(t, []string{"eu", "us"}, []string{<-heard, <-heard})
	require.NoError(t, reg.Close(t.Context()))
	gets(t, caller, "vault", "eu ")
}

func TestWhatIsPassedOnIsNotPassedOnAgain(t *testing.T) {
	// This test has gateways from eu to us and from us to asia, both with the finding
	// key: asia sees nothing of eu's.
	eu, us, asia := newCloud(t, "eu"), newCloud(t, "us"), newCloud(t, "asia")
	keys := vaultKeys(t, "vault")
	serve(t, eu.node(keys), "vault", says("eu"))
	join(t, []gateway.Crossing{lentSealed(eu, us, keys)}, eu, us)
	on := join(t, []gateway.Crossing{lentSealed(us, asia, keys)}, us, asia)
	gets(t, us.node(keys), "vault", "eu ")
	nobody(t, asia.node(keys), "vault")
	require.False(t, on.Status().Crossings[0].Lent)
	require.Zero(t, on.Status().Crossings[0].Members)
}

func TestAFindingKeyThatCanNotBeUsedIsTriedAgain(t *testing.T) {
	// This test leaves the gateway's node no room for one more finding key: the status says
	// why vault is not lent. When there is room again it is lent, without a change of the
	// configuration.
	eu, us := newCloud(t, "eu"), newCloud(t, "us")
	keys := vaultKeys(t, "vault")
	serve(t, eu.node(keys), "vault", says("eu"))
	g := join(t, nil, eu, us)
	other := keys.Finding()
	var release []func()
	for i := 0; ; i++ {
		other.Name = fmt.Sprint("other-", i)
		_, give, err := g.Node("eu").Find(other)
		if err != nil {
			break
		}
		release = append(release, give)
	}
	require.NoError(t, g.Cross([]gateway.Crossing{lentSealed(eu, us, keys)}))
	require.Eventually(t, func() bool { return g.Status().Crossings[0].Error != "" }, patience, 5*time.Millisecond)
	for _, give := range release {
		give()
	}
	gets(t, us.node(keys), "vault", "eu ")
	require.Empty(t, g.Status().Crossings[0].Error)
}

func TestLimitsHoldForWhatIsPassedOn(t *testing.T) {
	// This test lets one request across at a time: a second one is refused as overloaded
	// and counted, and goes when the first one is over.
	eu, us := newCloud(t, "eu"), newCloud(t, "us")
	keys := vaultKeys(t, "vault")
	first := newHeld()
	serve(t, eu.node(keys), "vault", first)
	x := lentSealed(eu, us, keys)
	x.Limits.InFlight = 1
	g := join(t, []gateway.Crossing{x}, eu, us)
	caller := us.node(keys)
	gets(t, caller, "vault", "")
	answered := first.ask(caller, "vault")
	_, err := ask(t, caller, "vault", "")
	require.ErrorIs(t, err, patterns.ErrOverloaded)
	require.NotZero(t, g.Status().Crossings[0].Refused["in_flight_limit"])
	close(first.release)
	require.NoError(t, <-answered)
	gets(t, caller, "vault", "")
}
