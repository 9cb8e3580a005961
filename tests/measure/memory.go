// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"time"

	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/tests/harness"
)

// How many are there while nothing happens on them.
const (
	idleCount   = 2000 // tunnels, and subscriptions
	idleClients = 1000
)

// memory measures what an idle tunnel and an idle subscription cost a relay.
func memory(m *meter) {
	relays := harness.NewNetwork(m).Relays(2)
	member, caller := relays[1].Client(), relays[0].Client()
	ctx := context.Background()
	quiet := func(ctx context.Context, t patterns.Tunnel) error {
		_, err := t.Receive(ctx)
		return err
	}
	_, err := member.Serve(ctx, "quiet", patterns.Service{Tunnel: quiet}, patterns.Limits{})
	m.must(err)
	relays[0].Sees(1, "quiet")
	near, far := relays[0].RSS(), relays[1].RSS()
	for range idleCount {
		_, err := caller.OpenTunnel(ctx, "quiet", patterns.Message{})
		m.must(err)
	}
	wait(2 * time.Second)
	m.grew("idle tunnel, relay of the caller", near, relays[0].RSS())
	m.grew("idle tunnel, relay of the member", far, relays[1].RSS())

	before := relays[0].RSS()
	listener := relays[0].Client()
	for i := range idleCount { // of one client; the default limit is 4,096
		_, err := listener.Subscribe(ctx, fmt.Sprintf("quiet.a%d.b.c", i), patterns.SubscriberFunc(func(patterns.Publication) {}), patterns.SubscribeOptions{})
		m.must(err)
	}
	wait(2 * time.Second)
	grown := relays[0].RSS() - before
	m.say("idle subscription at its relay", "%d B each (%d)", grown/idleCount, idleCount)

	crowded := harness.NewNetwork(m).Relay("crowded", harness.Flags("--max-clients", fmt.Sprint(idleClients)))
	before = crowded.RSS()
	for range idleClients {
		crowded.Client()
	}
	wait(10 * time.Second) // its collector gives back what attaching took
	after := crowded.RSS()
	m.say("idle client at its relay", "%.1f KB each (%d; %.1f MB before, %.1f MB after)", float64(after-before)/1e3/idleClients, idleClients, float64(before)/1e6, float64(after)/1e6)
}

func (m *meter) grew(what string, before, after int) {
	m.say(what, "%d B each (%d; %.1f MB before, %.1f MB after)", (after-before)/idleCount, idleCount, float64(before)/1e6, float64(after)/1e6)
}
