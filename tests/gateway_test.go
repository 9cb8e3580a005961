// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package tests

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/tests/harness"
)

func TestAGatewayShowsWhatCrosses(t *testing.T) {
	// This test lends two clusters, one of which has a member, and looks at what the
	// gateway's status says before and after a request, after SIGHUP with another list,
	// and when the gateway is gone.
	scenario(t)
	eu, us := harness.NewNetwork(t).Relay("eu"), harness.NewNetwork(t).Relay("us")
	g := harness.NewGateway(t, map[string]*harness.Relay{"eu": eu, "us": us}, "",
		"cluster: echo, from: eu, to: us, messages-per-second: 1", "cluster: nobody, from: eu, to: us, as: somebody")
	eu.Serves("echo", "--exec", "cat")
	us.Sees(1, "echo")
	us.Requests("echo", "hello").Ends(0).Gets("hello")
	us.Requests("echo", "again").Ends(0)
	us.Requests("echo", "too much", "--timeout", "300ms").Ends(4)

	status := func(want ...string) string {
		t.Helper()
		out := g.Shows()
		for _, w := range want {
			require.Regexp(t, strings.ReplaceAll(w, " ", `\s+`), out)
		}
		return out
	}
	status("NETWORK NODE PEERS ADDRESSES", `eu \S+ 1 /ip4/127.0.0.1/tcp/`, `echo eu us echo 100 lent 1/1 2 \d+ 0 0 \S*s messages_limit \d`,
		"nobody eu us somebody 100 no member in eu 0/0 0 0 0 0 - -")
	crossings := g.Status().Crossings
	require.Len(t, crossings, 2)
	require.Equal(t, 2, crossings[0].Messages)

	g.Lends("cluster: echo, from: eu, to: us", "cluster: geo.*, from: eu, to: us, as: eu-geo.*")
	g.Hangup()
	harness.Eventually(t, harness.Patience, "the other cluster is not lent any more", func() error {
		if out := status("echo eu us echo 100 lent 1/1 2"); strings.Contains(out, "nobody") {
			return fmt.Errorf("the status is still\n%s", out)
		}
		return nil
	})
	us.Requests("echo", "no limit any more").Ends(0)
	status(`geo\.\* eu us eu-geo\.\* - for 0 clusters now - - - - - - -`)

	g.Kill()
	harness.Run(t, "gateway", "status", "--config", g.Config()).Ends(5).Says("no gateway answers", "start it with 'arke gateway --config")
}

func TestAGatewayRefusesWhatIsBeyondItsLimits(t *testing.T) {
	// This test goes one over each limit of a crossing: the caller hears that there is too
	// much, and the reason is counted in the gateway's status, its table and its metrics.
	// When there is room again the next one crosses.
	scenario(t)
	eu, us := harness.NewNetwork(t).Relay("eu"), harness.NewNetwork(t).Relay("us")
	g := harness.NewGateway(t, map[string]*harness.Relay{"eu": eu, "us": us}, "",
		"cluster: requests, from: eu, to: us, in-flight: 1", "cluster: tunnels, from: eu, to: us, tunnels: 1",
		"cluster: bytes, from: eu, to: us, bytes-per-second: 1000", "cluster: messages, from: eu, to: us, messages-per-second: 1")
	ctx, cancel := context.WithTimeout(t.Context(), 2*harness.Patience)
	defer cancel()
	holds, release := make(chan struct{}), make(chan struct{})
	program := eu.Client()
	for _, cluster := range []string{"requests", "tunnels", "bytes", "messages"} {
		_, err := program.Serve(ctx, cluster, patterns.Service{
			Request: func(ctx context.Context, r *patterns.Request) (patterns.Message, error) {
				if string(r.Body) == "hold" {
					close(holds)
					<-release
				}
				return patterns.Message{}, nil
			},
			Tunnel: func(ctx context.Context, s patterns.Tunnel) error { _, err := s.Receive(ctx); return err },
		}, patterns.Limits{})
		require.NoError(t, err)
		us.Sees(1, cluster)
	}
	caller := us.Client()
	ask := func(cluster string, body []byte) error {
		_, err := caller.Request(ctx, cluster, patterns.Message{Body: body})
		return err
	}
	refused := func(cluster, reason string, err error) {
		t.Helper()
		require.ErrorIs(t, err, patterns.ErrOverloaded, cluster)
		crossings := g.Status().Crossings
		at := slices.IndexFunc(crossings, func(x harness.GatewayCrossing) bool { return x.Cluster == cluster })
		require.GreaterOrEqual(t, at, 0, "%s is not in the status", cluster)
		count := crossings[at].Refused[reason]
		require.Positive(t, count, "%s: %s is not in the status", cluster, reason)
		page, err := g.Page("/metrics")
		require.NoError(t, err)
		line := fmt.Sprintf("arke_gateway_refused_total{cluster=%q,from=\"eu\",reason=%q,to=\"us\"} %d\n", cluster, reason, count)
		require.Contains(t, page, line)
		require.Regexp(t, `(?m)^`+cluster+` .* `+reason+fmt.Sprintf(` %d$`, count), g.Shows())
	}
	crosses := func(cluster string, use func() error) {
		t.Helper()
		harness.Eventually(t, harness.Patience, cluster+" has room again", use)
	}

	held := make(chan error, 1)
	go func() { held <- ask("requests", []byte("hold")) }()
	select {
	case <-holds:
	case err := <-held:
		t.Fatalf("the first request: %v", err)
	}
	refused("requests", "in_flight_limit", ask("requests", nil))
	close(release)
	err := <-held
	require.NoError(t, err)
	crosses("requests", func() error { return ask("requests", nil) })

	first, err := caller.OpenTunnel(ctx, "tunnels", patterns.Message{})
	require.NoError(t, err)
	_, err = caller.OpenTunnel(ctx, "tunnels", patterns.Message{})
	refused("tunnels", "tunnels_limit", err)
	err = first.Reset(1, "enough")
	require.NoError(t, err)
	crosses("tunnels", func() error { _, err := caller.OpenTunnel(ctx, "tunnels", patterns.Message{}); return err })

	err = ask("bytes", make([]byte, 100_000)) // a quiet second lets one message pass, whatever its size
	require.NoError(t, err)
	refused("bytes", "bytes_limit", ask("bytes", []byte("x")))

	for err = nil; err == nil; { // more than one a second, on any machine
		err = errors.Join(ask("messages", nil), ask("messages", nil), ask("messages", nil))
	}
	refused("messages", "messages_limit", err)
	crosses("messages", func() error { return ask("messages", nil) })
}

func TestAGatewayTakesPartInARotation(t *testing.T) {
	// This test lends a cluster with keys of its own, which the gateway holds, and replaces
	// the keys of both networks and of the cluster; the old ones are gone from the files.
	// SIGHUP has relays and the gateway read them, and then requests cross as before.
	scenario(t)
	vault := clusterKeys(t, "vault")
	nets := map[string]*harness.Network{"eu": harness.NewNetwork(t), "us": harness.NewNetwork(t)}
	relays := map[string]*harness.Relay{}
	for name, n := range nets {
		relays[name] = n.Relay(name, harness.Flags("--cluster-key-file", vault))
	}
	g := harness.NewGateway(t, relays, vault, "cluster: vault, from: eu, to: us")
	relays["eu"].Serves("vault", "--echo")
	asks := func(why string) {
		t.Helper()
		harness.Eventually(t, harness.Patience, why, func() error {
			if r := relays["us"].Does("request", "vault", "x", "--timeout", "2s"); r.Code != 0 || r.Stdout != "x" {
				return fmt.Errorf("%s", r)
			}
			return nil
		})
	}
	asks("that a request crosses")
	for range 2 {
		for _, n := range nets {
			harness.Run(t, "key", "rotate", "--key-file", n.Key(), "--overlap", "0").Ends(0)
		}
		harness.Run(t, "key", "rotate", "--key-file", vault, "--cluster", "vault", "--overlap", "0").Ends(0)
		for _, r := range relays {
			r.Hangup()
		}
		harness.Eventually(t, harness.Patience, "that the gateway is left out", func() error {
			for name, r := range relays {
				if s, _, err := r.Status(); err != nil || s.Peers > 0 {
					return fmt.Errorf("%s knows of %d others, %v", name, s.Peers, err)
				}
			}
			return nil
		})
		g.Hangup()
		asks("that a request crosses again")
	}
}
