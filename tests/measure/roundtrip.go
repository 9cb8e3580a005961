// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"time"

	"github.com/libp2p/go-libp2p/core/crypto"
	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/libp2p/go-libp2p/core/sec"
	"github.com/libp2p/go-libp2p/p2p/host/eventbus"
	"github.com/libp2p/go-libp2p/p2p/host/peerstore/pstoremem"
	"github.com/libp2p/go-libp2p/p2p/muxer/yamux"
	"github.com/libp2p/go-libp2p/p2p/net/swarm"
	"github.com/libp2p/go-libp2p/p2p/net/upgrader"
	tls "github.com/libp2p/go-libp2p/p2p/security/tls"
	"github.com/libp2p/go-libp2p/p2p/transport/tcp"
	ma "github.com/multiformats/go-multiaddr"

	"github.com/arke-mesh/arke/internal/node"
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
	serve(m, relays[1], "echo")
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

// bareEcho returns a function that sends a message over one stream of plain
// libp2p (TCP, TLS, yamux, all with their defaults) and reads it back.
func (m *meter) bareEcho() func() error {
	near, far := m.plainSwarm(), m.plainSwarm()
	far.SetStreamHandler(func(s network.Stream) {
		defer s.Close()
		message := make([]byte, size)
		for {
			if _, err := io.ReadFull(s, message); err != nil {
				return
			}
			if _, err := s.Write(message); err != nil {
				return
			}
		}
	})
	near.Peerstore().AddAddrs(far.LocalPeer(), far.ListenAddresses(), time.Hour)
	stream, err := near.NewStream(context.Background(), far.LocalPeer())
	m.must(err)
	message := make([]byte, size)
	return func() error {
		if _, err := stream.Write(message); err != nil {
			return err
		}
		_, err := io.ReadFull(stream, message)
		return err
	}
}

// plainSwarm returns a libp2p swarm that listens on loopback.
func (m *meter) plainSwarm() *swarm.Swarm {
	key, _, err := crypto.GenerateKeyPair(crypto.Ed25519, 0)
	m.must(err)
	id, err := peer.IDFromPrivateKey(key)
	m.must(err)
	store, err := pstoremem.NewPeerstore()
	m.must(err)
	m.must(store.AddPrivKey(id, key))
	m.must(store.AddPubKey(id, key.GetPublic()))
	s, err := swarm.NewSwarm(id, store, eventbus.NewBus())
	m.must(err)
	m.Cleanup(func() { s.Close(); store.Close() })

	muxers := []upgrader.StreamMuxer{{ID: yamux.ID, Muxer: yamux.DefaultTransport}}
	secure, err := tls.New(tls.ID, key, muxers)
	m.must(err)
	up, err := upgrader.New([]sec.SecureTransport{secure}, muxers, nil, nil, nil)
	m.must(err)
	transport, err := tcp.NewTCPTransport(up, nil, nil)
	m.must(err)
	m.must(s.AddTransport(transport))
	m.must(s.Listen(ma.StringCast(loopback)))
	return s
}

// How many are there while nothing happens on them.
const (
	idleCount   = 2000 // tunnels, and subscriptions; a client has room for some 2,400 tunnels
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
		_, err := listener.Subscribe(ctx, fmt.Sprintf("quiet.a%d.b.c", i), patterns.SubscriberFunc(func(*patterns.Publication) {}), patterns.SubscribeOptions{})
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
