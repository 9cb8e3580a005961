// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package p2p

import (
	"testing"
	"time"

	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/core/peer"
	ma "github.com/multiformats/go-multiaddr"
	"github.com/stretchr/testify/require"
)

// This test checks the order and the delays of dials for mixes of addresses.
func TestAddressesAreRanked(t *testing.T) {
	const (
		loop = "/ip4/127.0.0.1/tcp/1"
		lan1 = "/ip4/192.168.0.1/tcp/1"
		lan2 = "/ip4/10.0.0.1/tcp/1"
		ula  = "/ip6/fd00::1/tcp/1"
		wan1 = "/ip4/8.8.8.8/tcp/1"
		wan2 = "/ip6/2600::1/tcp/1"
	)
	type dial struct {
		addr  string
		delay time.Duration
	}
	for _, c := range [][]dial{
		nil,
		{{wan1, 0}},
		{{lan1, 0}},
		{{loop, 0}, {wan1, 0}, {wan2, publicDialGap}},
		{{lan1, 0}, {lan2, 0}, {ula, privateDialGap}},
		{{loop, 0}, {lan1, 0}, {wan1, 0}, {ula, privateDialGap}, {wan2, publicDialGap}},
	} {
		var addrs []ma.Multiaddr
		for _, d := range c {
			addrs = append(addrs, ma.StringCast(d.addr))
		}
		var got []dial
		for _, d := range rankAddrs(addrs) {
			got = append(got, dial{d.Addr.String(), d.Delay})
		}
		require.Equal(t, c, got)
	}
}

// This test checks that the limits of connections hold in all and per peer,
// that each refusal is counted, and that Done gives back exactly once.
func TestConnectionLimitsHold(t *testing.T) {
	var c counters
	l := newLimits(Config{MaxConns: 3, MaxConnsPerPeer: 2, MaxStreamsPerPeer: 1, MaxStreams: 9}, &c)
	open := func() network.ConnManagementScope {
		s, err := l.OpenConnection(network.DirInbound, true, nil)
		require.NoError(t, err)
		require.Nil(t, s.PeerScope())
		return s
	}
	a1, a2, a3 := open(), open(), open()
	_, err := l.OpenConnection(network.DirOutbound, true, nil)
	require.ErrorIs(t, err, errLimit)
	require.EqualValues(t, 1, c[countConnLimit].Load())

	require.NoError(t, a1.SetPeer("a"))
	require.NotNil(t, a1.PeerScope())
	require.NoError(t, a2.SetPeer("a"))
	require.ErrorIs(t, a3.SetPeer("a"), errLimit)
	require.EqualValues(t, 1, c[countPeerConnLimit].Load())
	require.NoError(t, a3.SetPeer("b"))
	a1.Done()
	a1.Done()
	a4 := open()
	require.NoError(t, a4.SetPeer("a"))
	_, err = l.OpenConnection(network.DirInbound, true, nil)
	require.Error(t, err)
	for _, s := range []network.ConnManagementScope{a2, a3, a4} {
		s.Done()
	}
	require.Zero(t, l.conns)
	require.Empty(t, l.peers)

	in, err := l.OpenStream("a", network.DirInbound)
	require.NoError(t, err)
	_, err = l.OpenStream("a", network.DirInbound)
	require.ErrorIs(t, err, errLimit)
	for _, free := range []struct {
		p   peer.ID
		dir network.Direction
	}{{"b", network.DirInbound}, {"a", network.DirOutbound}} {
		_, err = l.OpenStream(free.p, free.dir)
		require.NoError(t, err)
	}
	in.Done()
	in.Done()
	_, err = l.OpenStream("a", network.DirInbound)
	require.NoError(t, err)
}
