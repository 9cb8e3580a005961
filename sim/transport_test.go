// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package sim_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/overlay"
	"github.com/arke-mesh/arke/sim"
)

// This test checks that a connection takes two round trips, that both sides
// are told once, and that the ways to write an address all work.
func TestConnect(t *testing.T) {
	sim.Run(t, exact(), func(t *testing.T, n *sim.Network) {
		b := start(t, n, "b")
		id := b.Transport.Self()
		dotted := strings.NewReplacer("/ip4/", "", "/tcp/", ":").Replace(n.Addr("b"))
		for i, c := range []overlay.Candidate{
			{Peer: id, Addrs: []string{n.Addr("b")}},
			{Addrs: []string{n.Addr("b") + "/p2p/" + id.String()}},
			{Addrs: []string{n.Addr("b")}},
			{Addrs: []string{"b:4001"}},
			{Addrs: []string{"nobody:4001", dotted}},
			{Peer: id, Addrs: []string{n.Addr("a0"), n.Addr("b")}},
		} {
			a := start(t, n, fmt.Sprint("a", i))
			begin := time.Now()
			got, err := a.Transport.Connect(context.Background(), c)
			require.NoError(t, err)
			require.Equal(t, id, got)
			about(t, 40*time.Millisecond, time.Since(begin))

			begin = time.Now()
			_, err = a.Transport.Connect(context.Background(), c)
			require.NoError(t, err)
			require.Zero(t, time.Since(begin), "it stands already")
			require.Equal(t, []string{"up"}, a.seen())
			require.Len(t, b.seen(), i+1)
		}
	})
}

// This test checks each way a dial can fail, with the time it takes.
func TestDialFails(t *testing.T) {
	sim.Run(t, exact(), func(t *testing.T, n *sim.Network) {
		a, b := start(t, n, "a"), start(t, n, "b")
		n.Seam("deaf") // never started
		crashed, lost := start(t, n, "crashed"), start(t, n, "lost")
		n.Crash("crashed")
		n.Silence("lost")
		cases := []struct {
			name string
			to   overlay.Candidate
			err  error
			took time.Duration
		}{
			{"unknown address", overlay.Candidate{Addrs: []string{"/ip4/192.0.2.1/tcp/1"}}, sim.ErrNoAddress, 0},
			{"peer without address", overlay.Candidate{Peer: b.Transport.Self()}, sim.ErrNoAddress, 0},
			{"another peer", overlay.Candidate{Peer: lost.Transport.Self(), Addrs: b.Transport.Addrs()}, sim.ErrWrongPeer, 0},
			{"itself, by its peer id", a.candidate(), sim.ErrWrongPeer, 0},
			{"nobody listens", overlay.Candidate{Addrs: []string{n.Addr("deaf")}}, sim.ErrRefused, 40 * time.Millisecond},
			{"crashed", crashed.candidate(), sim.ErrRefused, 40 * time.Millisecond},
			{"lost", lost.candidate(), sim.ErrTimeout, 5 * time.Second},
		}
		for _, c := range cases {
			begin := time.Now()
			_, err := a.Transport.Connect(context.Background(), c.to)
			require.ErrorIs(t, err, c.err, c.name)
			about(t, c.took, time.Since(begin))
		}
		self, err := a.Transport.Connect(context.Background(), overlay.Candidate{Addrs: a.Transport.Addrs()})
		require.NoError(t, err, "an address that leads to itself is no failure")
		require.Equal(t, a.Transport.Self(), self)
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		_, err = a.Transport.Open(ctx, lost.Transport.Self(), lost.Transport.Addrs())
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.Empty(t, a.seen())
	})
}

// This test checks that two nodes that dial each other at the same instant
// both succeed, and are told of one peer only.
func TestSimultaneousDials(t *testing.T) {
	sim.Run(t, exact(), func(t *testing.T, n *sim.Network) {
		a, b := start(t, n, "a"), start(t, n, "b")
		result := make(chan error, 2)
		n.Go("a", func() { result <- a.connect(b) })
		n.Go("b", func() { result <- b.connect(a) })
		require.NoError(t, <-result)
		require.NoError(t, <-result)
		time.Sleep(time.Second)
		require.Equal(t, []string{"up"}, a.seen())
		require.Equal(t, []string{"up"}, b.seen())
		a.Transport.Disconnect(b.Transport.Self())
		time.Sleep(time.Second)
		require.Equal(t, []string{"up", "down"}, a.seen())
		require.Equal(t, []string{"up", "down"}, b.seen())
	})
}

// This test checks that what was written before Disconnect or Close still
// arrives, and that the peer then learns of the end.
func TestCloseIsSeenAfterTheLastByte(t *testing.T) {
	for _, how := range []string{"disconnect", "close"} {
		t.Run(how, func(t *testing.T) {
			sim.Run(t, exact(), func(t *testing.T, n *sim.Network) {
				a, b, here, there := two(t, n)
				say(t, here, "goodbye")
				if how == "close" {
					require.NoError(t, a.Transport.Close())
				} else {
					a.Transport.Disconnect(b.Transport.Self())
				}
				dumb(t, here)
				hear(t, there, "goodbye")
				lost(t, there)
				time.Sleep(time.Millisecond)
				require.Equal(t, []string{"up", "down"}, b.seen())
			})
		})
	}
}

// This test checks that Close waits for a call of the handler that is under
// way, and that none begins afterwards.
func TestNoHandlerCallAfterClose(t *testing.T) {
	sim.Run(t, exact(), func(t *testing.T, n *sim.Network) {
		slow, a := startSlow(t, n), start(t, n, "a")
		_, err := a.Transport.Open(context.Background(), slow.Transport.Self(), slow.Transport.Addrs())
		require.NoError(t, err)
		time.Sleep(time.Second) // PeerUp blocks, HandleStream waits behind it
		n.At(5*time.Second, "open the gate", func() { close(slow.gate) })
		require.NoError(t, slow.Transport.Close())
		about(t, 5*time.Second, n.Elapsed())
		time.Sleep(time.Second)
		require.Equal(t, []string{"enter"}, slow.seen())
	})
}

// This test checks that the calls of one peer do not overlap, even if one of
// them blocks, while those of others go on.
func TestHandlerCallsOfOnePeerDoNotOverlap(t *testing.T) {
	sim.Run(t, exact(), func(t *testing.T, n *sim.Network) {
		slow, a, b := startSlow(t, n), start(t, n, "a"), start(t, n, "b")
		for _, x := range []*actor{a, b} {
			s, err := x.Transport.Open(context.Background(), slow.Transport.Self(), slow.Transport.Addrs())
			require.NoError(t, err)
			time.Sleep(time.Second)
			require.NoError(t, s.Reset(0))
			x.Transport.Disconnect(slow.Transport.Self())
			time.Sleep(time.Second)
		}
		require.Equal(t, []string{"enter", "enter"}, slow.seen(), "one for each peer")
		close(slow.gate)
		time.Sleep(time.Second)
		require.Len(t, slow.seen(), 6)
	})
}

type slowHandler struct {
	*actor
	gate chan struct{}
}

func startSlow(t *testing.T, n *sim.Network) *slowHandler {
	slow := &slowHandler{actor: &actor{Seam: n.Seam("slow")}, gate: make(chan struct{})}
	plug(t, slow.actor, slow)
	return slow
}

func (s *slowHandler) PeerUp(peer.ID)              { s.note("enter"); <-s.gate }
func (s *slowHandler) PeerDown(peer.ID)            { s.note("down") }
func (s *slowHandler) HandleStream(overlay.Stream) { s.note("stream") }

// actor is the simplest thing above a seam: it keeps what the transport tells
// it, and hands incoming streams to accept.
type actor struct {
	name string
	overlay.Seam

	streams chan overlay.Stream

	mu     sync.Mutex
	events []string // guarded by mu
}

func (a *actor) HandleStream(s overlay.Stream) { a.streams <- s }
func (a *actor) PeerUp(peer.ID)                { a.note("up") }
func (a *actor) PeerDown(peer.ID)              { a.note("down") }
func (a *actor) Certificate() []byte           { return nil }
func (a *actor) Routes(peer.ID, []byte) bool   { return true }

func (a *actor) note(what string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.events = append(a.events, what)
}

func (a *actor) seen() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.events)
}

// start starts an actor, or the next incarnation of one.
func start(t *testing.T, n *sim.Network, name string) *actor {
	a := &actor{name: name, Seam: n.Seam(name), streams: make(chan overlay.Stream, 1024)}
	plug(t, a, a)
	return a
}

// plug starts the transport of an actor, which tells h what happens.
func plug(t *testing.T, a *actor, h overlay.TransportHandler) {
	require.NoError(t, a.Transport.Start(h))
	t.Cleanup(func() { require.NoError(t, a.Transport.Close()) })
}

// candidate says how to reach a.
func (a *actor) candidate() overlay.Candidate {
	return overlay.Candidate{Peer: a.Transport.Self(), Addrs: a.Transport.Addrs()}
}

func (a *actor) connect(b *actor) error {
	_, err := a.Transport.Connect(context.Background(), b.candidate())
	return err
}

// open opens a stream from a to b and returns both ends.
func open(t *testing.T, a, b *actor) (here, there overlay.Stream) {
	here, err := a.Transport.Open(context.Background(), b.Transport.Self(), b.Transport.Addrs())
	require.NoError(t, err)
	return here, <-b.streams
}

// two starts two connected actors with a stream between them.
func two(t *testing.T, n *sim.Network) (a, b *actor, here, there overlay.Stream) {
	a, b = start(t, n, "a"), start(t, n, "b")
	here, there = open(t, a, b)
	return a, b, here, there
}

// say writes something.
func say(t *testing.T, s io.Writer, text string) {
	t.Helper()
	_, err := s.Write([]byte(text))
	require.NoError(t, err)
}

// hear checks what the next Read gets.
func hear(t *testing.T, s io.Reader, want string) {
	t.Helper()
	got := make([]byte, len(want)+1)
	count, err := s.Read(got)
	require.NoError(t, err)
	require.Equal(t, want, string(got[:count]))
}

// hearAll checks what comes until the end.
func hearAll(t *testing.T, s io.Reader, want string) {
	t.Helper()
	got, err := io.ReadAll(s)
	require.NoError(t, err, "an end, not an error")
	require.Equal(t, want, string(got))
}

// dumb checks that nothing can be written.
func dumb(t *testing.T, s io.Writer) {
	t.Helper()
	_, err := s.Write([]byte("x"))
	require.Error(t, err)
}

// lost checks that a stream's connection is gone.
func lost(t *testing.T, s io.Reader) {
	t.Helper()
	_, err := s.Read(make([]byte, 1))
	require.ErrorIs(t, err, sim.ErrConnLost)
}

// lines is a recorded trace as text.
func lines(t *testing.T, trace *sim.Trace) string {
	var b strings.Builder
	require.NoError(t, trace.WriteNode(&b, ""))
	return b.String()
}

// attach connects a new client to node r, which listens, and returns both ends.
func attach(t *testing.T, n *sim.Network, l net.Listener, name string) (client, relay net.Conn) {
	n.Client(name)
	client, err := n.DialLocal(context.Background(), name, "r")
	require.NoError(t, err)
	relay, err = l.Accept()
	require.NoError(t, err)
	return client, relay
}

// This test checks that a local socket carries what is written, both ways, and
// that who closes it leaves what was written and an end behind.
func TestLocalSocketCarriesBytesUntilItIsClosed(t *testing.T) {
	sim.Run(t, exact(), func(t *testing.T, n *sim.Network) {
		start(t, n, "r")
		l, err := n.ListenLocal("r")
		require.NoError(t, err)
		client, relay := attach(t, n, l, "c")
		say(t, client, "hello")
		hear(t, relay, "hello")

		say(t, relay, "bye")
		require.NoError(t, relay.Close())
		time.Sleep(time.Millisecond)
		hearAll(t, client, "bye")
		_, err = client.Write([]byte("anybody?"))
		require.ErrorIs(t, err, syscall.EPIPE)
		require.NoError(t, client.Close())
		require.NoError(t, l.Close())
		_, err = l.Accept()
		require.ErrorIs(t, err, net.ErrClosed)
	})
}

// This test checks that a dial is refused at once where nobody listens: no
// relay, one that does not listen any more, one that has crashed.
func TestLocalSocketRefuses(t *testing.T) {
	sim.Run(t, exact(), func(t *testing.T, n *sim.Network) {
		n.Client("c")
		refused := func(why string) {
			begin := time.Now()
			_, err := n.DialLocal(context.Background(), "c", "r")
			require.ErrorIs(t, err, syscall.ECONNREFUSED, why)
			require.ErrorIs(t, err, sim.ErrRefused)
			require.Less(t, time.Since(begin), time.Millisecond)
		}
		refused("no relay")
		start(t, n, "r")
		refused("it does not listen")
		l, err := n.ListenLocal("r")
		require.NoError(t, err)
		_, err = n.ListenLocal("r")
		require.ErrorIs(t, err, syscall.EADDRINUSE)
		client, err := n.DialLocal(context.Background(), "c", "r")
		require.NoError(t, err)
		require.NoError(t, client.Close())
		require.NoError(t, l.Close())
		refused("it listens no more")
		_, err = n.ListenLocal("r")
		require.NoError(t, err)
		n.Crash("r")
		refused("it has crashed")
	})
}

// This test checks what both ends see of a crash and of a socket that breaks,
// and that what a stopped process is sent waits for it.
func TestLocalSocketsBreak(t *testing.T) {
	trace := sim.Replay(t, exact(), 2, func(t *testing.T, n *sim.Network) {
		r := start(t, n, "r")
		l, err := n.ListenLocal("r")
		require.NoError(t, err)
		a, atRelay := attach(t, n, l, "a")
		n.Break([]string{"a"}, []string{"r"})
		time.Sleep(time.Millisecond)
		for _, end := range []net.Conn{a, atRelay} {
			_, err = end.Read(make([]byte, 1))
			require.ErrorIs(t, err, io.EOF)
			dumb(t, end)
		}
		b, atRelay := attach(t, n, l, "b")
		n.Pause("b")
		say(t, atRelay, "later")
		require.NoError(t, b.SetReadDeadline(time.Now().Add(time.Second)))
		n.Run(n.Elapsed() + 500*time.Millisecond)
		n.Resume("b")
		hear(t, b, "later")
		n.Crash("r")
		_, err = b.Read(make([]byte, 1))
		require.ErrorIs(t, err, io.EOF, "the kernel tells who is left")
		require.Empty(t, r.seen(), "clients are no peers")
	})
	require.True(t, strings.Contains(lines(t, trace), "break a from r"))
}
