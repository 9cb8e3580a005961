// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/internal/wire/session"
)

// peer is a relay that reads, and answers the first pings only.
func peer(conn net.Conn, answers int) (pings int) {
	reader := session.NewReader(conn, session.MaxFrame)
	for {
		k, _, err := reader.Next()
		if err != nil {
			return pings
		}
		if k != session.KindPing {
			panic("BUG: " + k.String())
		}
		pings++
		if pings <= answers {
			b, _ := session.Append(nil, &session.Pong{})
			conn.Write(b)
		}
	}
}

// This test checks that a relay which is stopped, so that its connection does
// not break, is asked every 4 s and given up after 16 s of silence; and that one
// which answers is kept.
func TestAStoppedRelayIsGivenUp(t *testing.T) {
	for _, tt := range []struct {
		answers, pings int
		lives          time.Duration
	}{
		{answers: 0, pings: 3, lives: 16 * time.Second},
		// A look that finds the answer to the last ping does not ping.
		{answers: 5, pings: 8, lives: 56 * time.Second},
	} {
		synctest.Test(t, func(t *testing.T) {
			c, err := New(Config{Socket: "unused"})
			require.NoError(t, err)
			here, there := net.Pipe()
			a := newAttachment(c, here, session.NewReader(here, session.MaxFrame),
				&session.Welcome{Limits: session.Limits{Frame: session.MaxFrame}})
			pings := make(chan int, 1)
			go func() { pings <- peer(there, tt.answers) }()
			began := time.Now()
			require.ErrorIs(t, a.run(), errSilent)
			require.Equal(t, tt.lives, time.Since(began))
			there.Close()
			require.Equal(t, tt.pings, <-pings)
		})
	}
}

// This test checks that a session ends with its client.
func TestASessionEndsWithItsClient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, err := New(Config{Socket: "unused"})
		require.NoError(t, err)
		here, there := net.Pipe()
		defer there.Close()
		a := newAttachment(c, here, session.NewReader(here, session.MaxFrame),
			&session.Welcome{Limits: session.Limits{Frame: session.MaxFrame}})
		ended := make(chan error, 1)
		go func() { ended <- a.run() }()
		synctest.Wait()
		require.Empty(t, ended)
		require.NoError(t, c.Close())
		require.Error(t, <-ended)
	})
}
