// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package gateway_test

import (
	"context"
	"crypto/rand"
	"errors"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/gateway"
	"github.com/arke-mesh/arke/internal/node"
	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/security"
)

// cloud is one network on loopback.
type cloud struct {
	t    *testing.T
	file security.NetworkFile
	seed *node.Node
}

// patience is how long a test waits for one thing before it says that it hangs.
// No promise is about it: on a busy machine everything may take long.
const patience = time.Minute

// newCloud makes a network with one node.
func newCloud(t *testing.T, name string) *cloud {
	t.Helper()
	file, err := security.GenerateNetworkFile(name, rand.Reader)
	require.NoError(t, err)
	c := &cloud{t: t, file: file}
	c.seed = c.node()
	return c
}

// config is that of one more node.
func (c *cloud) config() node.Config {
	cfg := node.Config{Network: c.file, Listen: []string{"/ip4/127.0.0.1/tcp/0"}, NoMDNS: true}
	if c.seed != nil {
		cfg.Seeds = []string{c.seed.Addrs()[0] + "/p2p/" + c.seed.Self().String()}
	}
	return cfg
}

// node starts one more node, which holds these keys.
func (c *cloud) node(keys ...security.ClusterFile) *node.Node {
	c.t.Helper()
	cfg := c.config()
	cfg.ClusterKeys = map[string][]security.KeyVersion{}
	for _, k := range keys {
		cfg.ClusterKeys[k.Name] = k.Keys
	}
	n, err := node.New(cfg)
	require.NoError(c.t, err)
	c.t.Cleanup(func() { require.NoError(c.t, n.Close()) })
	require.NoError(c.t, n.Start(c.t.Context()))
	return n
}

// lent is one crossing between two clouds.
func lent(from, to *cloud, cluster string) gateway.Crossing {
	return gateway.Crossing{From: from.file.Name, To: to.file.Name, Cluster: cluster, Reseal: true}
}

// join starts a gateway between clouds.
func join(t *testing.T, crossings []gateway.Crossing, clouds ...*cloud) *gateway.Gateway {
	t.Helper()
	return started(t, gateway.Config{Networks: networksOf(clouds...), Crossings: crossings})
}

// networksOf are the networks of a gateway between clouds.
func networksOf(clouds ...*cloud) (all []gateway.Network) {
	for _, c := range clouds {
		all = append(all, gateway.Network{Name: c.file.Name, Node: c.config()})
	}
	return all
}

// started starts a gateway for as long as the test lasts.
func started(t *testing.T, cfg gateway.Config) *gateway.Gateway {
	t.Helper()
	g, err := gateway.New(cfg)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, g.Close()) })
	require.NoError(t, g.Start(context.Background()))
	return g
}

func serve(t *testing.T, n *node.Node, cluster string, h patterns.Handler) patterns.Registration {
	t.Helper()
	r, err := n.Serve(t.Context(), cluster, h, patterns.Limits{Capacity: 3})
	require.NoError(t, err)
	return r
}

// says answers with a text, the request's body and its headers.
func says(who string) patterns.Service {
	return patterns.Service{Request: func(_ context.Context, r *patterns.Request) (patterns.Message, error) {
		if string(r.Body) == "fail" {
			return patterns.Message{}, &patterns.RemoteError{Code: 417, Message: "no"}
		}
		return patterns.Message{Headers: r.Headers, Body: append([]byte(who+" "), r.Body...)}, nil
	}}
}

func ask(t *testing.T, n *node.Node, cluster, body string, opts ...patterns.RequestOption) (string, error) {
	t.Helper()
	reply, err := n.Request(t.Context(), cluster, patterns.Message{Body: []byte(body)}, opts...)
	return string(reply.Body), err
}

// gets waits until a request to the cluster has that reply.
func gets(t *testing.T, n *node.Node, cluster, want string) {
	t.Helper()
	var got string
	var err error
	require.Eventually(t, func() bool {
		got, err = ask(t, n, cluster, "")
		return err == nil && got == want
	}, patience, 20*time.Millisecond, "%s", cluster)
}

// nobody waits until it is known that a cluster has no member: a node that has just
// started can't know yet, and says no more than that.
func nobody(t *testing.T, n *node.Node, cluster string) {
	t.Helper()
	for began := time.Now(); ; {
		_, err := ask(t, n, cluster, "")
		if errors.Is(err, patterns.ErrNoMembers) {
			return
		}
		require.ErrorIs(t, err, patterns.ErrUnreachable)
		require.Less(t, time.Since(began), 15*time.Second, cluster)
	}
}

// left waits until a cluster that had members has none.
func left(t *testing.T, n *node.Node, cluster string) {
	t.Helper()
	require.Eventually(t, func() bool {
		_, err := ask(t, n, cluster, "")
		return errors.Is(err, patterns.ErrNoMembers)
	}, patience, 20*time.Millisecond)
}

// knows waits until a node knows so many members of a cluster, and returns them.
func knows(t *testing.T, n *node.Node, cluster string, count int) (all []patterns.Member) {
	t.Helper()
	require.Eventually(t, func() bool {
		var err error
		all, err = n.Members(t.Context(), cluster)
		return err == nil && len(all) == count
	}, patience, 5*time.Millisecond)
	return all
}

// held is a handler that holds one request, the one of ask, until it is released.
type held struct{ came, release chan struct{} }

func newHeld() *held { return &held{make(chan struct{}), make(chan struct{})} }

// ServeRequest implements patterns.Handler.
func (h *held) ServeRequest(_ context.Context, r *patterns.Request) (patterns.Message, error) {
	if string(r.Body) == "wait" {
		close(h.came)
		<-h.release
	}
	return patterns.Message{}, nil
}

// ask sends the request, and returns when the handler has it.
func (h *held) ask(n *node.Node, cluster string) (answered chan error) {
	answered = make(chan error, 1)
	go func() {
		_, err := n.Request(context.Background(), cluster, patterns.Message{Body: []byte("wait")})
		answered <- err
	}()
	<-h.came
	return answered
}

func TestALentClusterServesCallersOfTheOtherNetwork(t *testing.T) {
	// This test serves geo in eu only and calls it from us: requests with headers,
	// errors of handlers, pushes and the list of members cross; what is not lent does
	// not, and neither does anything the other way.
	eu, us := newCloud(t, "eu"), newCloud(t, "us")
	pushed := make(chan string, 1)
	geo := says("eu")
	geo.Push = func(_ context.Context, r *patterns.Request) { pushed <- string(r.Body) }
	reg := serve(t, eu.node(), "geo", geo)
	serve(t, eu.node(), "private", says("eu"))
	join(t, []gateway.Crossing{lent(eu, us, "geo")}, eu, us)
	caller := us.node()
	gets(t, caller, "geo", "eu ")

	reply, err := caller.Request(t.Context(), "geo", patterns.Message{
		Body: []byte("x"), Headers: patterns.Headers{{Key: "traceparent", Value: "00-1-2-01"}},
	})
	require.NoError(t, err)
	require.Equal(t, "eu x", string(reply.Body))
	require.Equal(t, "00-1-2-01", reply.Headers.Get("traceparent"))
	_, err = ask(t, caller, "geo", "fail")
	var remote *patterns.RemoteError
	require.ErrorAs(t, err, &remote)
	require.Equal(t, patterns.RemoteError{Cluster: "geo", Code: 417, Message: "no"}, *remote)
	require.NoError(t, caller.Push(t.Context(), "geo", patterns.Message{Body: []byte("pushed")}))
	require.Equal(t, "pushed", <-pushed)

	members, err := caller.Members(t.Context(), "geo")
	require.NoError(t, err)
	require.Len(t, members, 1)
	require.Equal(t, "eu", members[0].Network)
	require.Equal(t, 3, members[0].Capacity)
	got, err := ask(t, caller, "geo@eu", "named")
	require.NoError(t, err)
	require.Equal(t, "eu named", got)
	nobody(t, caller, "geo@us")
	_, err = ask(t, caller, "geo@", "")
	require.Error(t, err)
	nobody(t, caller, "private")

	require.NoError(t, reg.Close(t.Context()))
	left(t, caller, "geo")
}

func TestMembersOfTheOwnNetworkArePreferred(t *testing.T) {
	// This test serves geo in both networks: each asks its own, or the one it names.
	// When the own one leaves the other one serves, and the own one again when it is
	// back.
	eu, us := newCloud(t, "eu"), newCloud(t, "us")
	serve(t, eu.node(), "geo", says("eu"))
	reg := serve(t, us.node(), "geo", says("us"))
	g := join(t, []gateway.Crossing{lent(eu, us, "geo"), lent(us, eu, "geo")}, eu, us)
	caller := us.node()
	gets(t, caller, "geo@eu", "eu ")
	for range 50 {
		got, err := ask(t, caller, "geo", "")
		require.NoError(t, err)
		require.Equal(t, "us ", got)
	}
	gets(t, eu.node(), "geo@us", "us ")
	require.NoError(t, reg.Close(t.Context()))
	gets(t, caller, "geo", "eu ")
	serve(t, us.node(), "geo", says("us"))
	gets(t, caller, "geo", "us ")
	gets(t, eu.seed, "geo@us", "us ")
	for i, c := range g.Status().Crossings {
		// Callers may know the member before its registration is acknowledged.
		require.Eventually(t, func() bool { return g.Status().Crossings[i].Lent }, patience, 5*time.Millisecond, c.From)
		require.Equal(t, 1, c.Members, "the lent one is not counted, so it is not lent on")
	}
}

func TestWhatIsLentIsNotLentOn(t *testing.T) {
	// This test has two gateways, from eu to us and from us to asia: asia sees nothing
	// of eu's, by neither name.
	eu, us, asia := newCloud(t, "eu"), newCloud(t, "us"), newCloud(t, "asia")
	serve(t, eu.node(), "geo", says("eu"))
	join(t, []gateway.Crossing{lent(eu, us, "geo")}, eu, us)
	on := join(t, []gateway.Crossing{lent(us, asia, "geo")}, us, asia)
	gets(t, us.node(), "geo", "eu ")
	nobody(t, asia.node(), "geo")
	require.False(t, on.Status().Crossings[0].Lent)
}

func TestCancellingCrosses(t *testing.T) {
	// This test cancels a request whose handler runs in the other network: the
	// handler's context ends, and the caller is told that a handler may have run.
	eu, us := newCloud(t, "eu"), newCloud(t, "us")
	runs, ended := make(chan struct{}), make(chan struct{})
	serve(t, eu.node(), "geo", patterns.HandlerFunc(func(ctx context.Context, r *patterns.Request) (patterns.Message, error) {
		if string(r.Body) == "wait" {
			close(runs)
			<-ctx.Done()
			close(ended)
		}
		return patterns.Message{}, nil
	}))
	g := join(t, []gateway.Crossing{lent(eu, us, "geo")}, eu, us)
	caller := us.node()
	gets(t, caller, "geo", "")
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-runs; cancel() }()
	_, err := caller.Request(ctx, "geo", patterns.Message{Body: []byte("wait")})
	var late *patterns.DeadlineError
	require.ErrorAs(t, err, &late)
	require.True(t, late.MaybeRan)
	<-ended
	require.Eventually(t, func() bool { return g.Status().Crossings[0].InFlight == 0 }, patience, 10*time.Millisecond)
}

func TestCrossingsChangeWithoutDisturbingTheOthers(t *testing.T) {
	// This test replaces the crossings while a request is under way: it is answered,
	// the member it goes through stays the same one, what is new is lent, what is no
	// more is returned, and a limit holds at once and is counted.
	eu, us := newCloud(t, "eu"), newCloud(t, "us")
	server, request := eu.node(), newHeld()
	serve(t, server, "geo", request)
	serve(t, server, "old", says("old"))
	serve(t, server, "new", says("new"))
	g := join(t, []gateway.Crossing{lent(eu, us, "geo"), lent(eu, us, "old")}, eu, us)
	caller := us.node()
	gets(t, caller, "geo", "")
	gets(t, caller, "old", "old ")
	before, err := caller.Members(t.Context(), "geo")
	require.NoError(t, err)
	answered := request.ask(caller, "geo")
	limited := lent(eu, us, "geo")
	limited.Limits.InFlight = 1
	renamed := lent(eu, us, "new")
	renamed.As = "brand-new"
	require.NoError(t, g.Cross([]gateway.Crossing{limited, renamed}))
	_, err = ask(t, caller, "geo", "")
	require.ErrorIs(t, err, patterns.ErrOverloaded)
	gets(t, caller, "brand-new", "new ")
	left(t, caller, "old")
	close(request.release)
	require.NoError(t, <-answered)
	after, err := caller.Members(t.Context(), "geo")
	require.NoError(t, err)
	require.Equal(t, before[0].ID, after[0].ID)
	for _, c := range g.Status().Crossings {
		if c.As == "geo" {
			require.NotZero(t, c.Refused["in_flight_limit"])
			require.NotZero(t, c.RoundTrip)
		}
	}
	require.Error(t, g.Cross([]gateway.Crossing{{From: "eu", To: "mars", Cluster: "geo", Reseal: true}}))
	gets(t, caller, "brand-new", "new ")
}

func TestAGatewayLeavesInOrder(t *testing.T) {
	// This test shuts a gateway down while a request is under way through it: the
	// request is answered, and nothing is lent any more.
	eu, us := newCloud(t, "eu"), newCloud(t, "us")
	request, down := newHeld(), make(chan error, 1)
	serve(t, eu.node(), "geo", request)
	g := join(t, []gateway.Crossing{lent(eu, us, "geo")}, eu, us)
	caller := us.node()
	gets(t, caller, "geo", "")
	answered := request.ask(caller, "geo")
	go func() { down <- g.Shutdown(context.Background()) }()
	time.Sleep(200 * time.Millisecond) // so that it drains
	close(request.release)
	require.NoError(t, <-answered)
	require.NoError(t, <-down)
	left(t, caller, "geo")
}

func TestAConfigurationThatMakesNoSenseIsRefused(t *testing.T) {
	// This test goes through what is refused, with what is said of it.
	eu, us := newCloud(t, "eu"), newCloud(t, "us")
	two := []gateway.Network{{Name: "eu", Node: eu.config()}, {Name: "us", Node: us.config()}}
	ok := lent(eu, us, "geo")
	for _, c := range []struct {
		why      string
		networks []gateway.Network
		change   func(c *gateway.Crossing)
	}{
		{"at least two networks", two[:1], nil},
		{"two networks are called eu", []gateway.Network{two[0], {Name: "eu", Node: us.config()}}, nil},
		{"are the same network", []gateway.Network{two[0], {Name: "us", Node: eu.config()}}, nil},
		{"letters, digits", []gateway.Network{two[0], {Name: "u s", Node: us.config()}}, nil},
		{"no network \"mars\"", two, func(c *gateway.Crossing) { c.To = "mars" }},
		{"to itself", two, func(c *gateway.Crossing) { c.To = "eu" }},
		{"bad name", two, func(c *gateway.Crossing) { c.Cluster = "" }},
		{"@ is reserved", two, func(c *gateway.Crossing) { c.As = "geo@eu" }},
		{"reserved", two, func(c *gateway.Crossing) { c.Cluster = "$members" }},
		{"those of topics", two, func(c *gateway.Crossing) { c.Cluster = "topic:a" }},
		{"priority 256", two, func(c *gateway.Crossing) { c.Priority = 256 }},
		{"say reseal: true", two, func(c *gateway.Crossing) { c.Reseal = false }},
		{"limit is negative", two, func(c *gateway.Crossing) { c.Limits.Bytes = -1 }},
		{"callers could not tell them apart", two, func(c *gateway.Crossing) { c.Cluster, c.As = "other", "geo" }},
	} {
		bad := ok
		crossings := []gateway.Crossing{ok, bad}
		if c.change == nil {
			crossings = nil
		} else {
			c.change(&crossings[1])
		}
		_, err := gateway.New(gateway.Config{Networks: c.networks, Crossings: crossings})
		require.ErrorContains(t, err, c.why)
	}
}

func TestASurveyAsksAllNetworksOnce(t *testing.T) {
	// This test surveys geo, which two gateways lend from eu: each member of both
	// networks answers once, large replies too, the survey is complete, and a broadcast
	// reaches each once. geo@eu asks eu only. A member of eu that does not answer is
	// named, and nothing is complete then, as when more reply than are taken. On which
	// nodes of eu its members are nobody learns.
	eu, us := newCloud(t, "eu"), newCloud(t, "us")
	got := make(chan string, 100)
	member := func(who string) patterns.Service {
		large := strings.Repeat("x", 200<<10)
		return patterns.Service{
			Request: func(ctx context.Context, r *patterns.Request) (patterns.Message, error) {
				switch {
				case string(r.Body) == "large" && who != "eu2":
					return patterns.Message{Body: []byte(who + large)}, nil
				case string(r.Body) == "hang" && who == "eu2":
					<-ctx.Done()
				case string(r.Body) == "refuse" && who == "eu1":
					return patterns.Message{}, &patterns.RemoteError{Code: 100, Message: "no"}
				}
				return patterns.Message{Body: []byte(who)}, nil
			},
			Broadcast: func(_ context.Context, r *patterns.Request) { got <- who + " " + string(r.Body) },
		}
	}
	var last patterns.Registration
	for _, who := range []string{"eu1", "eu2"} {
		last = serve(t, eu.node(), "geo", member(who))
	}
	for _, who := range []string{"us1", "us2"} {
		serve(t, us.node(), "geo", member(who))
	}
	var gateways []string
	for range 2 {
		g := join(t, []gateway.Crossing{lent(eu, us, "geo")}, eu, us)
		gateways = append(gateways, g.Node("us").Self().String())
	}
	caller := us.node()
	knows(t, caller, "geo", 4)
	limit := 0
	survey := func(cluster, body string, within time.Duration) (who []string, r patterns.SurveyResult) {
		ctx, cancel := context.WithTimeout(t.Context(), within)
		defer cancel()
		r, err := caller.Survey(ctx, cluster, patterns.Message{Body: []byte(body)}, func(r patterns.SurveyReply) error {
			if r.Err != nil {
				who = append(who, "error")
				return nil
			}
			if who = append(who, string(r.Message.Body[:3])); strings.HasPrefix(who[len(who)-1], "eu") {
				require.Contains(t, gateways, r.Peer)
			}
			return nil
		}, patterns.SurveyOptions{MaxReplies: limit})
		require.NoError(t, err)
		slices.Sort(who)
		return who, r
	}
	all := []string{"eu1", "eu2", "us1", "us2"}
	require.Eventually(t, func() bool { // the gateways know both
		who, r := survey("geo", "", 10*time.Second)
		return r.Complete && slices.Equal(all, who)
	}, patience, 20*time.Millisecond)
	who, r := survey("geo", "large", 10*time.Second)
	require.Equal(t, all, who)
	require.True(t, r.Complete)
	require.Equal(t, 4, r.Replies)
	who, r = survey("geo@eu", "", 10*time.Second)
	require.Equal(t, all[:2], who)
	require.True(t, r.Complete)
	who, r = survey("geo@us", "", 10*time.Second)
	require.Equal(t, all[2:], who)
	require.True(t, r.Complete)
	who, r = survey("geo", "refuse", 10*time.Second)
	require.Equal(t, []string{"error", "eu2", "us1", "us2"}, who)
	require.True(t, r.Complete)
	who, r = survey("geo", "hang", time.Second)
	require.Equal(t, []string{"eu1", "us1", "us2"}, who)
	require.False(t, r.Complete)
	require.Len(t, r.Missing, 1)
	require.Equal(t, last.Member(), r.Missing[0].Member)
	require.Contains(t, gateways, r.Missing[0].Peer)
	limit = 3
	who, r = survey("geo", "", 10*time.Second)
	require.Len(t, who, 3)
	require.False(t, r.Complete)
	require.Len(t, r.Missing, 1)
	require.ErrorIs(t, r.Missing[0].Err, patterns.ErrTooLarge)
	limit = 0

	b, err := caller.Broadcast(t.Context(), "geo", patterns.Message{Body: []byte("all")})
	require.NoError(t, err)
	require.Equal(t, 4, b.Members)
	require.True(t, b.Complete)
	heard := map[string]int{}
	for range 4 {
		heard[<-got]++
	}
	require.Equal(t, map[string]int{"eu1 all": 1, "eu2 all": 1, "us1 all": 1, "us2 all": 1}, heard)
	select {
	case more := <-got:
		t.Fatal("twice:", more)
	case <-time.After(100 * time.Millisecond): // nothing comes
	}
}

func TestGatewaysReplaceEachOther(t *testing.T) {
	// This test closes one of two gateways while eight callers ask through both, one
	// request after the other that may be repeated: none is lost. The other one serves
	// alone, and a third one is used as soon as it is there.
	eu, us := newCloud(t, "eu"), newCloud(t, "us")
	serve(t, eu.node(), "geo", says("eu"))
	first := join(t, []gateway.Crossing{lent(eu, us, "geo")}, eu, us)
	second := join(t, []gateway.Crossing{lent(eu, us, "geo")}, eu, us)
	caller := us.node()
	knows(t, caller, "geo", 2)
	through := func(g *gateway.Gateway) uint64 { return g.Status().Crossings[0].Messages }
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	var asked, lost atomic.Int64
	for range 8 {
		wg.Go(func() {
			for ctx.Err() == nil {
				got, err := ask(t, caller, "geo", "", patterns.Idempotent())
				if asked.Add(1); err != nil || got != "eu " {
					t.Log(err)
					lost.Add(1)
				}
			}
		})
	}
	busy := func(g *gateway.Gateway) {
		before := through(g)
		require.Eventually(t, func() bool { return through(g) > before+200 }, patience, 5*time.Millisecond)
	}
	busy(first)
	busy(second)
	require.NoError(t, first.Close())
	busy(second)
	knows(t, caller, "geo", 1)
	busy(join(t, []gateway.Crossing{lent(eu, us, "geo")}, eu, us))
	cancel()
	wg.Wait()
	require.Zero(t, lost.Load(), "of %d", asked.Load())
}
