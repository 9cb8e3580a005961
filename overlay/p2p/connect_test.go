// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package p2p_test

import (
	"context"
	"errors"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/overlay"
	"github.com/arke-mesh/arke/overlay/p2p"
)

// hostPort returns where n listens as "host:port", with another host if given.
func hostPort(n *node, host string) string {
	parts := strings.Split(n.Addrs()[0], "/") // /ip4/127.0.0.1/tcp/port
	if host == "" {
		host = parts[2]
	}
	return net.JoinHostPort(host, parts[4])
}

// probed waits until so many probes have ended here: who probes does not wait
// for that.
func (n *node) probed(times uint64) {
	n.t.Helper()
	require.Eventually(n.t, func() bool { return n.Counters()["probes"] >= times }, waitLimit, time.Millisecond)
}

// This test checks every form of a seed: with and without a peer id, as
// multiaddr and as host:port, by address and by name.
func TestSeedsOfEveryForm(t *testing.T) {
	network := p2p.NewNetwork(t)
	b := start(t, network, listen("0.0.0.0:0")) // so that localhost leads there
	port := hostPort(b, "x")[len("x:"):]
	id := b.Self().String()
	probes := uint64(0)
	for _, form := range []string{
		"127.0.0.1:" + port,
		"localhost:" + port,
		"/ip4/127.0.0.1/tcp/" + port,
		"/ip4/127.0.0.1/tcp/" + port + "/p2p/" + id,
		"/dns4/localhost/tcp/" + port,
		"/dns/localhost/tcp/" + port + "/p2p/" + id,
		"/dnsaddr/cluster.example",
		"service.example:" + port,
	} {
		a := start(t, network, func(c *p2p.Config) {
			c.Resolver = names{
				ips: map[string][]string{"service.example": {"127.0.0.1"}},
				txt: map[string][]string{"_dnsaddr.cluster.example": {"dnsaddr=/dns4/service.example/tcp/" + port + "/p2p/" + id, "other"}},
			}
		})
		p, err := a.Connect(within(t), overlay.Candidate{Addrs: []string{form}, Source: overlay.SourceSeed})
		require.NoError(t, err, form)
		require.Equal(t, b.Self(), p, form)
		a.want(true, b.Self())
		b.want(true, a.Self())
		// Asked again, it answers from what it knows.
		if !strings.Contains(form, id) && form != "/dnsaddr/cluster.example" { // it does not say who is there
			probes++
		}
		b.probed(probes)
		p, err = a.Connect(within(t), overlay.Candidate{Addrs: []string{form}})
		require.NoError(t, err)
		require.Equal(t, b.Self(), p)
		require.Equal(t, probes, b.Counters()["probes"])
		require.NoError(t, a.Close())
		b.want(false, a.Self())
	}
}

// This test checks that a probe is not a peer to the probed node: it hears of
// one peer, once.
func TestProbeIsNoPeer(t *testing.T) {
	a, b := two(t)
	_, err := a.Connect(within(t), overlay.Candidate{Addrs: b.Addrs()})
	require.NoError(t, err)
	b.want(true, a.Self())
	b.probed(1)
	b.quiet()
	require.EqualValues(t, 1, b.Counters()["probes"])
}

// This test checks that a seed that names this node itself is told apart from
// a failure, in every form, and that a name that leads here and elsewhere is
// no problem.
func TestSeedThatIsOurselvesIsFine(t *testing.T) {
	network := p2p.NewNetwork(t)
	b := start(t, network)
	a := start(t, network, listen("127.0.0.1:0"), func(c *p2p.Config) {
		c.Resolver = names{ips: map[string][]string{"self.example": {"127.0.0.1"}}}
	})
	forwarded := newGate(t, a.Addrs()[0]) // an address that we do not know as ours
	_, err := a.Connect(within(t), a.candidate())
	require.ErrorIs(t, err, p2p.ErrSelf)
	for _, c := range []overlay.Candidate{
		{Addrs: a.Addrs()},
		{Addrs: []string{a.Addrs()[0] + "/p2p/" + a.Self().String()}},
		{Addrs: []string{hostPort(a, "self.example")}},
		{Addrs: []string{forwarded.addr}},
	} {
		p, err := a.Connect(within(t), c)
		require.NoError(t, err, "%v", c)
		require.Equal(t, a.Self(), p)
	}
	_, err = a.Open(within(t), a.Self(), a.Addrs())
	require.ErrorIs(t, err, p2p.ErrSelf)

	p, err := a.Connect(within(t), overlay.Candidate{Addrs: append(a.Addrs(), b.Addrs()...)})
	require.NoError(t, err)
	require.Equal(t, b.Self(), p)
	a.want(true, b.Self())
	a.quiet()

	p, err = a.Connect(within(t), overlay.Candidate{Addrs: append(a.Addrs(), freeAddr(t, "127.0.77.5"))})
	require.ErrorContains(t, err, "connection refused", "of the other address")
	require.Equal(t, a.Self(), p)
}

// This test checks that an address at which this node found itself is asked afresh the
// next time, and that one which this node announces, and can't reach, is its own.
func TestAddressOfOurselvesIsAskedAfresh(t *testing.T) {
	network := p2p.NewNetwork(t)
	unreachable := freeAddr(t, "127.0.77.4")
	_, port, err := net.SplitHostPort(freeAddr(t, "127.0.0.1"))
	require.NoError(t, err)
	a := start(t, network, listen("127.0.0.1:"+port), func(c *p2p.Config) { c.Advertise = []string{unreachable} })
	b := start(t, network)
	forwarded := newGate(t, "/ip4/127.0.0.1/tcp/"+port)
	seed := overlay.Candidate{Addrs: []string{forwarded.addr}, Source: overlay.SourceSeed}
	p, err := a.Connect(within(t), seed)
	require.NoError(t, err)
	require.Equal(t, a.Self(), p)
	forwarded.lead(b.Addrs()[0])
	p, err = a.Connect(within(t), seed)
	require.NoError(t, err)
	require.Equal(t, b.Self(), p)

	p, err = a.Connect(within(t), overlay.Candidate{Addrs: []string{unreachable}})
	require.ErrorContains(t, err, "connection refused")
	require.Equal(t, a.Self(), p, "the error is about others at that address")
}

// This test checks that what a peer says of its addresses does not count for a seed:
// many machines have the same private one, and another node may be there.
func TestAddressThatAnotherPeerClaimsIsAsked(t *testing.T) {
	network := p2p.NewNetwork(t)
	c := start(t, network)
	_, port, err := net.SplitHostPort(freeAddr(t, "127.0.0.1"))
	require.NoError(t, err)
	liar := start(t, network, listen("127.0.0.1:"+port), func(cfg *p2p.Config) { cfg.Advertise = c.Addrs() })
	a := start(t, network)
	p, err := a.Connect(within(t), overlay.Candidate{Peer: liar.Self(), Addrs: append([]string{"127.0.0.1:" + port}, c.Addrs()...)})
	require.NoError(t, err)
	require.Equal(t, liar.Self(), p)
	p, err = a.Connect(within(t), overlay.Candidate{Addrs: c.Addrs(), Source: overlay.SourceSeed})
	require.NoError(t, err)
	require.Equal(t, c.Self(), p)
	settle(t, a, c, liar)
}

// This test checks that a dial says which node has taken the place of the one dialled, if
// one is at each of its addresses; and that a seed with a peer id never leads to another
// one: there the id is configured.
func TestNodeThatHasTakenThePlaceOfAnotherIsNamed(t *testing.T) {
	network := p2p.NewNetwork(t)
	a, b, gone := start(t, network), start(t, network), p2p.NewKey(t).PeerID()
	for _, addr := range b.Addrs() {
		_, err := a.Connect(within(t), overlay.Candidate{Addrs: []string{addr + "/p2p/" + gone.String()}, Source: overlay.SourceSeed})
		require.ErrorContains(t, err, "another node answers there, "+b.Self().String()+" instead of "+gone.String())
	}
	var replaced *overlay.ReplacedError
	_, err := a.Connect(within(t), overlay.Candidate{Peer: gone, Addrs: append(b.Addrs(), a.Addrs()...)})
	require.ErrorAs(t, err, &replaced)
	require.Equal(t, b.Self(), replaced.By)
	require.Equal(t, b.Addrs()[0], replaced.Addr)
	_, err = a.Connect(within(t), overlay.Candidate{Peer: gone, Addrs: []string{freeAddr(t, "127.0.77.6")}})
	require.Error(t, err)
	require.False(t, errors.As(err, &replaced), "it may return to the address that refuses")
	a.quiet()
}

// This test checks that a name with the addresses of many nodes, some of them
// gone, leads to all that are there.
func TestHeadlessServiceLeadsToAll(t *testing.T) {
	network := p2p.NewNetwork(t)
	first := start(t, network, listen("127.0.0.1:0"))
	_, port, err := net.SplitHostPort(hostPort(first, ""))
	require.NoError(t, err)
	second := start(t, network, listen("127.0.0.2:"+port))
	a := start(t, network, func(c *p2p.Config) {
		c.Resolver = names{ips: map[string][]string{"headless.example": {"127.0.0.3", "127.0.0.1", "127.0.0.2"}}}
	})
	p, err := a.Connect(within(t), overlay.Candidate{Addrs: []string{"headless.example:" + port}})
	require.NoError(t, err)
	require.Contains(t, []any{first.Self(), second.Self()}, p)
	settle(t, a, first, second)
}

// This test checks that what can't work fails with an error that says why, and
// at the latest when the context ends.
func TestConnectSaysWhyItFails(t *testing.T) {
	network := p2p.NewNetwork(t)
	a := start(t, network, func(c *p2p.Config) {
		c.Resolver = names{
			ips: map[string][]string{"empty.example": {}},
			txt: map[string][]string{"_dnsaddr.loop.example": {"dnsaddr=/dnsaddr/loop.example"}},
		}
	})
	closed := freeAddr(t, "127.0.77.2") // elsewhere somebody might take the port meanwhile
	stranger := p2p.NewKey(t).PeerID()
	for _, c := range []struct {
		candidate overlay.Candidate
		is        error
		text      string
	}{
		{overlay.Candidate{}, p2p.ErrNoAddress, ""},
		{overlay.Candidate{Peer: stranger}, p2p.ErrNoAddress, ""},
		{overlay.Candidate{Addrs: []string{"nonsense"}}, p2p.ErrBadAddress, `"nonsense"`},
		{overlay.Candidate{Peer: stranger, Addrs: []string{"nonsense"}}, p2p.ErrBadAddress, `"nonsense"`},
		{overlay.Candidate{Addrs: []string{closed}}, nil, "connection refused"},
		{overlay.Candidate{Peer: stranger, Addrs: []string{closed}}, nil, "connection refused"},
		{overlay.Candidate{Addrs: []string{"nowhere.example:1"}}, nil, "no such host"},
		{overlay.Candidate{Addrs: []string{"empty.example:1"}}, p2p.ErrNoAddress, ""},
		{overlay.Candidate{Addrs: []string{"/dnsaddr/loop.example"}}, p2p.ErrNoAddress, "without end"},
	} {
		_, err := a.Connect(within(t), c.candidate)
		require.ErrorContains(t, err, c.text)
		require.NotErrorIs(t, err, p2p.ErrSelf)
		if c.is != nil {
			require.ErrorIs(t, err, c.is)
		}
	}

	b := start(t, network)
	connect(t, a, b)
	_, err := a.Connect(within(t), overlay.Candidate{Peer: b.Self(), Addrs: []string{"nonsense"}})
	require.NoError(t, err, "a connected peer needs no address")

	hang, err := net.Listen("tcp4", "127.0.0.1:0") // accepts, and says nothing
	require.NoError(t, err)
	defer hang.Close()
	for _, p := range []overlay.Candidate{{}, {Peer: stranger}} {
		p.Addrs = []string{hang.Addr().String()}
		ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
		_, err = a.Connect(ctx, p)
		cancel()
		require.ErrorIs(t, err, context.DeadlineExceeded)
	}
}

// This test checks that a peer's process counts as gone where nobody listens, and
// where this node itself or somebody else does: a loopback address of another machine
// leads there.
func TestWhereSomebodyElseListensThePeerIsNot(t *testing.T) {
	a, b := two(t)
	closed := freeAddr(t, "127.0.77.3")
	_, err := a.Connect(within(t), overlay.Candidate{Peer: p2p.NewKey(t).PeerID(), Addrs: []string{closed, hostPort(a, ""), hostPort(b, "")}})
	require.ErrorIs(t, err, overlay.ErrRefused)

	hang, err := net.Listen("tcp4", "127.0.0.1:0")
	require.NoError(t, err)
	defer hang.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 300*time.Millisecond)
	defer cancel()
	_, err = a.Connect(ctx, overlay.Candidate{Peer: p2p.NewKey(t).PeerID(), Addrs: []string{closed, hang.Addr().String()}})
	require.Error(t, err)
	require.NotErrorIs(t, err, overlay.ErrRefused, "it may be behind an address that does not answer")
}

// names is a resolver that knows a few names, and localhost.
type names struct {
	ips map[string][]string
	txt map[string][]string
}

// LookupIPAddr implements p2p.Resolver.
func (n names) LookupIPAddr(ctx context.Context, host string) ([]net.IPAddr, error) {
	if host == "localhost" {
		return net.DefaultResolver.LookupIPAddr(ctx, host)
	}
	texts, ok := n.ips[host]
	if !ok {
		return nil, errors.New("no such host")
	}
	var addrs []net.IPAddr
	for _, text := range texts {
		addrs = append(addrs, net.IPAddr{IP: net.ParseIP(text)})
	}
	return addrs, nil
}

// LookupTXT implements p2p.Resolver.
func (n names) LookupTXT(_ context.Context, name string) ([]string, error) {
	texts, ok := n.txt[name]
	if !ok {
		return nil, errors.New("no such name")
	}
	return texts, nil
}
