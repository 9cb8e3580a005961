// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"crypto/rand"
	"time"

	"github.com/arke-mesh/arke/node"
	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/security"
	"github.com/arke-mesh/arke/tests/harness"
)

const (
	loopback = "/ip4/127.0.0.1/tcp/0"
	size     = 64 // bytes of a message
	warmUp   = time.Second
	span     = 3 * time.Second
)

// roundTrip measures one request at a time: between two programs that are
// attached to a relay each, between two embedded nodes, and, as the floor
// below them, a bare echo over one libp2p stream. Both ends are in this
// process, the relays are not.
func roundTrip(m *meter) {
	bare, embedded, relays := m.bareEcho(), m.embedded(), m.relayed()
	// Twice, so that none profits from the order.
	for range 2 {
		m.times("bare echo over one libp2p stream", m.sequence(bare))
		m.times("request between two embedded nodes", m.sequence(embedded))
		m.times("request through two relays", m.sequence(relays))
	}
}

func (m *meter) must(err error) {
	if err != nil {
		m.Fatalf("%v", err)
	}
}

// sequence calls f again and again and returns how long each call took.
func (m *meter) sequence(f func() error) []time.Duration {
	for begin := time.Now(); time.Since(begin) < warmUp; {
		m.must(f())
	}
	var took []time.Duration
	for begin := time.Now(); time.Since(begin) < span; {
		start := time.Now()
		m.must(f())
		took = append(took, time.Since(start))
	}
	return took
}

// asks returns a function that sends one request.
func asks(caller patterns.Messenger) func() error {
	body := make([]byte, size)
	return func() error {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		_, err := caller.Request(ctx, "echo", patterns.Message{Body: body}, patterns.WaitForMember())
		return err
	}
}

func (m *meter) relayed() func() error {
	relays := harness.NewNetwork(m).Relays(2)
	m.serve(relays[1], "echo")
	relays[0].Sees(1, "echo")
	return asks(relays[0].Client())
}

func (m *meter) embedded() func() error {
	caller, member := m.nodes("measure")
	_, err := member.Serve(context.Background(), "echo", echo, patterns.Limits{})
	m.must(err)
	return asks(caller)
}

// nodes starts two embedded nodes that know each other.
func (m *meter) nodes(network string) (near, far *node.Node) {
	file, err := security.GenerateNetworkFile(network, rand.Reader)
	m.must(err)
	var seeds []string
	start := func() *node.Node {
		n, err := node.New(node.Config{Network: file, Listen: []string{loopback}, Seeds: seeds, NoMDNS: true})
		m.must(err)
		m.must(n.Start(context.Background()))
		m.Cleanup(func() { n.Close() })
		return n
	}
	far = start()
	seeds = far.Status().Addrs
	return start(), far
}
