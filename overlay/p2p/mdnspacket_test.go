// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package p2p

import (
	"crypto/rand"
	"fmt"
	"net"
	"net/netip"
	"regexp"
	"testing"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/miekg/dns"
	ma "github.com/multiformats/go-multiaddr"
	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/overlay"
	"github.com/arke-mesh/arke/security"
)

const testService = "_abcdefghijkl._udp.local."

func testAnnouncement(t testing.TB, addrs ...string) announcement {
	p, err := peer.Decode(someID)
	require.NoError(t, err)
	a := announcement{service: testService, instance: "0123456789abcdef", peer: p}
	for _, text := range addrs {
		a.addrs = append(a.addrs, ma.StringCast(text))
	}
	return a
}

// This test checks that what one node announces is what another one hears.
func TestAnnouncementsAreHeard(t *testing.T) {
	a := testAnnouncement(t, "/ip4/192.168.0.2/tcp/4077", "/ip6/fd00::2/tcp/4077")
	packet, err := a.pack(mdnsTTL)
	require.NoError(t, err)
	h, err := hear(packet, testService)
	require.NoError(t, err)
	require.Equal(t, heard{found: []overlay.Candidate{{
		Peer: a.peer, Addrs: []string{"/ip4/192.168.0.2/tcp/4077", "/ip6/fd00::2/tcp/4077"}, Source: overlay.SourceLAN,
	}}}, h)

	h, err = hear(packet, "_other0000000._udp.local.")
	require.NoError(t, err)
	require.Equal(t, heard{}, h, "of another network")

	packet, err = a.pack(0)
	require.NoError(t, err)
	h, err = hear(packet, testService)
	require.NoError(t, err)
	require.Equal(t, heard{}, h, "taken back")

	packet, err = query(testService)
	require.NoError(t, err)
	h, err = hear(packet, testService)
	require.NoError(t, err)
	require.Equal(t, heard{asked: true}, h)
}

// This test checks that an announcement fits one packet of the network however
// many addresses a machine has.
func TestAnnouncementFitsAPacket(t *testing.T) {
	var addrs []string
	for i := range 200 {
		addrs = append(addrs, fmt.Sprintf("/ip6/fd00:1111:2222:3333:4444:5555:6666:%d/tcp/40777", 1000+i))
	}
	packet, err := testAnnouncement(t, addrs...).pack(mdnsTTL)
	require.NoError(t, err)
	require.Less(t, len(packet), 1500-40-8, "MTU less the headers of IPv6 and UDP")
	h, err := hear(packet, testService)
	require.NoError(t, err)
	require.Greater(t, len(h.found[0].Addrs), 5)
}

// This test checks that announcements which make no sense are refused.
func TestBadAnnouncementsAreRefused(t *testing.T) {
	for name, txt := range map[string][]string{
		"nothing":       {},
		"no address":    {"peer=" + someID},
		"no peer":       {"addr=/ip4/1.2.3.4/tcp/1"},
		"bad peer":      {"peer=x", "addr=/ip4/1.2.3.4/tcp/1"},
		"bad address":   {"peer=" + someID, "addr=/ip4/1.2.3.4"},
		"only a name":   {"peer=" + someID, "addr=/dns4/a.example/tcp/1"},
		"unknown field": {"peer=" + someID, "color=blue"},
	} {
		_, err := candidateFrom(txt)
		require.Error(t, err, name)
	}
	many := []string{"peer=" + someID, "later=x"}
	for i := range 100 {
		many = append(many, fmt.Sprintf("addr=/ip4/1.2.3.4/tcp/%d", i+1))
	}
	c, err := candidateFrom(many)
	require.NoError(t, err)
	require.Len(t, c.Addrs, maxNamedAddrs)
}

// This test checks that of what a neighbour announces only that is believed which
// it could be at itself: addresses on the link, of its own network. Nobody has nodes
// knock at other programs of the same machine, or at somebody far away.
func TestNeighboursSpeakForTheirNetworkOnly(t *testing.T) {
	at := func(nets ...string) (p place) {
		for _, n := range nets {
			p.nets = append(p.nets, netip.MustParsePrefix(n).Masked())
		}
		return p
	}
	bare := at("127.0.0.1/8", "::1/128")
	bare.iface.Flags = net.FlagLoopback
	lan := at("192.168.0.7/24", "10.1.2.3/8", "fd00::7/64", "fe80::7/64")
	for _, c := range []struct {
		name  string
		place place
		from  string
		said  []string
		left  []string
	}{
		{
			"its own network", lan, "192.168.0.2",
			[]string{"/ip4/192.168.0.2/tcp/4077", "/ip6/fd00::2/tcp/4077"},
			[]string{"/ip4/192.168.0.2/tcp/4077", "/ip6/fd00::2/tcp/4077"},
		},
		{"this machine", lan, "192.168.0.2", []string{"/ip4/127.0.0.1/tcp/22", "/ip6/::1/tcp/22"}, nil},
		{"not on the link", lan, "192.168.0.2", []string{"/ip4/192.0.2.1/tcp/443", "/ip6/2001:db8::1/tcp/443"}, nil},
		{"another network of the link", lan, "192.168.0.2", []string{"/ip4/10.0.0.1/tcp/4077", "/ip4/192.168.0.3/tcp/1"}, []string{"/ip4/192.168.0.3/tcp/1"}},
		{"by link-local", lan, "fe80::2", []string{"/ip4/10.0.0.1/tcp/1", "/ip6/fd00::2/tcp/1", "/ip6/fd01::2/tcp/1"}, []string{"/ip4/10.0.0.1/tcp/1", "/ip6/fd00::2/tcp/1"}},
		{"a sender from elsewhere", lan, "192.0.2.1", []string{"/ip4/192.168.0.2/tcp/4077"}, nil},
		{"nobody", lan, "", []string{"/ip4/192.168.0.2/tcp/4077"}, nil},
		{"bare loopback", bare, "0.0.0.0", []string{"/ip4/127.0.0.1/tcp/4077", "/ip4/192.168.0.2/tcp/1"}, []string{"/ip4/127.0.0.1/tcp/4077"}},
	} {
		from, _ := netip.ParseAddr(c.from)
		require.ElementsMatch(t, c.left, c.place.believable(from, c.said), c.name)
	}
}

// This test checks that one address can't have any number of nodes reported.
func TestSharesOfTheLocalNetwork(t *testing.T) {
	var s shares
	now, loud, other := time.Unix(100, 0), netip.MustParseAddr("192.168.0.2"), netip.MustParseAddr("192.168.0.3")
	for i := range 1000 {
		require.Equal(t, i < maxFoundBy, s.take(now, loud))
	}
	require.True(t, s.take(now, other))
	require.True(t, s.take(now.Add(repeatGap), loud))
}

// This test checks the service's name: its form, that it is the same on all
// nodes of a network, and that another network has another one.
func TestServiceNameBelongsToTheNetwork(t *testing.T) {
	name := func() (string, string) {
		file, err := security.GenerateNetworkFile("test", rand.Reader)
		require.NoError(t, err)
		a, err := security.NewNetwork(file)
		require.NoError(t, err)
		b, err := security.NewNetwork(file)
		require.NoError(t, err)
		return serviceName(a), serviceName(b)
	}
	a, b := name()
	require.Equal(t, a, b)
	require.Regexp(t, regexp.MustCompile(`^_[a-z2-7]{12}\._udp\.local\.$`), a)
	other, _ := name()
	require.NotEqual(t, a, other)
}

// FuzzHear checks that no packet makes the decoder panic, and that every
// candidate it gives is complete and bounded.
func FuzzHear(f *testing.F) {
	packet, err := testAnnouncement(f, "/ip4/192.168.0.2/tcp/4077", "/ip6/fd00::2/tcp/4077").pack(mdnsTTL)
	require.NoError(f, err)
	f.Add(packet)
	packet, err = query(testService)
	require.NoError(f, err)
	f.Add(packet)
	m := new(dns.Msg)
	m.Response = true
	m.Answer = []dns.RR{&dns.TXT{Hdr: header("x."+testService, dns.TypeTXT, 0, 9), Txt: []string{"peer=", "addr="}}}
	packet, err = m.Pack()
	require.NoError(f, err)
	f.Add(packet)
	f.Fuzz(func(t *testing.T, packet []byte) {
		h, err := hear(packet, testService)
		if err != nil {
			require.Equal(t, heard{}, h)
			return
		}
		for _, c := range h.found {
			require.NoError(t, c.Peer.Validate())
			require.NotEmpty(t, c.Addrs)
			require.LessOrEqual(t, len(c.Addrs), maxNamedAddrs)
			for _, a := range c.Addrs {
				_, err := toTCPAddr(ma.StringCast(a))
				require.NoError(t, err)
			}
		}
	})
}
