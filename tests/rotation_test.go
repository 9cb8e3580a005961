// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package tests

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/relay/client"
	"github.com/arke-mesh/arke/tests/harness"
)

func TestKeysAreRotatedUnderLoad(t *testing.T) {
	// This test does what docs/keys.md tells an operator to do: arke key rotate, then
	// SIGHUP to one relay after another, three times for the network and three times for a
	// cluster, while requests, tunnels and a subscription run; the last time the old keys are
	// gone from the file. No request is lost, no tunnel ends, and each message is
	// delivered once.
	alone(t)
	network := harness.NewNetwork(t)
	vault, own := clusterKeys(t, "vault"), clusterKeys(t, "own")
	relays := network.Relays(3, harness.Flags("--cluster-key-file", vault))
	a, b, c := relays[0], relays[1], relays[2]
	for _, r := range []*harness.Relay{b, c} {
		r.Serves("plain", "--echo")
		r.Serves("vault", "--echo")
		r.Serves("own", "--echo", "--cluster-key-file", own)
		r.Serves("pipe", "--tunnel-echo")
	}
	for _, name := range []string{"plain", "vault", "pipe"} {
		a.Sees(2, name)
	}
	caller, holder, publisher := a.Client(), holds(t, a, own), b.Client()
	var published atomic.Uint64

	var heard tally
	_, err := c.Client().Subscribe(t.Context(), "news.>", &heard, patterns.SubscribeOptions{})
	require.NoError(t, err)
	load := harness.StartLoad(t, 300, func(n int) error {
		if n%10 == 0 {
			published.Add(1)
			return publisher.Publish(t.Context(), "news.today", patterns.Message{Body: []byte("x")})
		}
		who, cluster := caller, []string{"plain", "vault", "own"}[n%3]
		if cluster == "own" {
			who = holder
		}
		return harness.Echoed(who, harness.Patience, cluster, fmt.Sprint(n), patterns.WaitForMember())
	})
	var tunnels []*carrier
	for range 4 {
		tunnels = append(tunnels, carries(t, caller, "pipe"))
	}

	read := map[*harness.Relay]int{}
	rotate := func(args ...string) {
		t.Helper()
		harness.Run(t, append([]string{"key", "rotate"}, args...)...).Ends(0)
		for _, r := range relays {
			read[r]++
			r.Hangup()
			harness.AtLeast(t, read[r], "times that the relay read its keys", func() int { return strings.Count(r.Log(), "keys read again") })
			passed(t, load, 100)
		}
	}
	for range 3 {
		rotate("--key-file", network.Key(), "--overlap", "1h")
		rotate("--key-file", vault, "--cluster", "vault", "--overlap", "1h")
	}
	for n, err := range load.Stop() {
		require.NoError(t, err, "request %d", n)
	}
	for _, c := range tunnels {
		c.ends()
	}
	harness.AtLeast(t, int(published.Load()), "messages delivered", heard.all)
	require.Zero(t, heard.missed.Load())
	require.Equal(t, published.Load(), heard.delivered.Load())
	for _, r := range relays {
		require.NoError(t, r.Logs(`"accepted": [4, 3], "seals": 4`))
	}
}

// holds attaches to a relay with a key of a cluster.
func holds(t *testing.T, r *harness.Relay, key string) *client.Client {
	t.Helper()
	file, err := client.ReadKeys(key)
	require.NoError(t, err)
	cfg := client.Config{Socket: r.Socket()}
	cfg.Keys = append(cfg.Keys, file)
	return harness.Attach(t, cfg)
}

// carrier is a tunnel that carries numbers there and back until it is told to end.
type carrier struct {
	t      *testing.T
	stop   chan struct{}
	done   chan error
	rounds int // until done
}

func carries(t *testing.T, c *client.Client, cluster string) *carrier {
	t.Helper()
	tunnel, err := c.OpenTunnel(t.Context(), cluster, patterns.Message{}, patterns.WaitForMember())
	require.NoError(t, err)
	r := &carrier{t: t, stop: make(chan struct{}), done: make(chan error, 1)}
	go func() {
		defer tunnel.Close()
		r.done <- r.run(tunnel)
	}()
	return r
}

func (r *carrier) run(tunnel patterns.Tunnel) error {
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for ; ; r.rounds++ {
		select {
		case <-tick.C:
		case <-r.stop:
			return nil
		}
		if err := harness.ThereAndBack(tunnel, harness.Patience, fmt.Sprint(r.rounds)); err != nil {
			return fmt.Errorf("round %d: %w", r.rounds, err)
		}
	}
}

// ends fails the test unless the tunnel has carried all there and back until now.
func (r *carrier) ends() {
	r.t.Helper()
	close(r.stop)
	err := <-r.done
	require.NoError(r.t, err, "after %d rounds", r.rounds)
	require.Greater(r.t, r.rounds, 10)
}
