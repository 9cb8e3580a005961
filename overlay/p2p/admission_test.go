// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package p2p_test

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"os"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"
	ma "github.com/multiformats/go-multiaddr"
	manet "github.com/multiformats/go-multiaddr/net"
	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/overlay"
	"github.com/arke-mesh/arke/overlay/p2p"
	"github.com/arke-mesh/arke/security"
)

// This test checks that nodes of different networks refuse each other, whoever
// dials and however, that both count it, that the dialler is told what that may
// mean, and that neither hears of a peer.
func TestWrongNetworkKeyIsRefusedOnBothSides(t *testing.T) {
	a, b := start(t, p2p.NewNetwork(t)), start(t, p2p.NewNetwork(t))
	for _, c := range []overlay.Candidate{
		b.candidate(),
		{Addrs: b.Addrs()}, // does not even learn who is there
	} {
		p, err := a.Connect(within(t), c)
		require.ErrorIs(t, err, p2p.ErrRefused)
		require.ErrorContains(t, err, "closed without a word: another network key, or not Arke")
		require.NotContains(t, err.Error(), "\n")
		require.True(t, p == "" || c.Peer != "", "a refused peer's id")
	}
	_, err := a.Open(within(t), b.Self(), b.Addrs())
	require.ErrorIs(t, err, p2p.ErrRefused)

	require.EqualValues(t, 3, a.Counters()["closed_in_silence"])
	require.EqualValues(t, 3, b.Counters()["stranger"])
	a.quiet()
	b.quiet()
	require.Zero(t, a.Router().Size()+b.Router().Size())
}

// dialTCP connects to a node.
func dialTCP(t testing.TB, n *node) net.Conn {
	t.Helper()
	c, err := dialFrom(t, n, "")
	require.NoError(t, err)
	t.Cleanup(func() { c.Close() })
	return c
}

// dialFrom is dialTCP from an address of the loopback.
func dialFrom(t testing.TB, n *node, from string) (net.Conn, error) {
	t.Helper()
	addr, err := manet.ToNetAddr(ma.StringCast(n.Addrs()[0]))
	require.NoError(t, err)
	d := net.Dialer{}
	if from != "" {
		d.LocalAddr = &net.TCPAddr{IP: net.ParseIP(from)}
	}
	return d.Dial("tcp", addr.String())
}

// hears returns what a node says on a connection until it ends.
func hears(t testing.TB, c net.Conn) []byte {
	t.Helper()
	require.NoError(t, c.SetReadDeadline(time.Now().Add(waitLimit)))
	said, err := io.ReadAll(c)
	require.NotErrorIs(t, err, os.ErrDeadlineExceeded)
	return said
}

// unsifted is the machine's TCP where the kernel keeps nobody: everybody comes to the
// door.
type unsifted struct{}

func (unsifted) Dial(ctx context.Context, addr string) (net.Conn, error) {
	var d net.Dialer
	return d.DialContext(ctx, "tcp", addr)
}

func (unsifted) Listen(addr string) (net.Listener, error) { return net.Listen("tcp4", addr) }

func doorOnly(c *p2p.Config) { c.Sockets = unsifted{} }

// recorder keeps what is written to a connection that leads nowhere.
type recorder struct {
	net.Conn
	writes [][]byte
}

func (r *recorder) Write(p []byte) (int, error) {
	r.writes = append(r.writes, slices.Clone(p))
	return len(p), nil
}
func (r *recorder) Read([]byte) (int, error) { return 0, io.EOF }

// clientHello is what an ordinary TLS client says first.
func clientHello(t testing.TB) []byte {
	t.Helper()
	r := &recorder{}
	conf := &tls.Config{InsecureSkipVerify: true, NextProtos: []string{overlay.LinkProtocol}}
	require.Error(t, tls.Client(r, conf).Handshake())
	require.Len(t, r.writes, 1, "it is one write")
	return r.writes[0]
}

// This test checks that who holds no key of the network hears no byte, whatever it
// says, costs no handshake, and can't tell the node from any other that hangs up:
// an ordinary TLS client, one that pretends to greet, and garbage.
func TestStrangersHearNothing(t *testing.T) {
	network := p2p.NewNetwork(t)
	n := start(t, network, doorOnly)
	hello := clientHello(t)
	random := make([]byte, security.GreetingSize)
	other := p2p.NewNetwork(t).Greet(hello)
	good := network.Greet(hello)
	said := [][]byte{
		hello,
		append(random, hello...),
		append(other[:], hello...),
		append(good[:], slices.Concat(hello[:len(hello)-1], []byte{hello[len(hello)-1] ^ 1})...),
		[]byte("GET / HTTP/1.1\r\nHost: somewhere.example\r\n\r\n"),
		append(random, 22, 3, 1, 0xff, 0xff), // a record longer than any hello
	}
	for i, s := range said {
		c := dialTCP(t, n)
		_, err := c.Write(s)
		require.NoError(t, err)
		require.Empty(t, hears(t, c), i)
	}
	require.EqualValues(t, len(said), n.Counters()["stranger"])
	require.Zero(t, n.Counters()["handshake_failed"]+n.Counters()["handshake_refused"])
	n.quiet()
}

// This test checks that what somebody has recorded of a dialler costs the node one
// handshake, once, which admits nobody; after that it is refused like any stranger.
func TestReplayedGreetingsHearNothing(t *testing.T) {
	network := p2p.NewNetwork(t)
	n := start(t, network)
	hello := clientHello(t)
	greeting := network.Greet(hello)
	recorded := append(greeting[:], hello...)

	first := dialTCP(t, n)
	_, err := first.Write(recorded)
	require.NoError(t, err)
	require.NoError(t, first.SetReadDeadline(time.Now().Add(waitLimit)))
	_, err = first.Read(make([]byte, 1))
	require.NoError(t, err, "nobody can know that it is not the dialler")
	for range 3 {
		c := dialTCP(t, n)
		_, err = c.Write(recorded)
		require.NoError(t, err)
		require.Empty(t, hears(t, c))
	}
	require.EqualValues(t, 3, n.Counters()["stranger_replay"])
	n.quiet()
}

// This test checks that a node which has a newer key, or only the older one, is let
// in as long as the two have an accepted key in common, whoever dials, and that
// nobody hears of a difference.
func TestChangeOfKeysKeepsNobodyOut(t *testing.T) {
	file, err := security.GenerateNetworkFile("test", rand.Reader)
	require.NoError(t, err)
	old, err := security.NewNetwork(file)
	require.NoError(t, err)
	file.Keys = append(file.Keys, security.KeyVersion{Version: 2, Key: security.Key{1}})
	both, err := security.NewNetwork(file)
	require.NoError(t, err)
	file.Keys = append(file.Keys, security.KeyVersion{Version: 3, Key: security.Key{2}})
	newer, err := security.NewNetwork(file)
	require.NoError(t, err)

	for _, pair := range [][2]*security.Network{{old, both}, {both, old}, {both, newer}, {newer, both}} {
		a, b := start(t, pair[0]), start(t, pair[1])
		connect(t, a, b)
		require.Zero(t, a.Counters()["closed_in_silence"]+b.Counters()["stranger"])
	}
	a, b := start(t, old), start(t, newer)
	_, err = a.Connect(within(t), b.candidate())
	require.ErrorIs(t, err, p2p.ErrRefused)
}

// This test checks that strangers who say next to nothing can't keep others out,
// however many they are: five hundred at a time and three thousand in all, from many
// addresses, at a node with a hundred places. They cost no handshake and none of the
// places of connections, and each honest node gets in, the few that were sent away
// by chance at their next attempt.
func TestSilentStrangersDoNotKeepPeersOut(t *testing.T) {
	const places, silent, kept, every = 100, 3000, 500, 100
	network := p2p.NewNetwork(t)
	n := start(t, network, doorOnly, func(c *p2p.Config) { c.MaxWaiting, c.MaxConns = places, silent/every+1 })
	held := make([]net.Conn, kept)
	again := 0
	for i := range silent {
		from := ""
		if runtime.GOOS == "linux" { // elsewhere the loopback has one address
			from = fmt.Sprintf("127.%d.%d.%d", 1+i%7, i%200, 1+i%250)
		}
		if old := held[i%kept]; old != nil {
			old.Close()
		}
		if c, err := dialFrom(t, n, from); err == nil { // else it was sent away already
			held[i%kept] = c
			defer c.Close()
			_, _ = c.Write([]byte{0})
		}
		if i%every == 0 {
			key := p2p.NewKey(t)
			require.Eventually(t, func() bool {
				c, err := p2p.Knock(within(t), key, network, n.Addrs()[0])
				if err != nil {
					again++
					return false
				}
				defer c.Close()
				n.want(true, key.PeerID())
				return true
			}, waitLimit, time.Millisecond)
			n.want(false, key.PeerID())
		}
	}
	require.Less(t, again, silent/every/2, "honest connections sent away")
	counts := n.Counters()
	require.Greater(t, counts["stranger_evicted"], uint64(silent/2))
	require.Zero(t, counts["handshake_evicted"]+counts["handshake_refused"]+counts["conn_limit"])
}

// This test checks that a dial to an address where another peer answers fails,
// although that peer is of the network, and that nobody hears of a peer.
func TestWrongPeerAtAnAddressIsNotAccepted(t *testing.T) {
	a, b := two(t)
	stranger := p2p.NewKey(t).PeerID()
	_, err := a.Connect(within(t), overlay.Candidate{Peer: stranger, Addrs: b.Addrs()})
	require.ErrorContains(t, err, "peer id mismatch")
	require.NotErrorIs(t, err, p2p.ErrRefused)
	for _, p := range []peer.ID{stranger, b.Self()} {
		require.NotContains(t, a.Router().Nearest(overlay.Key{}, 9), p)
	}
	a.quiet()
	b.quiet()
}
