// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package relay

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/internal/wire/session"
	"github.com/arke-mesh/arke/patterns"
)

// ready is a tunnel of a node that takes and has whatever is asked of it.
type ready struct {
	patterns.TunnelSource
	chunk []byte
}

func (r *ready) Notify(func())                       {}
func (r *ready) Done() <-chan struct{}               { return nil }
func (r *ready) Take() ([]byte, bool, bool, error)   { return r.chunk, true, true, nil }
func (r *ready) Offer(chunk []byte, last bool) error { return nil }
func (r *ready) Return(int)                          {}
func (r *ready) Recycle([]byte)                      {}

// This test checks that a chunk on its way through the relay allocates nothing,
// in neither direction, beside the bytes that are read.
func TestAChunkOnItsWayAllocatesNothing(t *testing.T) {
	c := &client{relay: &Relay{cfg: Config{}.withDefaults()}, sender: session.NewSender(1<<20, session.MaxFrame)}
	c.rota = session.NewRota(c.sender)
	c.tunnels = newTunnels(c)
	tn, err := c.tunnels.add(1)
	require.NoError(t, err)
	require.NoError(t, tn.join(&ready{chunk: make([]byte, 1000)}, maxCredit))
	tn.announce()

	require.Zero(t, testing.AllocsPerRun(1000, func() {
		if f, ok := tn.Next().(*session.TunnelData); !ok || len(f.Chunk) != 1000 {
			panic("BUG: no data")
		}
	}))
	data := &session.TunnelData{ID: 1, Last: true, Chunk: make([]byte, 1000)}
	require.Zero(t, testing.AllocsPerRun(1000, func() {
		if kept, violation := c.handleTunnelData(data); kept || violation != "" {
			panic("BUG: " + violation)
		}
	}))
}
