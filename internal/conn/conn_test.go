// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package conn_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/arke-mesh/arke/internal/conn"
	"github.com/arke-mesh/arke/internal/simnet"
	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/sim"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// pipe has f run with a connection to a member that runs h with its own end, in
// virtual time.
func pipe(t *testing.T, h func(c *conn.Conn) error, f func(t *testing.T, c *conn.Conn, n *sim.Network)) {
	t.Helper()
	sim.Run(t, sim.Config{}, func(t *testing.T, n *sim.Network) {
		nodes := simnet.New(t, n, "pipe")
		caller, host := nodes.Start("a"), nodes.Start("b")
		_, err := host.Serve(t.Context(), "pipe", patterns.Service{Tunnel: func(ctx context.Context, t patterns.Tunnel) error {
			return h(conn.New(t))
		}}, patterns.Limits{})
		require.NoError(t, err)
		opened, err := caller.OpenTunnel(t.Context(), "pipe", patterns.Message{}, patterns.WaitForMember())
		require.NoError(t, err)
		f(t, conn.New(opened), n)
	})
}

func TestBytesComeAsTheyWereWritten(t *testing.T) {
	// This test copies a megabyte to a member that copies it back, in pieces of
	// any size, and ends each direction on its own.
	pipe(t, func(c *conn.Conn) error {
		if _, err := io.Copy(c, c); err != nil {
			return err
		}
		return c.CloseWrite()
	}, func(t *testing.T, c *conn.Conn, n *sim.Network) {
		sent := make([]byte, 1<<20)
		_, _ = rand.NewChaCha8([32]byte{1}).Read(sent)
		result := make(chan error, 1)
		n.Go("write", func() {
			for rest := sent; len(rest) > 0; {
				piece := rest[:min(len(rest), 1+len(rest)/7)]
				if _, err := c.Write(piece); err != nil {
					result <- err
					return
				}
				rest = rest[len(piece):]
			}
			result <- c.CloseWrite()
		})
		got, err := io.ReadAll(c)
		require.NoError(t, err)
		require.True(t, bytes.Equal(sent, got))
		require.NoError(t, <-result)
		require.NoError(t, c.Close())
		require.Equal(t, "arke", c.RemoteAddr().Network())
		require.Contains(t, c.RemoteAddr().String(), "pipe/")
	})
}

func TestDeadlines(t *testing.T) {
	// This test sets deadlines before and during a Read and a Write, moves one
	// into the future again, and finds the connection usable.
	pipe(t, func(c *conn.Conn) error {
		time.Sleep(10 * time.Second)
		_, err := io.Copy(c, c)
		return err
	}, func(t *testing.T, c *conn.Conn, n *sim.Network) {
		b := make([]byte, 10)
		require.NoError(t, c.SetReadDeadline(time.Now().Add(time.Second)))
		begin := time.Now()
		_, err := c.Read(b)
		require.ErrorIs(t, err, os.ErrDeadlineExceeded)
		var timeout net.Error
		require.ErrorAs(t, err, &timeout)
		require.True(t, timeout.Timeout())
		require.Less(t, time.Since(begin), 1100*time.Millisecond)
		_, err = c.Read(b)
		require.ErrorIs(t, err, os.ErrDeadlineExceeded)

		require.NoError(t, c.SetReadDeadline(time.Time{}))
		n.Go("hurry", func() {
			time.Sleep(time.Second)
			_ = c.SetReadDeadline(time.Now())
		})
		_, err = c.Read(b)
		require.ErrorIs(t, err, os.ErrDeadlineExceeded)

		require.NoError(t, c.SetDeadline(time.Now().Add(time.Minute)))
		_, err = c.Write([]byte("hello"))
		require.NoError(t, err)
		count, err := c.Read(b)
		require.NoError(t, err)
		require.Equal(t, "hello", string(b[:count]))
		require.NoError(t, c.SetDeadline(time.Time{}))
	})
}

func TestAWriterWithoutCreditHasADeadline(t *testing.T) {
	// This test writes to a member that does not read yet, until a deadline. As
	// many bytes come as Write said, and what is written behind them.
	var came atomic.Int64
	pipe(t, func(c *conn.Conn) error {
		time.Sleep(time.Minute)
		n, err := io.Copy(io.Discard, c)
		came.Store(n)
		return err
	}, func(t *testing.T, c *conn.Conn, _ *sim.Network) {
		require.NoError(t, c.SetWriteDeadline(time.Now().Add(time.Second)))
		n, err := c.Write(make([]byte, 1<<20))
		require.ErrorIs(t, err, os.ErrDeadlineExceeded)
		require.Positive(t, n)
		require.Less(t, n, 128<<10)
		require.NoError(t, c.SetWriteDeadline(time.Time{}))
		more, err := c.Write(make([]byte, 1<<20))
		require.NoError(t, err)
		require.NoError(t, c.CloseWrite())
		<-c.Tunnel().Done()
		require.EqualValues(t, n+more, came.Load())
		require.NoError(t, c.Close())
	})
}

func TestCloseEndsAWriteWithoutCredit(t *testing.T) {
	// This test closes a connection in the middle of a Write. What was written
	// arrives, and no deadline can be set any more, which might let a Write wait.
	var came atomic.Int64
	pipe(t, func(c *conn.Conn) error {
		time.Sleep(time.Minute)
		n, err := io.Copy(io.Discard, c)
		came.Store(n)
		return err
	}, func(t *testing.T, c *conn.Conn, n *sim.Network) {
		n.Go("close", func() {
			time.Sleep(time.Second)
			_ = c.Close()
		})
		sent, err := c.Write(make([]byte, 1<<20))
		require.ErrorIs(t, err, net.ErrClosed)
		require.ErrorIs(t, c.SetDeadline(time.Now().Add(time.Hour)), net.ErrClosed)
		_, err = c.Write(nil)
		require.ErrorIs(t, err, net.ErrClosed)
		time.Sleep(2 * time.Minute)
		require.EqualValues(t, sent, came.Load())
	})
}

func TestErrorsKeepTheirTypes(t *testing.T) {
	// This test has the member reset, and then the program here close.
	pipe(t, func(*conn.Conn) error {
		return &patterns.RemoteError{Code: 42, Message: "enough"}
	}, func(t *testing.T, c *conn.Conn, n *sim.Network) {
		_, err := c.Read(make([]byte, 1))
		var reset *patterns.TunnelError
		require.ErrorAs(t, err, &reset)
		require.EqualValues(t, 42, reset.Code)
	})
	pipe(t, func(c *conn.Conn) error {
		_, err := io.Copy(io.Discard, c)
		return err
	}, func(t *testing.T, c *conn.Conn, n *sim.Network) {
		n.Go("close", func() {
			time.Sleep(time.Second)
			_ = c.Close()
		})
		_, err := c.Read(make([]byte, 1))
		require.ErrorIs(t, err, net.ErrClosed)
		_, err = c.Write([]byte("x"))
		require.True(t, errors.Is(err, net.ErrClosed))
		_, err = c.Read(nil)
		require.ErrorIs(t, err, net.ErrClosed)
	})
}

func TestMessagesOfAnySizeAreBytes(t *testing.T) {
	// This test sends messages to a connection that reads little at a time: an empty
	// one, and one that is too large to be received whole.
	pipe(t, func(c *conn.Conn) error {
		for _, size := range []int{0, 3 << 20, 0, 1} {
			if err := c.Tunnel().Send(context.Background(), make([]byte, size)); err != nil {
				return err
			}
		}
		return nil
	}, func(t *testing.T, c *conn.Conn, n *sim.Network) {
		got, err := io.CopyBuffer(io.Discard, struct{ io.Reader }{c}, make([]byte, 1000))
		require.NoError(t, err)
		require.EqualValues(t, 3<<20+1, got)
	})
}
