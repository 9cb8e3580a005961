// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package arke_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/stretchr/testify/require"
	"golang.org/x/net/nettest"

	"github.com/arke-mesh/arke"
	"github.com/arke-mesh/arke/gateway"
	inner "github.com/arke-mesh/arke/internal/node"
	"github.com/arke-mesh/arke/node"
	"github.com/arke-mesh/arke/security"
)

// cloud is one network on loopback. Its first node is the seed of the others.
type cloud struct {
	t     *testing.T
	name  string
	text  []byte
	seeds []string
}

func newCloud(t *testing.T, name string) *cloud {
	t.Helper()
	text, err := node.NewNetwork(name)
	require.NoError(t, err)
	return &cloud{t: t, name: name, text: text}
}

// embedded starts a program that is a node, with these keys of clusters.
func (c *cloud) embedded(keys ...[]byte) *arke.Conn {
	c.t.Helper()
	opts := []node.JoinOption{node.NetworkText(c.text), node.Listen("127.0.0.1:0"), node.NoMDNS(), node.Seeds(c.seeds...)}
	for _, k := range keys {
		opts = append(opts, node.ClusterKeyText(k))
	}
	n, err := node.Join(c.t.Context(), opts...)
	require.NoError(c.t, err)
	c.t.Cleanup(func() { require.NoError(c.t, n.Close()) })
	if c.seeds == nil {
		c.seeds = n.Addrs()
	}
	return n
}

// attached starts programs beside one new relay.
func (c *cloud) attached(count int) (programs []*arke.Conn) {
	c.t.Helper()
	const token = "open sesame, please"
	r, addrs := relayOf(c.t, c.text, token, c.seeds...)
	if c.seeds == nil {
		c.seeds = addrs
	}
	for range count {
		a, err := arke.Attach(c.t.Context(), arke.Address(r.Addr(), token))
		require.NoError(c.t, err)
		c.t.Cleanup(func() { require.NoError(c.t, a.Close()) })
		programs = append(programs, a)
	}
	return programs
}

// config is that of a gateway's node.
func (c *cloud) config() inner.Config {
	file, err := security.ParseNetworkFile(c.text)
	require.NoError(c.t, err)
	return inner.Config{Network: file, Listen: []string{"127.0.0.1:0"}, NoMDNS: true, Seeds: c.seeds}
}

// bridge starts a gateway that lends a cluster of one network to another one.
func bridge(from, to *cloud, c gateway.Crossing) {
	c.From, c.To, c.Cluster = from.name, to.name, "pipe"
	g, err := gateway.New(gateway.Config{
		Networks:  []gateway.Network{{Name: from.name, Node: from.config()}, {Name: to.name, Node: to.config()}},
		Crossings: []gateway.Crossing{c},
	})
	require.NoError(to.t, err)
	to.t.Cleanup(func() { require.NoError(to.t, g.Close()) })
	require.NoError(to.t, g.Start(context.Background()))
}

// ways are how a caller and a service of cluster "pipe" can be connected.
var ways = map[string]func(t *testing.T) (caller, service *arke.Conn){
	"embedded": func(t *testing.T) (caller, service *arke.Conn) {
		c := newCloud(t, "test")
		return c.embedded(), c.embedded()
	},
	"same node": func(t *testing.T) (caller, service *arke.Conn) {
		n := newCloud(t, "test").embedded()
		return n, n
	},
	"one relay": func(t *testing.T) (caller, service *arke.Conn) {
		programs := newCloud(t, "test").attached(2)
		return programs[0], programs[1]
	},
	"two relays": func(t *testing.T) (caller, service *arke.Conn) {
		c := newCloud(t, "test")
		return c.attached(1)[0], c.attached(1)[0]
	},
	"embedded caller": func(t *testing.T) (caller, service *arke.Conn) {
		c := newCloud(t, "test")
		return c.embedded(), c.attached(1)[0]
	},
	"embedded service": func(t *testing.T) (caller, service *arke.Conn) {
		c := newCloud(t, "test")
		return c.attached(1)[0], c.embedded()
	},
	"gateway": func(t *testing.T) (caller, service *arke.Conn) {
		eu, us := newCloud(t, "eu"), newCloud(t, "us")
		caller, service = us.embedded(), eu.embedded()
		bridge(eu, us, gateway.Crossing{Reseal: true})
		return caller, service
	},
	"gateway without the key": func(t *testing.T) (caller, service *arke.Conn) {
		text, err := node.NewClusterKeys("pipe")
		require.NoError(t, err)
		keys, err := security.ParseClusterFile(text)
		require.NoError(t, err)
		finding := keys.Finding()
		eu, us := newCloud(t, "eu"), newCloud(t, "us")
		caller, service = us.embedded(text), eu.embedded(text)
		bridge(eu, us, gateway.Crossing{Finding: &finding})
		return caller, service
	},
	"gateway and relays": func(t *testing.T) (caller, service *arke.Conn) {
		eu, us := newCloud(t, "eu"), newCloud(t, "us")
		caller, service = us.attached(1)[0], eu.attached(1)[0]
		bridge(eu, us, gateway.Crossing{Reseal: true})
		return caller, service
	},
}

// piper makes connections from a caller to a listener.
type piper struct {
	t       *testing.T
	caller  *arke.Conn
	service *arke.Conn
	l       net.Listener
}

// dial connects, and pair accepts as well.
func (p *piper) dial() net.Conn {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.t.Context(), time.Minute)
	defer cancel()
	c, err := p.caller.Dial(ctx, "pipe", arke.WaitForMember())
	require.NoError(p.t, err)
	p.t.Cleanup(func() { _ = c.Close() })
	return c
}

func (p *piper) accept() net.Conn {
	p.t.Helper()
	c, err := p.l.Accept()
	require.NoError(p.t, err)
	p.t.Cleanup(func() { _ = c.Close() })
	return c
}

func (p *piper) pair() (dialled, accepted net.Conn) {
	p.t.Helper()
	dialled = p.dial()
	return dialled, p.accept()
}

// allWays runs f in each of the ways.
func allWays(t *testing.T, f func(t *testing.T, p *piper)) {
	t.Helper()
	for name, way := range ways {
		t.Run(name, func(t *testing.T) {
			caller, service := way(t)
			l, err := service.Listen("pipe")
			require.NoError(t, err)
			t.Cleanup(func() { require.NoError(t, l.Close()) })
			f(t, &piper{t, caller, service, l})
		})
	}
}

func TestConnectionsOfListenAndDialAreNetConns(t *testing.T) {
	// This test runs what golang.org/x/net expects of every net.Conn.
	allWays(t, func(t *testing.T, p *piper) {
		nettest.TestConn(t, func() (c1, c2 net.Conn, stop func(), err error) {
			c1, c2 = p.pair()
			return c1, c2, func() {
				_ = c1.Close()
				_ = c2.Close()
			}, nil
		})
	})
}

func TestEOFComesAfterTheLastByte(t *testing.T) {
	// This test writes and closes at once, from either side, also before the
	// connection is accepted: a reader that is a little slow reads all of it, and then
	// io.EOF.
	allWays(t, func(t *testing.T, p *piper) {
		for _, size := range []int{0, 1, 60_000} { // what is written without a reader
			out := p.dial()
			require.NoError(t, writeAndClose(out, size))
			readsToTheEnd(t, p.accept(), size)
		}
		for round := range 10 {
			in, out := p.pair()
			if round%2 == 0 {
				in, out = out, in
			}
			written := make(chan error, 1)
			go func() { written <- writeAndClose(out, 1<<20) }()
			readsToTheEnd(t, in, 1<<20)
			require.NoError(t, <-written)
		}
	})
}

func writeAndClose(c net.Conn, size int) error {
	_, err := c.Write(make([]byte, size))
	return errors.Join(err, c.Close())
}

func readsToTheEnd(t *testing.T, c net.Conn, size int) {
	t.Helper()
	got, err := readSlowly(c)
	require.Equal(t, io.EOF, err)
	require.Equal(t, size, got)
	require.NoError(t, c.Close())
}

func readSlowly(c net.Conn) (got int, err error) {
	buf := make([]byte, 1024)
	for reads := 0; err == nil; reads++ {
		var n int
		n, err = c.Read(buf)
		if got += n; reads%64 == 0 {
			time.Sleep(time.Millisecond)
		}
	}
	return got, err
}

func TestAWriterLearnsThatTheReaderHasClosed(t *testing.T) {
	// This test closes the reader's side: after all was read, with something unread,
	// with a part of a message unread, and so with something unread behind a CloseWrite.
	// What the reader has written before comes in any case.
	allWays(t, func(t *testing.T, p *piper) {
		for _, tt := range []struct {
			name       string
			read       int
			closeWrite bool
			end        error // of Read, after the answer
			write      error // of Write, beside ErrPeerClosed
		}{
			{"all was read", 10_000, false, io.EOF, syscall.EPIPE},
			{"nothing was read", 0, false, syscall.ECONNRESET, syscall.ECONNRESET},
			{"a part was read", 9_999, false, syscall.ECONNRESET, syscall.ECONNRESET},
			{"a part was read, and the end was announced", 9_999, true, io.EOF, syscall.ECONNRESET},
		} {
			for _, fromCaller := range []bool{true, false} {
				t.Run(fmt.Sprint(tt.name, fromCaller), func(t *testing.T) {
					p := *p
					p.t = t
					writer, reader := p.pair()
					if !fromCaller {
						writer, reader = reader, writer
					}
					_, err := writer.Write(make([]byte, 10_000))
					require.NoError(t, err)
					_, err = io.ReadFull(reader, make([]byte, tt.read))
					require.NoError(t, err)
					_, err = reader.Write([]byte("answer"))
					require.NoError(t, err)
					if tt.closeWrite {
						require.NoError(t, reader.(interface{ CloseWrite() error }).CloseWrite())
					}
					require.NoError(t, reader.Close())
					require.NoError(t, writer.SetDeadline(time.Now().Add(time.Minute)))
					answer := make([]byte, 6)
					_, err = io.ReadFull(writer, answer)
					require.NoError(t, err)
					require.Equal(t, "answer", string(answer))
					_, err = writer.Read(answer)
					require.ErrorIs(t, err, tt.end)
					require.Eventually(t, func() bool {
						_, err = writer.Write([]byte("x"))
						return err != nil
					}, time.Minute, time.Millisecond)
					require.ErrorIs(t, err, arke.ErrPeerClosed)
					require.NotErrorIs(t, err, arke.ErrClosed)
					if tt.closeWrite { // what was written since may be what was not read
						return
					}
					require.ErrorIs(t, err, tt.write)
					require.NoError(t, writer.Close())
					_, err = writer.Write(nil)
					require.ErrorIs(t, err, net.ErrClosed)
				})
			}
		}
	})
}

func TestAListenerThatClosesResetsWhatItHasNotAccepted(t *testing.T) {
	// This test closes a listener with connections that wait: their callers get an
	// error, not an end. One that was accepted goes on.
	allWays(t, func(t *testing.T, p *piper) {
		accepted, in := p.pair()
		waiting := p.dial()
		_, err := waiting.Write([]byte("hello"))
		require.NoError(t, err)
		require.NoError(t, p.l.Close())
		require.NoError(t, waiting.SetDeadline(time.Now().Add(time.Minute)))
		_, err = waiting.Read(make([]byte, 1))
		var reset *arke.TunnelError
		require.ErrorAs(t, err, &reset)
		require.ErrorContains(t, err, "listener is closed")

		_, err = accepted.Write([]byte("hello"))
		require.NoError(t, err)
		_, err = io.ReadFull(in, make([]byte, 5))
		require.NoError(t, err)
	})
}

func TestShutdownWaitsUntilWhatCameIsRead(t *testing.T) {
	// This test shuts down the program that accepts, while what the caller has
	// written before it closed is not read: Shutdown waits for the reader.
	allWays(t, func(t *testing.T, p *piper) {
		out, in := p.pair()
		_, err := out.Write(make([]byte, 10_000))
		require.NoError(t, err)
		require.NoError(t, out.Close())
		_, err = io.ReadFull(in, make([]byte, 1)) // the rest is in the same message
		require.NoError(t, err)
		require.NoError(t, in.(interface{ CloseWrite() error }).CloseWrite())
		down := make(chan error, 1)
		go func() { down <- p.service.Shutdown(context.Background()) }()
		select {
		case err := <-down:
			t.Fatal("it did not wait: ", err)
		case <-time.After(200 * time.Millisecond):
		}
		rest, err := io.ReadAll(in)
		require.NoError(t, err)
		require.Len(t, rest, 9_999)
		require.NoError(t, <-down)
	})
}

func TestAddressesSayNothingFalse(t *testing.T) {
	// This test looks at the addresses of both ends: the caller sees the member, and
	// the member the caller's node, or the gateway that has opened the tunnel for it.
	allWays(t, func(t *testing.T, p *piper) {
		out, in := p.pair()
		members, err := p.caller.Members(t.Context(), "pipe")
		require.NoError(t, err)
		require.Len(t, members, 1)
		require.Equal(t, "pipe/"+members[0].ID+"@"+members[0].Peer, out.RemoteAddr().String())
		require.Empty(t, out.LocalAddr().String())
		from, err := peer.Decode(in.RemoteAddr().String())
		require.NoError(t, err)
		if addrs := p.caller.Addrs(); len(addrs) > 0 && !strings.Contains(t.Name(), "gateway") {
			require.Contains(t, addrs[0], "/p2p/"+from.String())
		}
		require.Regexp(t, "^pipe/[0-9a-f]{16}$", in.LocalAddr().String())
		for _, a := range []net.Addr{out.RemoteAddr(), out.LocalAddr(), in.RemoteAddr(), in.LocalAddr()} {
			require.Equal(t, "arke", a.Network())
		}
	})
}
