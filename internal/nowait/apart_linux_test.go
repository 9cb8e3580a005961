// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package nowait_test

import (
	"bytes"
	"io"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/arke-mesh/arke/internal/nowait"
)

// unsent has the kernel take little before the line has, and returns a count of what it
// took: who reads nothing is the slowest line.
func unsent(t *testing.T, c net.Conn, most int) func() int {
	raw, err := c.(*net.TCPConn).SyscallConn()
	require.NoError(t, err)
	control := func(f func(fd int) error) {
		var failed error
		require.NoError(t, raw.Control(func(fd uintptr) { failed = f(int(fd)) }))
		require.NoError(t, failed)
	}
	control(func(fd int) error { return unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_NOTSENT_LOWAT, most) })
	return func() (n int) {
		control(func(fd int) (err error) {
			n, err = unix.IoctlGetInt(fd, unix.SIOCOUTQNSD)
			return err
		})
		return n
	}
}

// TestWhatIsApartLeavesTheBufferNotFilled proves that the kernel takes no more than it may
// once the line is full, and one write, and without Apart a whole buffer beyond that.
func TestWhatIsApartLeavesTheBufferNotFilled(t *testing.T) {
	const most, piece = 4 << 10, 1 << 10
	for name, apart := range map[string]bool{"apart": true, "together": false} {
		t.Run(name, func(t *testing.T) {
			x, _ := sockets(t, "tcp", "127.0.0.1:0")
			count := unsent(t, x, most)
			w := nowait.New(x, nil)
			w.Apart(apart)
			for {
				n, err := w.Write(make([]byte, piece))
				require.NoError(t, err)
				if n == 0 {
					break
				}
			}
			require.Equal(t, apart, count() <= most+piece, "%d bytes wait", count())
		})
	}
}

// TestWhatIsWrittenApartArrivesAsItIs proves that nothing is lost or repeated where who
// writes all waits for who reads, and that the end of the connection ends the wait.
func TestWhatIsWrittenApartArrivesAsItIs(t *testing.T) {
	x, y := sockets(t, "tcp", "127.0.0.1:0")
	unsent(t, x, 4<<10)
	w := nowait.New(x, nil)
	w.Apart(true)
	sent := bytes.Repeat([]byte("0123456789"), 500_000)
	wrote := make(chan error, 1)
	go func() {
		n, err := w.WriteAll(sent)
		if err == nil && n != len(sent) {
			err = io.ErrShortWrite
		}
		wrote <- err
	}()
	got := make([]byte, len(sent))
	_, err := io.ReadFull(y, got)
	require.NoError(t, err)
	require.NoError(t, <-wrote)
	require.True(t, bytes.Equal(sent, got))

	go func() {
		_, err := w.WriteAll(make([]byte, 64<<20))
		wrote <- err
	}()
	time.Sleep(10 * time.Millisecond) // it may wait by now, and need not
	require.NoError(t, x.Close())
	require.ErrorIs(t, <-wrote, net.ErrClosed)
}
