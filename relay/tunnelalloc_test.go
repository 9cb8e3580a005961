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
	chunk    []byte
	recycled int
}

func (r *ready) Notify(func())                       {}
func (r *ready) Done() <-chan struct{}               { return nil }
func (r *ready) Take() ([]byte, bool, bool, error)   { return r.chunk, true, true, nil }
func (r *ready) Offer(chunk []byte, last bool) error { return nil }
func (r *ready) Return(int)                          {}
func (r *ready) Recycle([]byte)                      { r.recycled++ }

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

// This test checks that the bytes of a long chunk go back to the node when the
// connection has taken it, once and not before, and also if the client's credit
// has cut it in two.
func TestALongChunkGoesBackWhenItIsWritten(t *testing.T) {
	c := &client{relay: &Relay{cfg: Config{}.withDefaults()}, sender: session.NewSender(1<<20, session.MaxFrame)}
	c.rota = session.NewRota(c.sender)
	c.tunnels = newTunnels(c)
	tn, err := c.tunnels.add(1)
	require.NoError(t, err)
	source := &ready{chunk: make([]byte, 60_000)}
	require.NoError(t, tn.join(source, 90_000))
	tn.announce()
	for _, n := range []int{60_000, 30_000} {
		require.Len(t, tn.Next().(*session.TunnelData).Chunk, n)
	}
	require.Zero(t, source.recycled)
	c.tunnels.written()
	require.Equal(t, 1, source.recycled, "of the second one a part is left")
	require.Empty(t, tn.handleCredit(&session.TunnelCredit{ID: 1, Credit: 30_000}))
	require.Len(t, tn.Next().(*session.TunnelData).Chunk, 30_000)
	c.tunnels.written()
	c.tunnels.written()
	require.Equal(t, 2, source.recycled)
}
