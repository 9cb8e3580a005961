// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package tunnel

import (
	"context"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/internal/credit"
	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/patterns"
)

func TestNothingAPeerSaysIsLeftBehind(t *testing.T) {
	// This test has a peer say whatever frames may say, and cut ones, for tunnels
	// that are there, were there or never were, while the program
	// does what it may, and the lane has room or not. When all is over nothing is
	// left: no place, no byte of the budget, none that waits.
	for seed := range uint64(60) {
		inRig(t, false, func(t *testing.T, r *rig) {
			rng := rand.New(rand.NewPCG(seed, 8))
			r.engine.budget = credit.NewBudget(64 * credit.FirstWindow)
			full := false
			var tunnels []*Tunnel
			for range 400 {
				switch n := rng.IntN(20); {
				case n == 0 && len(tunnels) < 30:
					opened, err := r.engine.Open(t.Context(), "pipe", patterns.Message{}, patterns.RequestOptions{})
					require.NoError(t, err)
					tunnels = append(tunnels, opened.(*Tunnel))
				case n == 1 && full:
					full = false
					r.link.empty()
				case n == 1:
					full = true
					r.link.fill()
				case n < 12 || len(tunnels) == 0:
					saysAnything(r, rng, uint64(rng.IntN(len(tunnels)+3)))
				default:
					doesAnything(rng, tunnels[rng.IntN(len(tunnels))])
				}
			}
			if full {
				r.link.empty()
			}
			for _, tunnel := range tunnels {
				if rng.IntN(2) == 0 {
					require.NoError(t, tunnel.Close())
				}
				require.NoError(t, tunnel.Reset(1, "the test is over"))
				<-tunnel.Done()
			}
			synctest.Wait()
			require.Zero(t, r.engine.Status(), "seed %d", seed)
			require.Empty(t, r.engine.table.peers, "seed %d", seed)
			require.Zero(t, r.link.held, "seed %d", seed)
		})
	}
}

// saysAnything has the engine hear a frame for a tunnel of that id.
func saysAnything(r *rig, rng *rand.Rand, id uint64) {
	var k wire.Kind
	var body []byte
	switch rng.IntN(8) {
	case 0:
		k, body = wire.KindTunnelCredit, wire.TunnelCredit{ID: id, Total: rng.Uint64() >> rng.IntN(64)}.AppendTo(nil)
	case 1:
		k, body = wire.KindTunnelEnd, wire.TunnelEnd{ID: id, Flags: []uint8{0, wire.FlagClosed}[rng.IntN(2)], Payload: make([]byte, 8*rng.IntN(2))}.AppendTo(nil)
	case 2:
		k, body = wire.KindTunnelReset, wire.TunnelReset{ID: id, Cause: wire.TunnelCause(rng.IntN(5)), Text: "enough"}.AppendTo(nil)
	case 3:
		m := wire.TunnelData{ID: id, Flags: wire.FlagLast | wire.FlagSeveral}
		for range 1 + rng.IntN(5) {
			n := rng.IntN(1000)
			m.Payload = append(wire.AppendTunnelLength(m.Payload, n), make([]byte, n)...)
		}
		k, body = wire.KindTunnelData, m.AppendTo(nil)
	default:
		k, body = wire.KindTunnelData, wire.TunnelData{
			ID: id, Flags: []uint8{0, wire.FlagLast}[rng.IntN(2)], Payload: make([]byte, 1+rng.IntN(8000)),
		}.AppendTo(nil)
	}
	if rng.IntN(20) == 0 {
		body = body[:rng.IntN(len(body))]
	}
	r.hear(k, body)
}

// doesAnything does what a program may do with its tunnel.
func doesAnything(rng *rand.Rand, tunnel *Tunnel) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Millisecond)
	defer cancel()
	switch n := rng.IntN(24); {
	case n == 0:
		_ = tunnel.Close()
	case n == 1:
		_ = tunnel.CloseSend()
	case n == 2:
		_ = tunnel.Reset(7, "enough")
	case n == 3:
		tunnel.end(wire.CauseLeaving, patterns.ErrClosed)
	case n < 12:
		_, _ = tunnel.Receive(ctx)
	case n < 18:
		_ = tunnel.TrySend(make([]byte, rng.IntN(100_000)))
	default:
		_ = tunnel.Send(ctx, make([]byte, rng.IntN(100_000)))
	}
}
