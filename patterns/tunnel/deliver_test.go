// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package tunnel

import (
	"bytes"
	"io"
	"math/rand/v2"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/internal/credit"
	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/patterns"
)

func TestWhatComesToWhoWaitsIsDeliveredByTheReader(t *testing.T) {
	// This test has messages come while ReceiveTo waits: each goes to the function
	// at once, and what that does not take, with everything behind it, to the
	// writer, so that the stream of bytes is whole and in order, and all credit is
	// given back. Parts of messages, and several in a frame, go to the writer.
	for seed := range uint64(50) {
		inRig(t, false, func(t *testing.T, r *rig) {
			rng := rand.New(rand.NewPCG(seed, 4))
			tunnel := r.open()
			var want, got []byte
			direct, messages := 0, 0
			tunnel.DeliverTo(func(b []byte) int {
				n := len(b)
				if rng.IntN(3) == 0 {
					n = rng.IntN(n + 1)
				}
				direct += n
				got = append(got, b[:n]...)
				return n
			})
			ended := make(chan error)
			go func() {
				var err error
				for err == nil {
					_, err = tunnel.ReceiveTo(t.Context(), writerFunc(func(b []byte) { got = append(got, b...) }))
					messages++
				}
				ended <- err
			}()
			for i := range 200 {
				if rng.IntN(2) == 0 {
					synctest.Wait()
				}
				body := bytes.Repeat([]byte{byte(i)}, 1+rng.IntN(100))
				want = append(want, body...)
				switch rng.IntN(8) {
				case 0:
					r.data(tunnel.id, body[:len(body)/2+1], false)
					if rng.IntN(2) == 0 {
						synctest.Wait()
					}
					r.data(tunnel.id, body[len(body)/2+1:], true)
				case 1:
					r.several(tunnel.id, string(append(wire.AppendTunnelLength(nil, len(body)), body...)))
				default:
					r.data(tunnel.id, body, true)
				}
			}
			r.hear(wire.KindTunnelEnd, wire.TunnelEnd{ID: tunnel.id}.AppendTo(nil))
			require.ErrorIs(t, <-ended, io.EOF)
			require.Equal(t, want, got, "seed %d", seed)
			require.Positive(t, direct)
			require.Greater(t, messages, 1)
			require.Zero(t, tunnel.state.window.Held())
		})
	}
}

func TestATunnelMayEndWhileSomethingIsDelivered(t *testing.T) {
	// This test resets a tunnel, or closes it, while the function has what came: the
	// receiver hears of it, and no credit is counted twice.
	for name, end := range map[string]func(tunnel *Tunnel){
		"reset":  func(tunnel *Tunnel) { require.NoError(t, tunnel.Reset(1, "enough")) },
		"closed": func(tunnel *Tunnel) { require.NoError(t, tunnel.Close()) },
		"lost":   func(tunnel *Tunnel) { tunnel.lose(patterns.ErrInterrupted) },
	} {
		t.Run(name, func(t *testing.T) {
			inRig(t, false, func(t *testing.T, r *rig) {
				tunnel := r.open()
				tunnel.DeliverTo(func(b []byte) int {
					end(tunnel)
					return len(b)
				})
				ended := make(chan error)
				go func() {
					_, err := tunnel.ReceiveTo(t.Context(), io.Discard)
					ended <- err
				}()
				synctest.Wait()
				r.data(tunnel.id, make([]byte, credit.FirstWindow/2), true)
				require.Error(t, <-ended)
				require.Zero(t, tunnel.state.in.Len())
				if name != "reset" { // which gives the window back as it is
					require.Zero(t, tunnel.state.window.Held())
				}
			})
		})
	}
}

type writerFunc func(b []byte)

func (f writerFunc) Write(b []byte) (int, error) {
	f(b)
	return len(b), nil
}
