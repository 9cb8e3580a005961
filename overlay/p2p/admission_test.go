// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package p2p_test

import (
	"crypto/tls"
	"io"
	"net"
	"testing"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"
	ma "github.com/multiformats/go-multiaddr"
	manet "github.com/multiformats/go-multiaddr/net"
	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/overlay"
	"github.com/arke-mesh/arke/overlay/p2p"
)

// This test checks that nodes of different networks refuse each other in the
// handshake, whoever dials and however, that both count it, and that neither
// hears of a peer.
func TestWrongNetworkKeyIsRefusedOnBothSides(t *testing.T) {
	a, b := start(t, newNetwork(t)), start(t, newNetwork(t))
	for _, c := range []overlay.Candidate{
		b.candidate(),
		{Addrs: b.Addrs()}, // does not even learn who is there
	} {
		p, err := a.Connect(within(t), c)
		require.ErrorIs(t, err, p2p.ErrRefused)
		require.NotContains(t, err.Error(), "\n")
		require.True(t, p == "" || c.Peer != "", "a refused peer's id")
	}
	_, err := a.Open(within(t), b.Self(), b.Addrs())
	require.ErrorIs(t, err, p2p.ErrRefused)

	require.EqualValues(t, 3, a.Counters()["handshake_refused"])
	require.Eventually(t, func() bool {
		return b.Counters()["handshake_refused_by_peer"] == 3
	}, waitLimit, time.Millisecond)
	a.quiet()
	b.quiet()
	require.Zero(t, a.Router().Size()+b.Router().Size())
}

// This test checks that a peer without any proof, an ordinary TLS client, is
// cut off in the handshake: it reads an alert and the end.
func TestStrangerSeesNothing(t *testing.T) {
	n := start(t, newNetwork(t))
	addr, err := manet.ToNetAddr(ma.StringCast(n.Addrs()[0]))
	require.NoError(t, err)
	c, err := tls.Dial("tcp", addr.String(), &tls.Config{InsecureSkipVerify: true, NextProtos: []string{overlay.LinkProtocol}})
	if err == nil { // the client's half of TLS 1.3 ends before the server has looked
		_, err = c.Read(make([]byte, 1))
		c.Close()
	}
	require.Error(t, err)
	require.NotErrorIs(t, err, io.EOF)
	require.Eventually(t, func() bool { return n.Counters()["handshake_failed"] == 1 }, waitLimit, time.Millisecond)
	n.quiet()
}

// This test checks that garbage and silence on the port do no harm, and that
// real peers get in beside them.
func TestGarbageDoesNotKeepPeersOut(t *testing.T) {
	network := newNetwork(t)
	n := start(t, network, func(c *p2p.Config) { c.MaxHandshakes = 4 })
	addr, err := manet.ToNetAddr(ma.StringCast(n.Addrs()[0]))
	require.NoError(t, err)
	for i := range 8 { // twice as many as there are places
		c, err := net.Dial("tcp", addr.String())
		require.NoError(t, err)
		defer c.Close()
		if i == 0 {
			_, err = c.Write([]byte("GET / HTTP/1.1\r\n\r\n"))
			require.NoError(t, err)
		}
	}
	other := start(t, network)
	require.Eventually(t, func() bool {
		_, err := other.Connect(within(t), n.candidate())
		return err == nil
	}, waitLimit, 10*time.Millisecond)
	require.NotZero(t, n.Counters()["handshake_evicted"])
}

// This test checks that a dial to an address where another peer answers fails,
// although that peer is of the network, and that nobody hears of a peer.
func TestWrongPeerAtAnAddressIsNotAccepted(t *testing.T) {
	network := newNetwork(t)
	a, b := start(t, network), start(t, network)
	stranger := newKey(t).PeerID()
	_, err := a.Connect(within(t), overlay.Candidate{Peer: stranger, Addrs: b.Addrs()})
	require.ErrorContains(t, err, "peer id mismatch")
	require.NotErrorIs(t, err, p2p.ErrRefused)
	for _, p := range []peer.ID{stranger, b.Self()} {
		require.NotContains(t, a.Router().Nearest(overlay.Key{}, 9), p)
	}
	a.quiet()
	b.quiet()
}
