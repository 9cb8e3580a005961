// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package tests

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"

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

	g.Lends("cluster: echo, from: eu, to: us")
	g.Hangup()
	harness.Eventually(t, harness.Patience, "the other cluster is not lent any more", func() error {
		if out := status("echo eu us echo 100 lent 1/1 2"); strings.Contains(out, "nobody") {
			return fmt.Errorf("the status is still\n%s", out)
		}
		return nil
	})
	us.Requests("echo", "no limit any more").Ends(0)

	g.Kill()
	harness.Run(t, "gateway", "status", "--config", g.Config()).Ends(5).Says("no gateway answers", "start it with 'arke gateway --config")
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
