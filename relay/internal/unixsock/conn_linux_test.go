// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package unixsock_test

import (
	"bytes"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/arke-mesh/arke/internal/nowait"
	"github.com/arke-mesh/arke/relay/internal/unixsock"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// pair returns both ends of a connection.
func pair(t *testing.T) (x, y *unixsock.Conn) {
	l, err := net.Listen("unix", filepath.Join(t.TempDir(), "s"))
	require.NoError(t, err)
	defer l.Close()
	near, err := net.Dial("unix", l.Addr().String())
	require.NoError(t, err)
	far, err := l.Accept()
	require.NoError(t, err)
	ends := [2]*unixsock.Conn{}
	for i, c := range []net.Conn{near, far} {
		ends[i] = unixsock.Quiet(c).(*unixsock.Conn)
		require.Error(t, c.SetDeadline(time.Time{}), "it is not to be used any more")
		t.Cleanup(func() { ends[i].Close() })
	}
	return ends[0], ends[1]
}

// reader reads from c by calls, if they are not nil.
func reader(c *unixsock.Conn, calls *nowait.Calls) io.Reader {
	if calls == nil {
		return c
	}
	return nowait.NewReader(c, calls)
}

// This test proves that what is written both ways at a time, in parts of any size
// and with and without waiting, is what arrives, and then the end, whether Go's
// scheduler is told of each call or not.
func TestBytesArriveInOrder(t *testing.T) {
	for name, calls := range map[string]*nowait.Calls{"told": nil, "untold": nowait.NewCalls()} {
		t.Run(name, func(t *testing.T) { bytesArriveInOrder(t, calls) })
	}
}

func bytesArriveInOrder(t *testing.T, calls *nowait.Calls) {
	const size = 4 << 20
	x, y := pair(t)
	var wg sync.WaitGroup
	defer wg.Wait()
	for seed, c := range [][2]*unixsock.Conn{{x, y}, {y, x}} {
		r := rand.New(rand.NewPCG(uint64(seed), 1))
		sent := make([]byte, size)
		for i := range sent {
			sent[i] = byte(r.Uint32())
		}
		wg.Go(func() {
			now := nowait.New(c[0], calls)
			for left := sent; len(left) > 0; {
				n := min(len(left), r.IntN(1<<r.IntN(20)+1))
				switch r.IntN(3) {
				case 0:
					n, _ = now.Write(left[:n])
				case 1:
					_, err := c[0].Write(left[:n])
					require.NoError(t, err)
				default:
					_, err := c[0].WriteParts([][]byte{{}, left[:n/2], {}, left[n/2 : n]})
					require.NoError(t, err)
				}
				left = left[n:]
			}
			require.NoError(t, c[0].CloseWrite())
		})
		wg.Go(func() {
			got, err := io.ReadAll(reader(c[1], calls))
			require.NoError(t, err)
			require.True(t, bytes.Equal(sent, got))
		})
	}
}

// This test proves that deadlines and Close end a Read and a Write that wait, and
// that both go on after a deadline.
func TestWaitsEnd(t *testing.T) {
	x, y := pair(t)
	big := make([]byte, 4<<20)
	for _, r := range []io.Reader{x, reader(x, nowait.NewCalls())} {
		require.NoError(t, x.SetReadDeadline(time.Now().Add(20*time.Millisecond)))
		_, err := r.Read(big)
		require.ErrorIs(t, err, os.ErrDeadlineExceeded)
	}
	require.NoError(t, x.SetWriteDeadline(time.Now().Add(20*time.Millisecond)))
	n, err := x.Write(big)
	require.ErrorIs(t, err, os.ErrDeadlineExceeded)
	require.Positive(t, n)
	require.NoError(t, x.SetDeadline(time.Time{}))

	got := make([]byte, n)
	_, err = io.ReadFull(y, got)
	require.NoError(t, err)
	_, err = y.Write([]byte("back"))
	require.NoError(t, err)
	_, err = io.ReadFull(x, got[:4])
	require.NoError(t, err)

	var wg sync.WaitGroup
	wg.Go(func() {
		_, err := x.Read(big[:1])
		require.ErrorIs(t, err, net.ErrClosed)
	})
	wg.Go(func() {
		_, err := x.Write(big)
		require.ErrorIs(t, err, net.ErrClosed)
	})
	time.Sleep(20 * time.Millisecond) // both wait
	require.NoError(t, x.Close())
	wg.Wait()
	require.ErrorIs(t, x.Close(), net.ErrClosed)
	_, err = x.Write([]byte("late"))
	require.ErrorIs(t, err, net.ErrClosed)
	_, err = io.Copy(io.Discard, y)
	require.NoError(t, err)
}

// This test proves that a peer which disappears ends a Write that waits.
func TestThePeerDisappears(t *testing.T) {
	x, y := pair(t)
	var wg sync.WaitGroup
	wg.Go(func() {
		_, err := x.Write(make([]byte, 4<<20))
		require.Error(t, err)
		require.NotErrorIs(t, err, net.ErrClosed)
	})
	time.Sleep(20 * time.Millisecond)
	require.NoError(t, y.Close())
	wg.Wait()
}
