// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package p2p

import (
	"strings"
	"testing"

	ma "github.com/multiformats/go-multiaddr"
	"github.com/stretchr/testify/require"
)

const someID = "12D3KooWGQmdpbHrCUvdCcfTMhPQbKpLbFwKRtbHzcMMpU3bUvBd"

// This test checks what each form of a seed means, and that what is not a seed
// is refused with a reason.
func TestSeedsAreParsed(t *testing.T) {
	for text, want := range map[string]string{
		"10.0.0.1:4077":                     "/ip4/10.0.0.1/tcp/4077",
		"[::1]:1":                           "/ip6/::1/tcp/1",
		"[::ffff:10.0.0.1]:1":               "/ip4/10.0.0.1/tcp/1",
		"node.example:65535":                "/dns/node.example/tcp/65535",
		"/ip4/10.0.0.1/tcp/4077":            "/ip4/10.0.0.1/tcp/4077",
		"/dns6/a.example/tcp/1":             "/dns6/a.example/tcp/1",
		"/dnsaddr/a.example":                "/dnsaddr/a.example",
		"/ip6/::1/tcp/1/p2p/" + someID:      "/ip6/::1/tcp/1 " + someID,
		"/dnsaddr/a.example/p2p/" + someID:  "/dnsaddr/a.example " + someID,
		"":                                  "!neither a multiaddr nor host:port",
		"node.example":                      "!neither a multiaddr nor host:port",
		":4077":                             "!has no host",
		"node.example:http":                 "!port must be a number",
		"node.example:65536":                "!port must be a number",
		"[fe80::1%eth0]:1":                  "!link-local",
		"a/b:1":                             "!bad address",
		"/":                                 "!bad address",
		"/p2p/" + someID:                    "!says who, but not where",
		"/ip4/10.0.0.1":                     "!it must be",
		"/ip4/10.0.0.1/udp/1/quic-v1":       "!it must be",
		"/ip4/10.0.0.1/tcp/1/ws":            "!it must be",
		"/ip4/10.0.0.1/tcp/1/p2p/" + "12D3": "!bad address",
		"/unix/tmp/x":                       "!it must be",
	} {
		s, err := parseSeed(text)
		if reason, bad := strings.CutPrefix(want, "!"); bad {
			require.ErrorIs(t, err, ErrBadAddress, text)
			require.ErrorContains(t, err, reason, text)
			continue
		}
		require.NoError(t, err, text)
		got := s.addr.String()
		if s.peer != "" {
			got += " " + s.peer.String()
		}
		require.Equal(t, want, got, text)
	}
}

// This test checks which addresses one can listen at.
func TestListenAddressesAreParsed(t *testing.T) {
	for text, want := range map[string]string{
		":4077":                            "/ip4/0.0.0.0/tcp/4077 /ip6/::/tcp/4077",
		"127.0.0.1:0":                      "/ip4/127.0.0.1/tcp/0",
		"/ip6/::/tcp/4077":                 "/ip6/::/tcp/4077",
		"localhost:1":                      "",
		"/dns4/localhost/tcp/1":            "",
		"/ip4/1.2.3.4/tcp/1/p2p/" + someID: "",
		"4077":                             "",
	} {
		addrs, err := parseListen(text)
		if want == "" {
			require.ErrorIs(t, err, ErrBadAddress, text)
			continue
		}
		require.NoError(t, err, text)
		var got []string
		for _, a := range addrs {
			got = append(got, a.String())
		}
		require.Equal(t, want, strings.Join(got, " "), text)
	}
}

// FuzzParseSeed checks that no text makes the parser panic, and that what it
// accepts is an address that can be dialled or resolved, stable when printed.
func FuzzParseSeed(f *testing.F) {
	for _, text := range []string{
		"10.0.0.1:4077", "[::1]:1", "a.example:1", "/ip4/10.0.0.1/tcp/1/p2p/" + someID,
		"/dnsaddr/a.example", "/dns4/a/tcp/1", "[::ffff:1.2.3.4]:0", "/", ":", "/p2p/x", "[fe80::1%1]:1",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		s, err := parseSeed(text)
		if err != nil {
			require.ErrorIs(t, err, ErrBadAddress)
			return
		}
		again, err := parseSeed(s.addr.String())
		require.NoError(t, err)
		require.True(t, again.addr.Equal(s.addr))
		require.Empty(t, again.peer)
		if !beginsWith(s.addr, ma.P_DNS, ma.P_DNS4, ma.P_DNS6, ma.P_DNSADDR) {
			_, err := toTCPAddr(s.addr)
			require.NoError(t, err)
		}
	})
}
