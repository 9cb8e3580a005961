// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package tests

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/tests/harness"
)

func TestRelaysJoinBySeed(t *testing.T) {
	// This test checks that three relays of which one is the others' seed
	// link up, and that a request finds its member from each of them.
	scenario(t)
	net := harness.NewNetwork(t)
	relays := net.Relays(3)
	relays[1].Serves("echo", "--echo")
	for _, r := range relays {
		r.Sees(1, "echo")
		r.Requests("echo", "hello from "+r.Peer()).Gets("hello from " + r.Peer())
	}
}

func TestSeedMayBeHostAndPort(t *testing.T) {
	// This test checks that a seed needs no peer id.
	scenario(t)
	net := harness.NewNetwork(t)
	a := net.Relay("a")
	b := net.Relay("b", harness.Flags("--seed", a.HostPort()))
	harness.Together(t, a, b)
}

func TestRelaysWaitForTheirSeed(t *testing.T) {
	// This test checks that relays whose seed comes last find each other.
	scenario(t)
	net := harness.NewNetwork(t)
	a := net.Relay("a")
	a.Kill()
	// Its peer id will be a new one, so only the address is of use.
	seed := harness.Flags("--seed", a.HostPort())
	b, c := net.Relay("b", seed), net.Relay("c", seed)
	a.Restart()
	harness.Together(t, a, b, c)
}

func TestRelaysJoinByMDNS(t *testing.T) {
	// This test checks that relays on one network find each other without
	// being told anything, and that those of another network do not hear it.
	scenario(t)
	machine := harness.NewNamespace(t)
	net, other := harness.NewNetwork(t), harness.NewNetwork(t)
	a := net.Relay("a", harness.Inside(machine))
	b := net.Relay("b", harness.Inside(machine))
	c := net.Relay("c", harness.Inside(machine))
	stranger := other.Relay("s", harness.Inside(machine))
	harness.Together(t, a, b, c)

	a.Serves("echo", "--echo")
	c.Sees(1, "echo")
	c.Requests("echo", "hello").Gets("hello")
	stranger.Requests("echo", "hello").Ends(3)
	for _, r := range []*harness.Relay{a, b, c} {
		r.Ignores(stranger)
	}
}

func TestRelaysRememberTheirPeers(t *testing.T) {
	// This test checks that a network comes together again after all its
	// relays were stopped, without seeds and without mDNS, from their data
	// directories, and that each relay is the same peer as before.
	scenario(t)
	net := harness.NewNetwork(t)
	relays := net.Relays(3, harness.Remembering())
	peers := make([]string, len(relays))
	for i, r := range relays {
		peers[i] = r.Peer()
		r.Forget()
	}
	for _, r := range relays {
		r.Terminate().Ends(0)
	}
	harness.RestartAll(relays...)
	harness.Together(t, relays...)
	for i, r := range relays {
		require.Equal(t, peers[i], r.Peer(), "relay %d", i)
	}
	relays[0].Serves("echo", "--echo")
	relays[2].Sees(1, "echo")
	relays[2].Requests("echo", "hello").Gets("hello")
}
