// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package tests

import (
	"testing"
	"time"

	"github.com/arke-mesh/arke/tests/harness"
)

func TestRelayWithAnotherKeyNeverGetsIn(t *testing.T) {
	// This test checks that a relay with another network's key is turned away
	// in the handshake: whoever it dials, it knows of nobody and has no member to ask,
	// and nobody's status knows of it.
	scenario(t)
	net, other := harness.NewNetwork(t), harness.NewNetwork(t)
	relays := net.Relays(3)
	relays[0].Serves("echo", "--echo")
	intruder := other.Relay("x", harness.Seed(relays...))

	// It keeps trying all the time; three seconds are a dozen attempts.
	harness.Never(t, 3*time.Second, "that the intruder gets in", intruder.KnowsAnybody)
	intruder.Requests("echo", "let me in").Ends(3)
	for _, r := range relays {
		r.Ignores(intruder)
	}
	relays[2].Requests("echo", "still here").Gets("still here")
}

func TestTwoNetworksOnOneMachineStayApart(t *testing.T) {
	// This test checks that clusters of the same name in two networks have
	// nothing to do with each other, even if the relays dial each other.
	scenario(t)
	one, two := harness.NewNetwork(t), harness.NewNetwork(t)
	a, b := together(one)
	c := two.Relay("c", harness.Seed(a, b))
	d := two.Relay("d", harness.Seed(c, a))
	harness.Together(t, c, d)

	b.Serves("name", "--exec", "echo one")
	d.Serves("name", "--exec", "echo two")
	a.Sees(1, "name")
	c.Sees(1, "name")
	for range 5 {
		a.Requests("name").Gets("one\n")
		c.Requests("name").Gets("two\n")
	}
	for _, pair := range [][2]*harness.Relay{{a, c}, {a, d}, {b, c}, {d, b}} {
		pair[0].Ignores(pair[1])
		pair[1].Ignores(pair[0])
	}
}

func together(net *harness.Network) (a, b *harness.Relay) {
	relays := net.Relays(2)
	return relays[0], relays[1]
}
