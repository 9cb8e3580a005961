// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package relay_test

import (
	"context"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/relay"
	"github.com/arke-mesh/arke/relay/client"
)

// TestWhatAProgramHasReadTakesLittleRoom proves that a program may leave most of its
// limit unread without losing anything: what it has read before takes a sixteenth of it
// at most, though nothing else is written that an acknowledgement could ride with.
func TestWhatAProgramHasReadTakesLittleRoom(t *testing.T) {
	const limit = 4 << 20
	play(t, func(cfg *relay.Config) { cfg.Limits.PublicationBytes = limit }, func(t *testing.T, s *stage) {
		line := &line{held: make(chan struct{}, 1)}
		c := s.program("program", line)
		got := &counting{}
		_, err := c.Subscribe(t.Context(), "a", got, patterns.SubscribeOptions{QueueLength: 1 << 20})
		require.NoError(t, err)
		time.Sleep(time.Second) // all that came so far is acknowledged
		body := string(make([]byte, 1<<10))
		frame := wire.LeafPublication{Publisher: s.node.Self().String(), Topic: "a", Subscriptions: []uint64{1}}
		room := uint64(limit / (wire.FrameOverhead + len(frame.AppendHead(nil)) + len(tail(body))))
		sent := uint64(0)
		publish := func(count uint64) {
			for range count {
				s.publish("a", body)
				sent++
			}
		}
		begin := time.Now()
		for range 36 {
			publish(room / 192)
			time.Sleep(100 * time.Microsecond)
		}
		require.Equal(t, sent, got.came.Load(), "it reads what comes")
		line.held <- struct{}{}
		publish(room * 14 / 16)
		time.Sleep(time.Millisecond)
		took := time.Since(begin)
		<-line.held
		require.Less(t, took, 25*time.Millisecond, "or acknowledgements leave because of the time")
		require.Zero(t, s.relay.Status().Drops["publication.slow_client"])
		eventually(t, func() bool { return got.came.Load() == sent }, "not all comes")
		require.Zero(t, got.missed.Load())
	})
}

// program attaches a program over a line.
func (s *stage) program(name string, l *line) *client.Client {
	s.t.Helper()
	seam := s.net.Seam(name)
	c, err := client.New(client.Config{Seam: &client.Seam{
		Clock: seam.Clock, Rand: seam.Rand, Exec: seam.Exec,
		Dial: func(context.Context) (net.Conn, error) {
			var theirs net.Conn
			l.Conn, theirs = net.Pipe()
			done := make(chan struct{})
			go func() { defer close(done); s.relay.Attach(theirs) }()
			s.t.Cleanup(func() { <-done })
			return l, nil
		},
	}})
	require.NoError(s.t, err)
	require.NoError(s.t, c.Start(s.t.Context()))
	s.t.Cleanup(func() { require.NoError(s.t, c.Close()) })
	return c
}

// line is a connection that brings nothing while held is full.
type line struct {
	net.Conn
	held chan struct{}
}

// Read implements net.Conn.
func (l *line) Read(p []byte) (int, error) {
	n, err := l.Conn.Read(p)
	l.held <- struct{}{}
	<-l.held
	return n, err
}

// counting is a subscriber that counts.
type counting struct{ came, missed atomic.Uint64 }

func (c *counting) ServePublication(patterns.Publication) { c.came.Add(1) }
func (c *counting) ServeGap(g patterns.Gap)               { c.missed.Add(g.Missed) }
