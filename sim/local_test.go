// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package sim_test

import (
	"context"
	"io"
	"net"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/sim"
)

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
		_, err = client.Write([]byte("hello"))
		require.NoError(t, err)
		got := make([]byte, 5)
		_, err = io.ReadFull(relay, got)
		require.NoError(t, err)
		require.Equal(t, "hello", string(got))

		_, err = relay.Write([]byte("bye"))
		require.NoError(t, err)
		require.NoError(t, relay.Close())
		time.Sleep(time.Millisecond)
		rest, err := io.ReadAll(client)
		require.NoError(t, err, "an end, not an error")
		require.Equal(t, "bye", string(rest))
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
			_, err = end.Write([]byte{1})
			require.Error(t, err)
		}
		b, atRelay := attach(t, n, l, "b")
		n.Pause("b")
		_, err = atRelay.Write([]byte("later"))
		require.NoError(t, err)
		require.NoError(t, b.SetReadDeadline(time.Now().Add(time.Second)))
		n.Run(n.Elapsed() + 500*time.Millisecond)
		n.Resume("b")
		got := make([]byte, 5)
		_, err = io.ReadFull(b, got)
		require.NoError(t, err)
		n.Crash("r")
		_, err = b.Read(got)
		require.ErrorIs(t, err, io.EOF, "the kernel tells who is left")
		require.Empty(t, r.seen(), "clients are no peers")
	})
	require.True(t, strings.Contains(lines(t, trace), "break a from r"))
}
