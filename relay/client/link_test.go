// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/internal/wire"
)

// TestALongChunkIsReadIntoMemoryThatATunnelGaveBack proves that the connection reads
// the long chunks of tunnels into what they have given back to the link, also where
// another connection took the first one's place.
func TestALongChunkIsReadIntoMemoryThatATunnelGaveBack(t *testing.T) {
	const count, size = 100, 64 << 10
	var l link
	again, last := 0, (*byte)(nil)
	for range 2 { // connections
		var stream []byte
		for i := range count {
			stream = wire.AppendFrame(stream, wire.LaneBulk, wire.KindTunnelData, bytes.Repeat([]byte{byte(i)}, size))
		}
		frames := wire.NewFrameReader(bytes.NewReader(stream))
		frames.Share(&l.bodies)
		for i := range count {
			_, _, body, err := frames.Next()
			require.NoError(t, err)
			require.Equal(t, []any{size, byte(i), byte(i)}, []any{len(body), body[0], body[size-1]})
			end := &body[:cap(body)][cap(body)-1] // a body in a row begins behind its head
			if end == last {
				again++
			}
			last = end
			l.Recycle(body)
		}
	}
	// The race detector has a sync.Pool forget a quarter.
	require.Greater(t, again, count)
}
