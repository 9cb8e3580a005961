// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package tests

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"

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
		out := harness.Run(t, "gateway", "status", "--config", g.Config()).Ends(0).Stdout
		for _, w := range want {
			require(t, regexp.MustCompile(strings.ReplaceAll(w, " ", `\s+`)).MatchString(out), fmt.Sprintf("%s is not in\n%s", w, out))
		}
		return out
	}
	status("NETWORK NODE PEERS ADDRESSES", `eu \S+ 1 /ip4/127.0.0.1/tcp/`, `echo eu us echo 100 lent 1/1 2 \d+ 0 0 \S*s messages_limit \d`,
		"nobody eu us somebody 100 no member in eu 0/0 0 0 0 0 - -")
	var s struct {
		Crossings []struct {
			Cluster  string `json:"cluster"`
			Messages int    `json:"messages"`
		} `json:"crossings"`
	}
	out := harness.Run(t, "gateway", "status", "--config", g.Config(), "--json").Ends(0).Stdout
	require(t, json.Unmarshal([]byte(out), &s) == nil && len(s.Crossings) == 2 && s.Crossings[0].Messages == 2, out)

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
		require(t, err == nil, err)
		us.Sees(1, cluster)
	}
	caller := us.Client()
	ask := func(cluster string, body []byte) error {
		_, err := caller.Request(ctx, cluster, patterns.Message{Body: body})
		return err
	}
	refused := func(cluster, reason string, err error) {
		t.Helper()
		require(t, errors.Is(err, patterns.ErrOverloaded), fmt.Sprintf("%s: %v", cluster, err))
		count := refusedBy(t, g, cluster, reason)
		require(t, count > 0, cluster+": "+reason+" is not in the status")
		page, err := g.Page("/metrics")
		line := fmt.Sprintf("arke_gateway_refused_total{cluster=%q,from=\"eu\",reason=%q,to=\"us\"} %d\n", cluster, reason, count)
		require(t, err == nil && strings.Contains(page, line), fmt.Sprint(line, " is not in\n", page, err))
		table := harness.Run(t, "gateway", "status", "--config", g.Config()).Ends(0).Stdout
		require(t, regexp.MustCompile(`(?m)^`+cluster+` .* `+reason+fmt.Sprintf(` %d$`, count)).MatchString(table), table)
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
	require(t, err == nil, err)
	crosses("requests", func() error { return ask("requests", nil) })

	first, err := caller.OpenTunnel(ctx, "tunnels", patterns.Message{})
	require(t, err == nil, err)
	_, err = caller.OpenTunnel(ctx, "tunnels", patterns.Message{})
	refused("tunnels", "tunnels_limit", err)
	err = first.Reset(1, "enough")
	require(t, err == nil, err)
	crosses("tunnels", func() error { _, err := caller.OpenTunnel(ctx, "tunnels", patterns.Message{}); return err })

	err = ask("bytes", make([]byte, 100_000)) // a quiet second lets one message pass, whatever its size
	require(t, err == nil, err)
	refused("bytes", "bytes_limit", ask("bytes", []byte("x")))

	for err = nil; err == nil; { // more than one a second, on any machine
		err = errors.Join(ask("messages", nil), ask("messages", nil), ask("messages", nil))
	}
	refused("messages", "messages_limit", err)
	crosses("messages", func() error { return ask("messages", nil) })
}

// refusedBy is how often a gateway has refused something of a crossing for that reason, as
// its status says.
func refusedBy(t *testing.T, g *harness.Gateway, cluster, reason string) (count int) {
	t.Helper()
	var s struct {
		Crossings []struct {
			Cluster string         `json:"cluster"`
			Refused map[string]int `json:"refused"`
		} `json:"crossings"`
	}
	out := harness.Run(t, "gateway", "status", "--config", g.Config(), "--json").Ends(0).Stdout
	err := json.Unmarshal([]byte(out), &s)
	require(t, err == nil, err)
	for _, x := range s.Crossings {
		if x.Cluster == cluster {
			count = x.Refused[reason]
		}
	}
	return count
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
