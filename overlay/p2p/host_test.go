// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package p2p_test

import (
	"io"
	"net"
	"testing"

	"github.com/libp2p/go-libp2p/core/network"
	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/overlay/p2p"
)

// This test checks that two hosts connect, each hears of the other, and bytes
// cross a stream in both directions.
func TestTwoHostsEchoOverAStream(t *testing.T) {
	a, b := two(t)
	from, err := a.Open(within(t), b.Self(), b.Addrs())
	require.NoError(t, err)
	_, err = from.Write([]byte("hello"))
	require.NoError(t, err)
	require.NoError(t, from.CloseWrite())

	to := b.accept()
	require.Equal(t, a.Self(), to.Remote())
	require.False(t, to.Outbound())
	got, err := io.ReadAll(to)
	require.NoError(t, err)
	require.Equal(t, "hello", string(got))
	_, err = to.Write([]byte("world"))
	require.NoError(t, err)
	require.NoError(t, to.CloseWrite())
	got, err = io.ReadAll(from)
	require.NoError(t, err)
	require.Equal(t, "world", string(got))

	require.Equal(t, b.Self(), from.Remote())
	require.Equal(t, b.Addrs()[0], from.RemoteAddr())
	require.True(t, from.Outbound())
	require.NoError(t, from.Close())
	require.NoError(t, to.Close())
	a.want(true, b.Self())
	b.want(true, a.Self())
}

// This test checks that a reset carries its code to the peer, and that what
// was under way fails on both sides.
func TestResetCarriesItsCode(t *testing.T) {
	n := p2p.NewNetwork(t)
	from, to := pair(t, start(t, n), start(t, n))
	require.NoError(t, from.Reset(42))
	_, err := to.Read(make([]byte, 1))
	var reset *network.StreamError
	require.ErrorAs(t, err, &reset)
	require.EqualValues(t, 42, reset.ErrorCode)
	require.True(t, reset.Remote)
	_, err = from.Read(make([]byte, 1))
	require.Error(t, err)
	_, err = from.Write(make([]byte, 1))
	require.Error(t, err)
}

// This test checks that IPv6 works like IPv4, from listening to the stream.
func TestHostsConnectOverIPv6(t *testing.T) {
	l, err := net.Listen("tcp6", "[::1]:0")
	if err != nil {
		t.Skipf("this machine has no IPv6: %v", err)
	}
	l.Close()
	network := p2p.NewNetwork(t)
	a := start(t, network, listen("[::1]:0"))
	b := start(t, network, listen("/ip6/::1/tcp/0"))
	from, _ := pair(t, a, b)
	require.Contains(t, from.RemoteAddr(), "/ip6/::1/tcp/")
}

// This test checks that Addrs names what others can dial: real ports, real
// interfaces, and what was advertised instead if anything was.
func TestAddrsAreThoseOthersCanDial(t *testing.T) {
	network := p2p.NewNetwork(t)
	any := start(t, network, listen("0.0.0.0:0"))
	require.NotEmpty(t, any.Addrs())
	for _, a := range any.Addrs() {
		require.NotContains(t, a, "/ip4/0.0.0.0")
		require.NotContains(t, a, "/tcp/0")
	}
	both := start(t, network, func(c *p2p.Config) { c.Listen = nil })
	require.NotEmpty(t, both.Addrs())

	told := start(t, network, func(c *p2p.Config) {
		c.Advertise = []string{"/dns4/node.example/tcp/4077", "192.0.2.1:4077", "node.example:4078"}
	})
	require.Equal(t, []string{"/dns4/node.example/tcp/4077", "/ip4/192.0.2.1/tcp/4077", "/dns/node.example/tcp/4078"}, told.Addrs())
}

// This test checks that others learn the advertised addresses, not those
// bound: a third node reaches the first one through them alone.
func TestAdvertisedAddressesReachOthers(t *testing.T) {
	network := p2p.NewNetwork(t)
	seed := start(t, network)
	_, port, err := net.SplitHostPort(freeAddr(t, "127.0.0.1"))
	require.NoError(t, err)
	hidden := start(t, network, listen("127.0.0.1:"+port), func(c *p2p.Config) {
		c.Advertise = []string{"localhost:" + port}
	})
	connect(t, hidden, seed)
	other := start(t, network)
	connect(t, other, seed)
	settle(t, seed, other, hidden) // other has heard of hidden, from seed
	hidden.want(true, other.Self())
}

// This test checks that every method of a host that does not run says so.
func TestHostThatDoesNotRunSaysSo(t *testing.T) {
	network := p2p.NewNetwork(t)
	a, b := prepare(t, network), start(t, network)
	check := func() {
		_, err := a.Connect(within(t), b.candidate())
		require.ErrorIs(t, err, p2p.ErrClosed)
		_, err = a.Open(within(t), b.Self(), b.Addrs())
		require.ErrorIs(t, err, p2p.ErrClosed)
		require.Empty(t, a.Addrs())
		a.Disconnect(b.Self())
		require.Zero(t, a.Router().Size())
	}
	check()
	require.NoError(t, a.Start(a))
	require.ErrorIs(t, a.Start(a), p2p.ErrClosed)
	require.NoError(t, a.Close())
	require.NoError(t, a.Close())
	check()
	require.ErrorIs(t, a.Start(a), p2p.ErrClosed)
}

// This test checks that a port that is taken is an error, and that nothing is
// left behind by the attempt.
func TestPortInUseIsAnError(t *testing.T) {
	network := p2p.NewNetwork(t)
	a := start(t, network)
	b := prepare(t, network, listen(a.Addrs()...))
	require.ErrorContains(t, b.Start(b), "address already in use")
}

// This test checks that New refuses what can't work, and says which field.
func TestNewRefusesBadConfig(t *testing.T) {
	network, key := p2p.NewNetwork(t), p2p.NewKey(t)
	for text, cfg := range map[string]p2p.Config{
		"Config.Key":         {Network: network},
		"Config.Network":     {Key: key},
		"DialTimeout":        {Key: key, Network: network, DialTimeout: -1},
		"MaxConns":           {Key: key, Network: network, MaxConns: -1},
		"to listen takes":    {Key: key, Network: network, Listen: []string{"host.example:1"}},
		"neither a multiadd": {Key: key, Network: network, Listen: []string{"4077"}},
		"port must be":       {Key: key, Network: network, Advertise: []string{"host.example:http"}},
		"names another peer": {Key: key, Network: network, Advertise: []string{"/ip4/192.0.2.1/tcp/1/p2p/" + p2p.NewKey(t).PeerID().String()}},
	} {
		_, err := p2p.New(cfg)
		require.ErrorContains(t, err, text)
	}
}

// freeAddr returns an address of that IP where nothing listens.
func freeAddr(t testing.TB, ip string) string {
	l, err := net.Listen("tcp4", ip+":0")
	require.NoError(t, err)
	defer l.Close()
	return l.Addr().String()
}
