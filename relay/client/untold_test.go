// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package client_test

import (
	"context"
	"net"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/internal/wire/session"
	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/relay/client"
)

// lastRelay takes one client and so many frames, of which it does nothing; then
// it says last, if that is something, and is gone with its socket when left is
// closed.
func lastRelay(t *testing.T, frames int, last session.Frame) (c *client.Client, took, left chan struct{}) {
	socket := filepath.Join(t.TempDir(), "s")
	l, err := net.Listen("unix", socket)
	require.NoError(t, err)
	took, left = make(chan struct{}), make(chan struct{})
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer l.Close()
		conn, err := l.Accept()
		if err != nil {
			return
		}
		defer conn.Close()
		reader := session.NewReader(conn, session.MaxFrame)
		send := func(f session.Frame) {
			b, _ := session.Append(nil, f)
			conn.Write(b)
		}
		reader.Next() // hello
		send(&session.Welcome{Version: 1, Limits: session.Limits{
			Frame: session.MaxFrame, Message: session.MaxMessage, Requests: 100, RequestBytes: 1 << 20,
		}})
		for range frames {
			reader.Next()
		}
		close(took)
		<-left
		if last != nil {
			send(last)
		}
	}()
	c, err = client.New(client.Config{Socket: socket, RelayWait: 50 * time.Millisecond})
	require.NoError(t, err)
	require.NoError(t, c.Start(t.Context()))
	t.Cleanup(func() { c.Close(); <-done })
	return c, took, left
}

// This test checks that what TryPublish took is told when the client ends
// without the relay's answer, once, whichever way it ends and whatever the relay
// said last.
func TestWhatWasTakenIsToldAtTheEnd(t *testing.T) {
	closes := func(c *client.Client) error { return c.Close() }
	drains := func(c *client.Client) error { return c.Shutdown(context.Background()) }
	hurries := func(c *client.Client) error {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Millisecond)
		defer cancel()
		err := c.Shutdown(ctx)
		if err != nil {
			require.ErrorIs(t, err, context.DeadlineExceeded)
		}
		return err
	}
	for _, tt := range []struct {
		name  string
		last  session.Frame
		stays bool // the relay, and says nothing
		end   func(*client.Client) error
		want  error
	}{
		{"closed while the relay has them", nil, true, closes, patterns.ErrInterrupted},
		{"no time for the relay to answer", nil, true, hurries, patterns.ErrInterrupted},
		{"closed after the relay was lost", nil, false, closes, patterns.ErrInterrupted},
		{"drained after the relay was lost", nil, false, drains, patterns.ErrInterrupted},
		{"closed after the relay had not looked at them", &session.Goodbye{}, false, closes, patterns.ErrClosed},
		{"drained, and no relay comes", &session.Goodbye{}, false, drains, patterns.ErrUnreachable},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c, took, left := lastRelay(t, 3, tt.last)
			for range 3 {
				require.NoError(t, c.TryPublish("x", patterns.Message{Body: []byte("hi")}))
			}
			<-took
			if tt.stays {
				defer close(left)
			} else {
				close(left)
				_, err := c.Members(t.Context(), "geo")
				require.Error(t, err, "it has noticed")
			}
			err := tt.end(c)
			require.ErrorIs(t, err, tt.want)
			require.ErrorContains(t, err, "3 messages")
			require.NoError(t, c.Close(), "told once")
		})
	}
}

// This test checks that Shutdown waits for the answers to what was taken.
func TestShutdownWaitsForWhatWasTaken(t *testing.T) {
	p := newPlace(t)
	p.relay()
	var l listener
	subscribe(t, p.node, "x", &l, patterns.SubscribeOptions{})
	hang := make(chan struct{})
	p.node.PublishError = func(context.Context, string, bool) error { <-hang; return nil }
	c, err := client.New(client.Config{Socket: p.socket, RelayWait: 10 * time.Millisecond})
	require.NoError(t, err)
	require.NoError(t, c.Start(t.Context()))
	for range 3 {
		require.NoError(t, c.TryPublish("x", patterns.Message{}))
	}
	time.AfterFunc(50*time.Millisecond, func() { close(hang) })
	require.NoError(t, c.Shutdown(t.Context()))
	eventually(t, func() bool { return len(l.all()) == 3 }, "something is lost without a word")
}
