// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package system

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
	libp2ptls "github.com/libp2p/go-libp2p/p2p/security/tls"
	"github.com/libp2p/go-libp2p/p2p/transport/tcp"
	ma "github.com/multiformats/go-multiaddr"
)

// libp2pSystems is one bare libp2p stream (TCP, TLS 1.3, yamux, all with their
// defaults): the limit of what is built on it.
func libp2pSystems() []System {
	return []System{{
		Name: "libp2p", About: "limit: frames over one bare libp2p stream (TLS 1.3, yamux)",
		Topics: true, Requests: true,
		Version: func() string { return moduleVersion("github.com/libp2p/go-libp2p") },
		Join: func(setup Setup) (Seat, error) {
			conns, err := newStreams()
			if err != nil {
				return nil, err
			}
			return joinBare(conns)(setup)
		},
	}}
}

// streams makes libp2p streams.
type streams struct{ swarm *swarm.Swarm }

func newStreams() (*streams, error) {
	key, _, err := crypto.GenerateKeyPair(crypto.Ed25519, 0)
	if err != nil {
		return nil, err
	}
	id, err := peer.IDFromPrivateKey(key)
	if err != nil {
		return nil, err
	}
	store, err := pstoremem.NewPeerstore()
	if err != nil {
		return nil, err
	}
	if err := store.AddPrivKey(id, key); err != nil {
		return nil, err
	}
	s, err := swarm.NewSwarm(id, store, eventbus.NewBus())
	if err != nil {
		return nil, err
	}
	muxers := []upgrader.StreamMuxer{{ID: yamux.ID, Muxer: yamux.DefaultTransport}}
	secure, err := libp2ptls.New(libp2ptls.ID, key, muxers)
	if err != nil {
		return nil, err
	}
	up, err := upgrader.New([]sec.SecureTransport{secure}, muxers, nil, nil, nil)
	if err != nil {
		return nil, err
	}
	transport, err := tcp.NewTCPTransport(up, nil, nil)
	if err != nil {
		return nil, err
	}
	return &streams{s}, s.AddTransport(transport)
}

func (s *streams) listen(each func(io.ReadWriteCloser)) (string, error) {
	s.swarm.SetStreamHandler(func(stream network.Stream) {
		// A stream is there with its first byte.
		if _, err := io.ReadFull(stream, make([]byte, 1)); err == nil {
			each(stream)
		}
	})
	if err := s.swarm.Listen(ma.StringCast(arkeLoopback)); err != nil {
		return "", err
	}
	addresses, err := peer.AddrInfoToP2pAddrs(&peer.AddrInfo{ID: s.swarm.LocalPeer(), Addrs: s.swarm.ListenAddresses()})
	if err != nil {
		return "", err
	}
	return addresses[0].String(), nil
}

func (s *streams) dial(addr string) (io.ReadWriteCloser, error) {
	info, err := peer.AddrInfoFromString(addr)
	if err != nil {
		return nil, err
	}
	s.swarm.Peerstore().AddAddrs(info.ID, info.Addrs, time.Hour)
	stream, err := s.swarm.NewStream(context.Background(), info.ID)
	if err != nil {
		return nil, err
	}
	_, err = stream.Write([]byte{0})
	return stream, err
}

func (s *streams) close() error { return s.swarm.Close() }
