// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package nowait_test

import (
	"io"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/internal/nowait"
)

// sockets are both ends of a connection over network, which was accepted at addr.
func sockets(t *testing.T, network, addr string) (x, y net.Conn) {
	l, err := net.Listen(network, addr)
	require.NoError(t, err)
	defer l.Close()
	x, err = net.Dial(network, l.Addr().String())
	require.NoError(t, err)
	y, err = l.Accept()
	require.NoError(t, err)
	t.Cleanup(func() { x.Close(); y.Close() })
	return x, y
}

// This test proves that a peer which does not read holds nobody up, and that what
// was written is what arrives.
func TestAFullSocketTakesNothing(t *testing.T) {
	x, y := sockets(t, "tcp", "127.0.0.1:0")
	w := nowait.New(x, nil)
	b := make([]byte, 64<<10)
	for i := range b {
		b[i] = byte(i)
	}
	sent := 0
	for {
		n, err := w.Write(b[sent%len(b):])
		require.NoError(t, err)
		if n == 0 {
			break
		}
		sent += n
	}
	require.NoError(t, x.Close())
	got, err := io.ReadAll(y)
	require.NoError(t, err)
	require.Len(t, got, sent)
	for i := range got {
		if got[i] != b[i%len(b)] {
			t.Fatalf("byte %d is another one", i)
		}
	}
}

// This test proves what a deadline, the end, and what is no socket are.
func TestNothingIsWrittenWhereThatCannotBe(t *testing.T) {
	x, _ := sockets(t, "tcp", "127.0.0.1:0")
	w := nowait.New(x, nil)
	require.NoError(t, x.SetWriteDeadline(time.Unix(1, 0)))
	n, err := w.Write([]byte("late"))
	require.NoError(t, err)
	require.Zero(t, n)
	x.Close()
	_, err = w.Write([]byte("closed"))
	require.ErrorIs(t, err, net.ErrClosed)

	p, _ := net.Pipe()
	w = nowait.New(p, nil)
	require.Nil(t, w)
	n, err = w.Write([]byte("pipe"))
	require.NoError(t, err)
	require.Zero(t, n)
}
