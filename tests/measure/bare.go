// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
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
)

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
