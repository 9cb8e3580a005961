// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package tunnel_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/internal/node"
	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/sim"
)

func TestReplay(t *testing.T) {
	// This test has many tunnels at work while nodes crash and links break, and
	// finds the same trace twice: what the engine does depends on nothing but
	// the seed.
	sim.Replay(t, sim.Config{Seed: 5}, 2, func(t *testing.T, n *sim.Network) {
		s := newStage(t, n)
		a := s.node("a")
		for _, name := range []string{"b", "c", "d"} {
			s.serve(s.node(name), echo, patterns.Limits{})
		}
		outcomes := make([]string, 60)
		n.At(n.Elapsed()+300*time.Millisecond, "crash", func() {
			n.Crash("c")
			s.nodes["c"].Close()
		})
		n.At(n.Elapsed()+500*time.Millisecond, "cut", func() { n.Partition([]string{"d"}, []string{"a", "b", "c"}) })
		finished := make(chan struct{})
		for i := range outcomes {
			n.Go(fmt.Sprint("tunnel ", i), func() {
				outcomes[i] = journey(a, i)
				finished <- struct{}{}
			})
			time.Sleep(10 * time.Millisecond)
		}
		for range outcomes {
			<-finished
		}
		counts := make(map[string]int)
		for _, o := range outcomes {
			counts[o]++
		}
		require.NotZero(t, counts["done"])
		require.NotZero(t, counts["interrupted"])
		require.Zero(t, counts["wrong"])
		n.Note("outcomes", fmt.Sprint(outcomes))
	})
}

// journey sends messages through a tunnel and has them back, and says how it
// ended. What comes back must be a prefix of what was sent.
func journey(n *node.Node, i int) string {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	tunnel, err := n.OpenTunnel(ctx, "pipe", patterns.Message{Body: fmt.Append(nil, i)})
	if err != nil {
		return "not open"
	}
	sent := make(chan error, 1)
	go func() {
		for k := range 10 {
			if err := tunnel.Send(ctx, pattern(5000*(k+1), k)); err != nil {
				sent <- err
				return
			}
		}
		sent <- tunnel.CloseSend()
	}()
	for k := 0; ; k++ {
		body, err := tunnel.Receive(ctx)
		switch {
		case err == io.EOF && k == 10 && <-sent == nil:
			return "done"
		case errors.Is(err, patterns.ErrInterrupted):
			return "interrupted"
		case err != nil:
			return "late"
		case k >= 10 || !bytes.Equal(body, pattern(5000*(k+1), k)):
			return "wrong"
		}
	}
}
