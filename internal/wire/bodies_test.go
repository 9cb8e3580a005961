// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package wire_test

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/internal/wire"
)

// TestSharedBodiesAreApart proves that long chunks have their own bytes until
// they are put back, and that those are used again, by all readers that share
// them, also if what is put back is the chunk alone; other frames have none of it.
func TestSharedBodiesAreApart(t *testing.T) {
	const count = 200
	var stream []byte
	for i := range count {
		m := wire.TunnelData{ID: 1, Flags: wire.FlagLast, Payload: bytes.Repeat([]byte{byte(i)}, wire.MaxChunk-i)}
		stream = wire.AppendFrame(stream, wire.LaneRPC, wire.KindTunnelData, m.AppendTo(nil))
	}
	stream = wire.AppendFrame(stream, wire.LaneRPC, wire.KindRequest, make([]byte, 60<<10))
	var shared wire.Bodies
	a, b := wire.NewFrameReader(bytes.NewReader(stream)), wire.NewFrameReader(bytes.NewReader(stream))
	a.Share(&shared)
	b.Share(&shared)
	places := map[*byte]bool{}
	end := func(b []byte) *byte { return &b[:cap(b)][cap(b)-1] }
	var kept []byte
	for i := range 2 * count {
		r := []*wire.FrameReader{a, b}[i%2]
		_, _, body, err := r.Next()
		require.NoError(t, err)
		m, err := wire.DecodeTunnelData(body)
		require.NoError(t, err)
		require.Equal(t, bytes.Repeat([]byte{byte(i / 2)}, wire.MaxChunk-i/2), m.Payload)
		if i == 0 {
			kept = m.Payload
			continue
		}
		places[end(body)] = true
		shared.Put(m.Payload)
	}
	require.Equal(t, make([]byte, wire.MaxChunk), kept)
	require.Less(t, len(places), count) // far less, were it not for the race detector
	shared.Put(make([]byte, 100))       // which is of no use
	_, _, body, err := a.Next()
	require.NoError(t, err)
	require.False(t, places[end(body)])
}
