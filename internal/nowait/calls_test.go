// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package nowait_test

import (
	"bytes"
	"io"
	"net"
	"os"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/internal/nowait"
)

// TestTheSchedulerIsToldOfOneReadInTenMilliseconds proves how many reads of a busy
// process Go's scheduler hears of: enough for it to see that one runs for long.
func TestTheSchedulerIsToldOfOneReadInTenMilliseconds(t *testing.T) {
	synctest.Test(t, func(*testing.T) {
		calls := nowait.NewCalls()
		told := 0
		for range 1000 { // a second, and one read each millisecond
			if calls.Tells() {
				told++
			}
			time.Sleep(time.Millisecond)
		}
		require.Equal(t, 99, told)
		time.Sleep(time.Hour)
		require.True(t, calls.Tells())
		require.False(t, calls.Tells())
	})
	require.True(t, (*nowait.Calls)(nil).Tells())
}

// TestAReaderReadsAsItsConnection proves that whoever reads through a Reader gets what
// the connection's own Read gives: bytes as they come, the end, deadlines and errors.
func TestAReaderReadsAsItsConnection(t *testing.T) {
	for network, addr := range map[string]string{"tcp": "127.0.0.1:0", "unix": t.TempDir() + "/s"} {
		t.Run(network, func(t *testing.T) {
			x, y := sockets(t, network, addr)
			r, w := nowait.NewReader(y, nowait.NewCalls()), nowait.New(x, nowait.NewCalls())
			require.NotNil(t, r)

			sent := bytes.Repeat([]byte("0123456789"), 10_000)
			wrote := make(chan error, 1)
			go func() {
				for b := sent; len(b) > 0; {
					n, err := w.Write(b[:min(len(b), 700)])
					if err != nil {
						wrote <- err
						return
					}
					b = b[n:]
				}
				wrote <- nil
			}()
			got := make([]byte, len(sent))
			_, err := io.ReadFull(r, got)
			require.NoError(t, err)
			require.NoError(t, <-wrote)
			require.Equal(t, sent, got)
			n, err := r.Read(nil)
			require.NoError(t, err)
			require.Zero(t, n)

			require.NoError(t, y.SetReadDeadline(time.Now().Add(time.Millisecond)))
			_, err = r.Read(got)
			require.ErrorIs(t, err, os.ErrDeadlineExceeded)
			require.NoError(t, y.SetReadDeadline(time.Time{}))

			closed := make(chan error, 1)
			go func() {
				_, err := r.Read(got)
				closed <- err
			}()
			require.NoError(t, x.Close())
			require.ErrorIs(t, <-closed, io.EOF)
			require.NoError(t, y.Close())
			_, err = r.Read(got)
			require.ErrorIs(t, err, net.ErrClosed)
		})
	}
}

// TestAReaderSaysThatItsPeerHasReset proves that errors of the kernel can be told apart,
// as those of a connection's own Read.
func TestAReaderSaysThatItsPeerHasReset(t *testing.T) {
	x, y := sockets(t, "tcp", "127.0.0.1:0")
	r := nowait.NewReader(y, nowait.NewCalls())
	require.NoError(t, x.(*net.TCPConn).SetLinger(0))
	require.NoError(t, x.Close())
	_, err := r.Read(make([]byte, 1))
	require.ErrorIs(t, err, syscall.ECONNRESET)
}

// TestWhoTellsOfEverythingNeedsNoReader proves that nothing is put between where there is
// nothing to gain, or no socket.
func TestWhoTellsOfEverythingNeedsNoReader(t *testing.T) {
	x, _ := sockets(t, "tcp", "127.0.0.1:0")
	require.Nil(t, nowait.NewReader(x, nil))
	p, _ := net.Pipe()
	require.Nil(t, nowait.NewReader(p, nowait.NewCalls()))
}
