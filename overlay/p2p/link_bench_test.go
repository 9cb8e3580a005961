// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package p2p_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"runtime/metrics"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
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
	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/overlay/p2p"
	"github.com/arke-mesh/arke/overlay/session"
)

// BenchmarkLink measures messages one way over a whole link on loopback: session,
// stream, TLS, TCP. Beside it, in the same run, what it stands on: a bare crypto/tls
// connection and one stream of plain libp2p, each written in batches as large as
// the link's own.
func BenchmarkLink(b *testing.B) {
	for _, size := range []int{16, 1 << 10, 64 << 10} {
		b.Run(fmt.Sprintf("session/%dB", size), func(b *testing.B) { oneWay(b, size) })
		b.Run(fmt.Sprintf("tls/%dB", size), func(b *testing.B) {
			from, to := barePair(b)
			pipe(b, from, to, size)
		})
		b.Run(fmt.Sprintf("libp2p/%dB", size), func(b *testing.B) {
			from, to := plainStreams(b)
			pipe(b, from, to, size)
		})
	}
}

// BenchmarkLinkEcho measures 1 KB there and back, with so many under way.
func BenchmarkLinkEcho(b *testing.B) {
	const size = 1 << 10
	for _, flying := range []int{1, 64} {
		b.Run(fmt.Sprintf("session/%d", flying), func(b *testing.B) { thereAndBack(b, size, flying) })
	}
	b.Run("tls/1", func(b *testing.B) {
		from, to := barePair(b)
		pingPong(b, from, to, size)
	})
	b.Run("libp2p/1", func(b *testing.B) {
		from, to := plainStreams(b)
		pingPong(b, from, to, size)
	})
}

// costs are what this process has used so far.
type costs struct {
	cpu                    time.Duration
	calls, switches, wakes uint64
}

func spent(b *testing.B) (c costs) {
	var u syscall.Rusage
	require.NoError(b, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	c.cpu = time.Duration(u.Utime.Nano() + u.Stime.Nano())
	c.switches = uint64(u.Nvcsw)
	io, err := os.ReadFile("/proc/self/io") // reads and writes, those of sockets too
	require.NoError(b, err)
	for _, line := range bytes.Split(io, []byte("\n")) {
		name, n, _ := bytes.Cut(line, []byte(": "))
		if s := string(name); s == "syscr" || s == "syscw" {
			v, err := strconv.ParseUint(string(n), 10, 64)
			require.NoError(b, err)
			c.calls += v
		}
	}
	sample := []metrics.Sample{{Name: "/sched/latencies:seconds"}}
	metrics.Read(sample)
	for _, n := range sample[0].Value.Float64Histogram().Counts {
		c.wakes += 8 * n // the runtime looks at one in eight
	}
	return c
}

// measured runs f and reports what an operation costs, both ends together.
func measured(b *testing.B, size int, f func()) {
	b.SetBytes(int64(size))
	b.ReportAllocs()
	b.ResetTimer()
	before := spent(b)
	f()
	b.StopTimer()
	after := spent(b)
	per := func(n uint64, unit string) { b.ReportMetric(float64(n)/float64(b.N), unit) }
	per(uint64(after.cpu-before.cpu), "cpu-ns/op")
	per(after.calls-before.calls, "syscalls/op")
	per(after.wakes-before.wakes, "wakes/op")
	per(after.switches-before.switches, "switches/op")
}

// ends returns two sessions over a link stream.
func ends(b *testing.B, near, far session.Handler) (from, to *session.Session) {
	network := p2p.NewNetwork(b)
	s, t := pair(b, start(b, network), start(b, network))
	var wg sync.WaitGroup
	end := func(h session.Handler) *session.Session {
		return session.New(session.Config{
			Seam: session.Seam{
				Clock: realClock{}, Exec: atOnce{}, Rand: atOnce{}, Go: func(f func()) bool { wg.Go(f); return true },
			},
			ID: 7, Epoch: time.Now(), Beat: 400 * time.Millisecond, Handler: h,
			LaneBytes: [wire.Lanes]int{1 << 20, 4 << 20, 4 << 20, 8 << 20}, MaxMessage: 16 << 20,
		})
	}
	from, to = end(near), end(far)
	wg.Go(func() { _ = from.Run(session.NewCarrier(s, nil, nil), session.Greeting{}) })
	wg.Go(func() { _ = to.Run(session.NewCarrier(t, nil, nil), session.Greeting{}) })
	b.Cleanup(func() {
		from.End()
		to.End()
		wg.Wait()
	})
	return from, to
}

type realClock struct{}

func (realClock) Now() time.Time { return time.Now() }

func (realClock) AfterFunc(_ string, d time.Duration, f func()) session.Timer {
	return time.AfterFunc(d, f)
}

type atOnce struct{}

func (atOnce) Wake(_ session.ExecKey, f func()) { f() }
func (atOnce) IntN(n int) int                   { return n / 2 }

func ignore(wire.Lane, wire.Kind, []byte) bool { return false }

func oneWay(b *testing.B, size int) {
	var got atomic.Int64
	done := make(chan struct{})
	from, _ := ends(b, ignore, func(wire.Lane, wire.Kind, []byte) bool {
		if got.Add(1) == int64(b.N) {
			close(done)
		}
		return false
	})
	lane := wire.LanePub
	if size >= wire.MaxPayload {
		lane = wire.LaneBulk
	}
	body := make([]byte, size)
	measured(b, size, func() {
		for range b.N {
			if _, err := from.SendWait(b.Context(), lane, wire.KindPublish, body); err != nil {
				b.Fatal(err)
			}
		}
		<-done
	})
}

func thereAndBack(b *testing.B, size, flying int) {
	turns := make(chan struct{}, flying)
	var to *session.Session
	set := make(chan struct{})
	from, other := ends(b, func(wire.Lane, wire.Kind, []byte) bool {
		turns <- struct{}{}
		return false
	}, func(_ wire.Lane, _ wire.Kind, body []byte) bool {
		<-set
		_, _ = to.Send(wire.LaneRPC, wire.KindReply, body)
		return false
	})
	to = other
	close(set)
	body := make([]byte, size)
	measured(b, size, func() {
		var wg sync.WaitGroup
		var left atomic.Int64
		left.Store(int64(b.N))
		for range flying {
			wg.Go(func() { // as callers do: ask, wait
				for left.Add(-1) >= 0 {
					if _, err := from.Send(wire.LaneRPC, wire.KindRequest, body); err != nil {
						b.Error(err)
						return
					}
					<-turns
				}
			})
		}
		wg.Wait()
	})
}

// pipe writes batches of up to 256 KiB, as the writer of a session does.
func pipe(b *testing.B, from io.Writer, to io.Reader, size int) {
	batch := make([]byte, (256<<10)/size*size)
	measured(b, size, func() { flow(b, from, to, batch, int64(b.N)*int64(size)) })
}

func pingPong(b *testing.B, from, to io.ReadWriter, size int) {
	measured(b, size, func() { bounce(b, from, to, size) })
}

// plainStreams returns the ends of a stream of libp2p with its defaults: TCP, TLS,
// yamux.
func plainStreams(b *testing.B) (from, to network.Stream) {
	near, far := plainSwarm(b), plainSwarm(b)
	got := make(chan network.Stream, 1)
	far.SetStreamHandler(func(s network.Stream) { got <- s })
	near.Peerstore().AddAddrs(far.LocalPeer(), far.ListenAddresses(), time.Hour)
	from, err := near.NewStream(context.Background(), far.LocalPeer())
	require.NoError(b, err)
	_, err = from.Write([]byte{0})
	require.NoError(b, err)
	to = <-got
	_, err = to.Read(make([]byte, 1))
	require.NoError(b, err)
	return from, to
}

func plainSwarm(b *testing.B) *swarm.Swarm {
	key, _, err := crypto.GenerateKeyPair(crypto.Ed25519, 0)
	require.NoError(b, err)
	id, err := peer.IDFromPrivateKey(key)
	require.NoError(b, err)
	store, err := pstoremem.NewPeerstore()
	require.NoError(b, err)
	require.NoError(b, store.AddPrivKey(id, key))
	require.NoError(b, store.AddPubKey(id, key.GetPublic()))
	s, err := swarm.NewSwarm(id, store, eventbus.NewBus())
	require.NoError(b, err)
	b.Cleanup(func() { s.Close(); store.Close() })
	muxers := []upgrader.StreamMuxer{{ID: yamux.ID, Muxer: yamux.DefaultTransport}}
	secure, err := libp2ptls.New(libp2ptls.ID, key, muxers)
	require.NoError(b, err)
	up, err := upgrader.New([]sec.SecureTransport{secure}, muxers, nil, nil, nil)
	require.NoError(b, err)
	t, err := tcp.NewTCPTransport(up, nil, nil)
	require.NoError(b, err)
	require.NoError(b, s.AddTransport(t))
	require.NoError(b, s.Listen(ma.StringCast("/ip4/127.0.0.1/tcp/0")))
	return s
}
