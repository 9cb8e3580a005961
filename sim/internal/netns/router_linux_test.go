// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package netns

import (
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"

	"github.com/arke-mesh/arke/sim/link"
	"github.com/arke-mesh/arke/sim/play"
	"github.com/arke-mesh/arke/tests/harness"
)

// lab is some namespaces without relays.
type lab struct {
	*testing.T
	wires  *wires
	router *router
	sites  []*site
}

// newLab makes namespaces called a, b, c and so on.
func newLab(t *testing.T, count int, m link.Model) *lab {
	t.Helper()
	needs(t)
	a := play.NewAgenda()
	l := &lab{T: t, wires: newWires(1, a.Now)}
	l.wires.setLinks(func(string, string) link.Model { return m })
	var err error
	l.router, err = newRouter(l.wires, a.Now, zap.NewNop())
	require.NoError(t, err)
	t.Cleanup(l.router.close)
	for i := range count {
		s, err := openSite(l.router, string(rune('a'+i)), i)
		require.NoError(t, err)
		t.Cleanup(s.close)
		l.sites = append(l.sites, s)
	}
	return l
}

// in runs f in a namespace.
func (l *lab) in(i int, f func() error) {
	l.Helper()
	require.NoError(l, l.sites[i].ground.run(f))
}

// udp returns a socket in one namespace, and one of another that is connected to it.
func (l *lab) udp(server, client int) (s net.PacketConn, c net.Conn) {
	l.Helper()
	where := seedOf(server)
	l.in(server, func() (err error) { s, err = net.ListenPacket("udp4", where); return err })
	l.in(client, func() (err error) { c, err = net.Dial("udp4", where); return err })
	l.Cleanup(func() { c.Close(); s.Close() })
	return s, c
}

// echo answers datagrams in one namespace and returns a socket of another one
// that is connected to it.
func (l *lab) echo(server, client int) net.Conn {
	l.Helper()
	s, c := l.udp(server, client)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		buf := make([]byte, 2000)
		for {
			n, from, err := s.ReadFrom(buf)
			if err != nil {
				return
			}
			_, _ = s.WriteTo(buf[:n], from)
		}
	}()
	l.Cleanup(func() { s.Close(); <-ended })
	return c
}

// ping sends one datagram and says how long its echo took; false if none came.
func (l *lab) ping(c net.Conn, patience time.Duration) (time.Duration, bool) {
	l.Helper()
	buf := make([]byte, 100)
	begun := time.Now()
	_, err := c.Write(buf)
	require.NoError(l, err)
	require.NoError(l, c.SetReadDeadline(begun.Add(patience)))
	_, err = c.Read(buf)
	return time.Since(begun), err == nil
}

// tcp connects one namespace to another.
func (l *lab) tcp(from, to int) (client, server net.Conn) {
	l.Helper()
	var ln net.Listener
	where := seedOf(to)
	l.in(to, func() (err error) { ln, err = net.Listen("tcp4", where); return err })
	defer ln.Close()
	l.in(from, func() (err error) { client, err = net.Dial("tcp4", where); return err })
	server, err := ln.Accept()
	require.NoError(l, err)
	l.Cleanup(func() { client.Close(); server.Close() })
	return client, server
}

// counted waits until so many packets have met an outcome.
func (l *lab) counted(f outcome, want uint64) {
	l.Helper()
	harness.Eventually(l.T, patience, "the count", func() error {
		if got := l.router.counts[f].Load(); got != want {
			return fmt.Errorf("it is %d, not %d", got, want)
		}
		return nil
	})
}

// TestRoundTripsTakeWhatWasAsked checks the latency that real kernels measure
// against the one of the model.
func TestRoundTripsTakeWhatWasAsked(t *testing.T) {
	for _, latency := range []time.Duration{0, 2 * time.Millisecond, 30 * time.Millisecond} {
		l := newLab(t, 2, link.Model{Latency: latency})
		c := l.echo(1, 0)
		swiftly(t, 2*latency+3*time.Millisecond, "a round trip", func() time.Duration {
			var rtts []time.Duration
			for range 100 {
				rtt, ok := l.ping(c, patience)
				require.True(t, ok)
				require.GreaterOrEqual(t, rtt, 2*latency)
				rtts = append(rtts, rtt)
			}
			slices.Sort(rtts)
			t.Logf("asked %v: p50 %v, p99 %v", 2*latency, rtts[50], rtts[98])
			return rtts[0] // the others tell how busy the machine is: both ends are goroutines of this test
		})
	}
}

// TestLossesAreThoseOfTheModel checks that about as many datagrams are lost as
// the model says, and counted.
func TestLossesAreThoseOfTheModel(t *testing.T) {
	l := newLab(t, 2, link.Model{Loss: 200_000})
	s, c := l.udp(1, 0)
	const sent = 2000
	got := 0
	buf := make([]byte, 100)
	receive := func(patience time.Duration) {
		for s.SetReadDeadline(time.Now().Add(patience)) == nil {
			if _, _, err := s.ReadFrom(buf); err != nil {
				return
			}
			got++
		}
	}
	missing := func() uint64 { return l.router.counts[lost].Load() }
	for round := range sent / 10 {
		for range 10 {
			_, err := c.Write(buf)
			require.NoError(t, err)
		}
		// The next ones go when it is known what became of these: no buffer of
		// the kernel overflows, however slow the machine is.
		for begun := time.Now(); got+int(missing()) < 10*(round+1); receive(2 * time.Millisecond) {
			require.Less(t, time.Since(begun), patience)
		}
	}
	receive(50 * time.Millisecond)
	require.InDelta(t, sent*8/10, got, sent/20)
	require.EqualValues(t, sent-got, missing())
}

// TestACutHasADirection checks that a wire which is cut one way still carries
// the other one, and that mending it is enough.
func TestACutHasADirection(t *testing.T) {
	l := newLab(t, 3, link.Model{})
	ab, ba, ac := l.echo(1, 0), l.echo(0, 1), l.echo(2, 0)
	l.wires.cutOff([]string{"b"}, []string{"a"}, true)
	_, ok := l.ping(ab, 50*time.Millisecond)
	require.False(t, ok, "the answer was cut")
	l.counted(cut, 1)
	_, ok = l.ping(ac, patience)
	require.True(t, ok, "of somebody else")
	_, ok = l.ping(ba, 50*time.Millisecond)
	require.False(t, ok, "the question was cut")
	l.counted(cut, 2)
	l.wires.cutOff([]string{"b"}, []string{"a"}, false)
	_, ok = l.ping(ba, patience)
	require.True(t, ok)
	l.counted(cut, 2)
}

// TestAClogHoldsPackets checks that nothing passes a clogged wire, and that
// nothing of it is lost.
func TestAClogHoldsPackets(t *testing.T) {
	l := newLab(t, 2, link.Model{})
	c := l.echo(1, 0)
	l.wires.clog([]string{"a"}, []string{"b"})
	_, ok := l.ping(c, 50*time.Millisecond)
	require.False(t, ok)
	l.counted(held, 1)
	l.router.resume(l.wires.unclog([]string{"a"}, []string{"b"}))
	require.NoError(t, c.SetReadDeadline(time.Now().Add(patience)))
	_, err := c.Read(make([]byte, 100))
	require.NoError(t, err)
}

// TestCorruptionGetsPastTheKernel checks that one bit of a TCP stream arrives
// wrong, once, and that the connection lives on.
func TestCorruptionGetsPastTheKernel(t *testing.T) {
	l := newLab(t, 2, link.Model{})
	client, server := l.tcp(0, 1)
	l.wires.corrupt("a", "b")
	for _, want := range []string{"helln", "hello"} { // 'o' ^ 1 is 'n'
		_, err := client.Write([]byte("hello"))
		require.NoError(t, err)
		buf := make([]byte, 5)
		_, err = io.ReadFull(server, buf)
		require.NoError(t, err)
		require.Equal(t, want, string(buf))
	}
}

// TestBandwidthIsBounded checks that TCP gets about what the bottleneck lets
// pass.
func TestBandwidthIsBounded(t *testing.T) {
	l := newLab(t, 2, link.Model{Latency: 5 * time.Millisecond, Mbps: 20})
	const size = 2 << 20
	at := func(mbps float64) time.Duration { return time.Duration(size * 8 / 1e6 / mbps * float64(time.Second)) }
	swiftly(t, at(8), "2 MiB at 20 Mbit/s", func() time.Duration {
		client, server := l.tcp(0, 1)
		begun := time.Now()
		go func() { _, _ = client.Write(make([]byte, size)); client.Close() }()
		n, err := io.Copy(io.Discard, server)
		took := time.Since(begun)
		require.NoError(t, err)
		require.EqualValues(t, size, n)
		require.Greater(t, took, at(20))
		return took
	})
}

// TestTheProcessStaysWhereItIs checks that namespaces never take the thread
// that stands for the whole process.
func TestTheProcessStaysWhereItIs(t *testing.T) {
	before, err := os.Readlink("/proc/self/ns/net")
	require.NoError(t, err)
	newLab(t, 10, link.Model{})
	after, err := os.Readlink("/proc/self/ns/net")
	require.NoError(t, err)
	require.Equal(t, before, after)
}

// TestAClosedSiteSaysNothing checks that a namespace that is closed takes its
// processes along and that its peers hear nothing of it.
func TestAClosedSiteSaysNothing(t *testing.T) {
	l := newLab(t, 2, link.Model{})
	client, _ := l.tcp(0, 1)
	sleep := exec.Command("sleep", "60")
	tie(sleep)
	require.NoError(t, l.sites[1].start(sleep))
	l.wires.power("b", false)
	l.sites[1].close()
	err := sleep.Wait()
	require.ErrorContains(t, err, "killed")
	require.NoError(t, client.SetReadDeadline(time.Now().Add(50*time.Millisecond)))
	_, err = client.Read(make([]byte, 1))
	require.True(t, err != nil && strings.Contains(err.Error(), "timeout"), "%v", err)
}
