// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package tunnel

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/patterns"
)

func TestASealedTunnelEndsInGoodOrderBehindWhatNobodyWants(t *testing.T) {
	// This test has chunks of a sealed tunnel wait for room when the other side
	// says that it does not receive any more. They are numbered: if one did not
	// go, the end behind them would be taken for a forged one.
	inSealedRig(t, func(t *testing.T, r sealedRig) {
		r.link.frames()
		r.link.fill()
		for range 3 {
			require.NoError(t, r.tunnel.TrySend([]byte("unwanted")))
		}
		synctest.Wait()
		closed := wire.TunnelEnd{ID: r.tunnel.id, Flags: wire.FlagClosed, Payload: r.far.Seal(nil, make([]byte, 8), wire.FlagClosed)}
		r.hear(wire.KindTunnelEnd, closed.AppendTo(nil))
		r.link.empty()
		synctest.Wait()
		require.ErrorIs(t, r.tunnel.Err(), patterns.ErrUnread)
		frames := r.link.frames()
		require.Len(t, frames, 4)
		for i, f := range frames {
			if i < 3 {
				m, err := wire.DecodeTunnelData(f.body)
				require.NoError(t, err)
				_, err = r.far.Open(m.Payload, m.Flags)
				require.NoError(t, err)
				continue
			}
			m, err := wire.DecodeTunnelEnd(f.body)
			require.NoError(t, err)
			_, err = r.far.Open(m.Payload, m.Flags)
			require.NoError(t, err)
		}
		require.Zero(t, r.engine.Status())
	})
}

func TestAnEndIsNotLostWithASenderThatGaveUp(t *testing.T) {
	// This test ends a tunnel while one sender has the turn and another one has
	// given up waiting for it: who passes the turn on says the end.
	inRig(t, false, func(t *testing.T, r *rig) {
		tunnel := r.open()
		tunnel.mu.Lock()
		require.True(t, tunnel.sender.try())
		tunnel.mu.Unlock()
		ctx, cancel := context.WithCancel(t.Context())
		sent := make(chan error, 1)
		go func() { sent <- tunnel.Send(ctx, []byte("x")) }()
		synctest.Wait()

		cancel()
		require.ErrorIs(t, <-sent, context.Canceled)
		require.NoError(t, tunnel.CloseSend())
		require.Empty(t, r.link.frames(), "it waits for whoever has the turn")
		tunnel.mu.Lock()
		tunnel.sender.leave()
		synctest.Wait()
		frames := r.link.frames()
		require.Len(t, frames, 1)
		require.Equal(t, wire.KindTunnelEnd, frames[0].kind)
	})
}

func TestAnEngineThatStopsDuringAnOpeningClosesTheTunnel(t *testing.T) {
	// This test stops the engine while the answer to an opening is on its way:
	// the tunnel is closed as those are that were there, and nothing is left.
	inRig(t, false, func(t *testing.T, r *rig) {
		r.before = func(wire.TunnelOpen) { r.engine.Stop() }
		tunnel, err := r.engine.Open(t.Context(), "pipe", patterns.Message{}, patterns.RequestOptions{})
		require.NoError(t, err)
		require.ErrorIs(t, tunnel.Err(), patterns.ErrClosed)
		require.Zero(t, r.engine.Status())
		require.Zero(t, r.link.held)
	})
}
