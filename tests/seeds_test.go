// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package tests

import (
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/tests/harness"
)

// seedBack is how long a relay may take to join a seed that is back at its address.
const seedBack = 15 * time.Second

// know waits until the relays know each other, as long as a seed may take.
func know(t *testing.T, relays ...*harness.Relay) {
	t.Helper()
	harness.Eventually(t, seedBack, fmt.Sprintf("that %d relays know each other", len(relays)), func() error {
		for _, r := range relays {
			if s, _, err := r.Status(); err != nil || s.Peers != len(relays)-1 {
				return fmt.Errorf("%d peers, %w", s.Peers, err)
			}
		}
		return nil
	})
}

// seedIs waits until a relay says this of its only seed.
func seedIs(t *testing.T, r *harness.Relay, state, reason string) {
	t.Helper()
	harness.Eventually(t, seedBack, "that its seed is "+state, func() error {
		s, _, err := r.Status()
		if err != nil || len(s.Seeds) != 1 || s.Seeds[0].State != state || !strings.Contains(s.Seeds[0].Error, reason) {
			return fmt.Errorf("%+v, %w", s.Seeds, err)
		}
		return nil
	})
}

func TestSeedThatReturnsWithAnotherIDIsJoined(t *testing.T) {
	// This test checks the README's own configuration: the first relay has no data
	// directory and returns with another peer id, at once and after a while; those that
	// name it as their seed join it again, by two names for it, too.
	scenario(t)
	nw := harness.NewNetwork(t)
	a := nw.Relay("a")
	_, port, err := net.SplitHostPort(a.HostPort())
	require.NoError(t, err)
	b := nw.Relay("b", harness.Flags("--seed", a.HostPort()))
	c := nw.Relay("c", harness.Flags("--seed", a.HostPort(), "--seed", "localhost:"+port))
	harness.Together(t, a, b, c)
	for _, absence := range []time.Duration{0, 4 * time.Second} {
		before := a.Peer()
		a.Kill()
		if absence > 0 {
			seedIs(t, b, "failing", "nobody listens there")
		}
		a.Restart()
		require.NotEqual(t, before, a.Peer())
		know(t, a, b, c)
		seedIs(t, b, "reached", "")
	}
	a.Serves("echo", "--echo")
	c.Sees(1, "echo")
	c.Requests("echo", "hello").Gets("hello")
}

func TestRelaysWithTheSameSeedsRestartInTurnWithoutIdentity(t *testing.T) {
	// This test gives three relays the same configuration, their own addresses included,
	// and restarts each of them with another peer id: after each they know each other.
	scenario(t)
	nw := harness.NewNetwork(t)
	at := []string{harness.FreePort(t), harness.FreePort(t), harness.FreePort(t)}
	seeds := harness.Flags("--seed", at[0], "--seed", at[1], "--seed", at[2])
	var relays []*harness.Relay
	for i, name := range []string{"a", "b", "c"} {
		relays = append(relays, nw.Relay(name, harness.Unasked(), harness.Flags("--listen", at[i]), seeds))
	}
	harness.Together(t, relays...)
	for _, r := range relays {
		r.Kill()
		r.Restart()
		know(t, relays...)
	}
}

func TestSeedThatIsTheRelayItselfCountsAsNone(t *testing.T) {
	// This test starts a relay whose only seed is its own address: it is ready, and says
	// so everywhere. A second one with the same seed joins it.
	scenario(t)
	nw := harness.NewNetwork(t)
	own := harness.FreePort(t)
	a := nw.Relay("a", harness.Unasked(), harness.Flags("--listen", own, "--seed", own, "--admin", ":0"))
	at := "http://" + admin(t, a)
	harness.Eventually(t, seedBack, "ready", func() error {
		if status, body := get(t, at+"/readyz"); status != http.StatusOK {
			return fmt.Errorf("%d %s", status, body)
		}
		return nil
	})
	seedIs(t, a, "self", "")
	_, body := get(t, at+"/metrics")
	require.Contains(t, body, "arke_seeds{state=\"self\"} 1\n")
	require.Contains(t, body, "arke_seeds{state=\"failing\"} 0\n")
	require.Contains(t, a.Does("doctor").Stdout, "it is the relay itself")
	know(t, a, nw.Relay("b", harness.Flags("--seed", own)))
}

func TestSeedWithAnIDLeadsToNoOtherNode(t *testing.T) {
	// This test names a seed with its peer id: the id is configured, so another relay of
	// the network at its address is not joined, and status and doctor say what is there.
	scenario(t)
	nw := harness.NewNetwork(t)
	a := nw.Relay("a")
	b := nw.Relay("b", harness.Seed(a))
	harness.Together(t, a, b)
	before := a.Peer()
	a.Kill()
	a.Restart()
	seedIs(t, b, "failing", "another node answers there, "+a.Peer()+" instead of "+before)
	require.Error(t, b.KnowsAnybody())
	require.Contains(t, b.Does("doctor").Stdout, "correct the peer id in --seed")
}
