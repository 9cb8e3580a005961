// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package wire_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/internal/wire"
)

// TestAckVectors proves that acknowledgements are laid out as written down, in
// both directions.
func TestAckVectors(t *testing.T) {
	forEachVector(t, "ack.txt", func(t *testing.T, v vector) {
		released, err := wire.DecodeAck(v.bytes)
		if v.refused(t, err) {
			return
		}
		for lane := range wire.Lane(wire.Lanes) {
			require.Equal(t, v.number(t, lane.String(), 64), released[lane])
		}
		require.Equal(t, v.bytes, wire.AppendAck(nil, released))
	})
}

// FuzzAck proves that no body makes the decoder panic, and that what it accepts is
// what is encoded.
func FuzzAck(f *testing.F) {
	seedWith(f, "ack.txt")
	f.Fuzz(func(t *testing.T, b []byte) {
		if released, err := wire.DecodeAck(b); err == nil {
			require.Equal(t, b, wire.AppendAck(nil, released))
		}
	})
}
