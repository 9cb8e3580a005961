// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"
)

// Public addresses have a prefix of 16 or 32 bits; all others are one network, and what
// shows no address of the peer's own has none.
func TestPrefixOfAnAddress(t *testing.T) {
	for addr, want := range map[string]string{
		"/ip4/81.2.69.142/tcp/4001":                   "81.2.0.0/16",
		"/ip4/81.3.69.142/tcp/4001":                   "81.3.0.0/16",
		"/ip6/2a00:1450:4001:80b::200e/tcp/4001":      "2a00:1450::/32",
		"/ip6/::ffff:81.2.69.142/tcp/4001":            "81.2.0.0/16",
		"/ip4/127.0.0.1/tcp/1":                        "0.0.0.0/0",
		"/ip4/10.9.8.7/tcp/1":                         "0.0.0.0/0",
		"/ip4/172.31.8.7/tcp/1":                       "0.0.0.0/0",
		"/ip4/192.168.8.7/tcp/1":                      "0.0.0.0/0",
		"/ip4/169.254.8.7/tcp/1":                      "0.0.0.0/0",
		"/ip4/100.127.8.7/tcp/1":                      "0.0.0.0/0",
		"/ip4/100.128.8.7/tcp/1":                      "100.128.0.0/16",
		"/ip6/::1/tcp/1":                              "0.0.0.0/0",
		"/ip6/fd00:1::1/tcp/1":                        "0.0.0.0/0",
		"/ip6zone/eth0/ip6/fe80::1/tcp/1":             "0.0.0.0/0",
		"/ip4/0.0.0.0/tcp/1":                          "invalid Prefix",
		"/ip4/81.2.69.142/tcp/1/p2p/12D3/p2p-circuit": "invalid Prefix",
		"/dns4/arke.example/tcp/1":                    "invalid Prefix",
		"/ip4":                                        "invalid Prefix",
		"":                                            "invalid Prefix",
	} {
		require.Equal(t, want, prefixOf(addr).String(), addr)
	}
	require.Equal(t, "81.2.0.0/16", ownPrefix([]string{"/ip4/10.9.8.7/tcp/1", "/ip4/81.2.69.142/tcp/1"}).String())
	require.Equal(t, "0.0.0.0/0", ownPrefix([]string{"/ip4/10.9.8.7/tcp/1", "/dns4/arke.example/tcp/1"}).String())
	require.False(t, ownPrefix(nil).IsValid())
}

// Where a peer is at home is what the last connection shows, while its link is up.
func TestPeersAreCountedByTheirNetworks(t *testing.T) {
	r, a, b := newReachRig(), testPeer("A"), testPeer("B")
	r.up(a, 1, "/ip4/81.2.0.1/tcp/1")
	require.False(t, r.homes.several(), "where this node is nobody knows")
	r.up(b, 2, "/ip4/81.2.0.2/tcp/1")
	require.False(t, r.homes.several())
	r.seen(b, "/ip4/82.3.0.2/tcp/1")
	require.True(t, r.homes.several())
	require.True(t, r.apart(b, []netip.Prefix{r.prefix(a)}))
	r.down(r.now, a)
	require.False(t, r.homes.several())
	r.seen(b, "")
	require.Equal(t, "82.3.0.0/16", r.prefix(b).String())
}
