// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package wire_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/internal/wire"
)

// tunnelLayouts decode each layout of tunnels, and encode what came out.
var tunnelLayouts = map[string]func(b []byte) (m any, again []byte, err error){
	"open":   layout(wire.DecodeTunnelOpen),
	"accept": layout(wire.DecodeTunnelAccept),
	"data":   layout(wire.DecodeTunnelData),
	"credit": layout(wire.DecodeTunnelCredit),
	"end":    layout(wire.DecodeTunnelEnd),
	"reset":  layout(wire.DecodeTunnelReset),
	"read": func(b []byte) (any, []byte, error) {
		read, err := wire.DecodeTunnelRead(b, wire.FlagClosed)
		return read, wire.AppendTunnelRead(nil, read), err
	},
}

// layout is a decoder and its encoder.
func layout[M interface{ AppendTo(dst []byte) []byte }](decode func([]byte) (M, error)) func([]byte) (any, []byte, error) {
	return func(b []byte) (any, []byte, error) {
		m, err := decode(b)
		return m, m.AppendTo(nil), err
	}
}

// TestTunnelVectors proves the layouts of tunnels in both directions.
func TestTunnelVectors(t *testing.T) {
	forEachVector(t, "tunnel.txt", func(t *testing.T, v vector) {
		got, again, err := tunnelLayouts[v.text("type")](v.bytes)
		if v.refused(t, err) {
			return
		}
		id, flags := v.number(t, "id", 64), uint8(v.number(t, "flags", 8))
		credit := uint32(v.number(t, "credit", 32))
		want := map[string]any{
			"open":   wire.TunnelOpen{ID: id, Credit: credit, Stream: v.hex(t, "stream"), Body: v.hex(t, "body")},
			"accept": wire.TunnelAccept{Credit: credit, Salt: v.hex(t, "salt")},
			"data":   wire.TunnelData{ID: id, Flags: flags, Payload: v.hex(t, "payload")},
			"credit": wire.TunnelCredit{ID: id, Flags: flags, Total: v.number(t, "total", 64), Seal: v.hex(t, "seal")},
			"end":    wire.TunnelEnd{ID: id, Flags: flags, Payload: v.hex(t, "payload")},
			"read":   v.number(t, "total", 64),
			"reset": wire.TunnelReset{
				ID: id, Flags: flags, Cause: wire.TunnelCause(v.number(t, "cause", 8)),
				Code: uint32(v.number(t, "code", 32)), Text: v.text("text"),
			},
		}
		if flags&wire.FlagSealedReset != 0 {
			want["reset"] = wire.TunnelReset{ID: id, Flags: flags, Sealed: v.hex(t, "sealed")}
		}
		require.Equal(t, want[v.text("type")], got)
		require.Equal(t, v.bytes, again)
	})
}

// TestTheLongestChunkIsOneFrame proves that a chunk never needs fragments.
func TestTheLongestChunkIsOneFrame(t *testing.T) {
	m := wire.TunnelData{ID: 1, Payload: make([]byte, wire.MaxChunk)}
	require.Less(t, len(m.AppendTo(nil)), wire.MaxFrame)
	_, err := wire.DecodeTunnelData(m.AppendTo(nil))
	require.NoError(t, err)
	require.Panics(t, func() { wire.TunnelOpen{Stream: make([]byte, 256)}.AppendTo(nil) })
}

// TestTunnelFramesCostNoAllocation proves the cost of the hot path.
func TestTunnelFramesCostNoAllocation(t *testing.T) {
	data := wire.TunnelData{ID: 1, Payload: make([]byte, 1000)}
	credit := wire.TunnelCredit{ID: 1, Total: 2}
	encoded, encodedCredit := data.AppendTo(nil), credit.AppendTo(nil)
	buf := make([]byte, 0, 2000)
	require.Zero(t, testing.AllocsPerRun(100, func() {
		buf = data.AppendTo(buf[:0])
		buf = credit.AppendTo(buf[:0])
		_, _ = wire.DecodeTunnelData(encoded)
		_, _ = wire.DecodeTunnelCredit(encodedCredit)
	}))
}

// FuzzDecodeTunnel proves that no bytes make a decoder of tunnels panic, and
// that each message has one encoding only.
func FuzzDecodeTunnel(f *testing.F) {
	seedWith(f, "tunnel.txt")
	f.Fuzz(func(t *testing.T, b []byte) {
		if wire.CheckTunnelMessages(b) == nil {
			var again []byte
			for rest := b; len(rest) > 0; {
				var body []byte
				body, rest = wire.FirstTunnelMessage(rest)
				again = append(wire.AppendTunnelLength(again, len(body)), body...)
			}
			require.Equal(t, b, again)
		}
		for name, decode := range tunnelLayouts {
			if _, again, err := decode(b); err == nil {
				require.Equal(t, b, again, name)
			}
		}
	})
}
