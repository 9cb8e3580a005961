// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package tunnel

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/internal/wire"
)

func TestWhatAnEndedTunnelHoldsForARelayCounts(t *testing.T) {
	// This test has tunnels end in good order before a relay has taken what came:
	// it counts among the bytes of the node's budget until the relay takes it, or
	// says in any way that it will not. Otherwise short tunnels to a client that
	// does not read would add up to any amount.
	for name, leave := range map[string]func(*Tunnel){
		"takes it": func(tunnel *Tunnel) {
			for range 2 {
				_, _, more, err := tunnel.Take()
				require.NoError(t, err)
				require.True(t, more)
			}
		},
		"closes":     func(tunnel *Tunnel) { require.NoError(t, tunnel.Close()) },
		"resets":     func(tunnel *Tunnel) { require.NoError(t, tunnel.Reset(1, "")) },
		"interrupts": func(tunnel *Tunnel) { tunnel.Interrupt() },
	} {
		for _, early := range []bool{false, true} {
			t.Run(name, func(t *testing.T) {
				inRig(t, false, func(t *testing.T, r *rig) {
					tunnel := r.open()
					if early {
						tunnel.Notify(func() {})
					}
					r.data(tunnel.id, make([]byte, 50_000), false)
					r.data(tunnel.id, []byte("x"), true)
					r.hear(wire.KindTunnelEnd, wire.TunnelEnd{ID: tunnel.id, Flags: wire.FlagClosed}.AppendTo(nil))
					<-tunnel.Done()
					if !early {
						require.Zero(t, r.engine.Status(), "it is the program's own now")
						tunnel.Notify(func() {})
					}
					require.Equal(t, Status{BufferBytes: 50_000 + minCost}, r.engine.Status())
					leave(tunnel)
					require.Zero(t, r.engine.Status())
				})
			})
		}
	}
	inRig(t, false, func(t *testing.T, r *rig) {
		r.engine.purse.bytes = 4 * firstWindow
		for range 3 {
			tunnel := r.open()
			tunnel.Notify(func() {})
			r.data(tunnel.id, make([]byte, 60_000), true)
			r.hear(wire.KindTunnelEnd, wire.TunnelEnd{ID: tunnel.id, Flags: wire.FlagClosed}.AppendTo(nil))
			r.link.frames()
		}
		tunnel := r.open()
		require.Equal(t, poorWindow, tunnel.window.size, "the budget is nearly given away")
		require.NoError(t, tunnel.Close())
	})
}
