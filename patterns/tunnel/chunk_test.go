// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package tunnel

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/internal/credit"
	"github.com/arke-mesh/arke/internal/wire"
)

func TestAChunkIsReadInPartsOfAnySize(t *testing.T) {
	// This test copies a chunk of one message, and one of several, piece by piece: all
	// bytes come in their order, and together they cost what the chunk does.
	const text = "hello, world"
	var several []byte
	for _, m := range []string{"hello", "", ", ", "world"} {
		several = append(wire.AppendTunnelLength(several, len(m)), m...)
	}
	for size := 1; size <= len(text)+1; size++ {
		for _, c := range []chunk{{data: []byte(text)}, {data: append([]byte(nil), several...), several: true}} {
			c.cost = int32(credit.Cost(len(c.data)))
			var got []byte
			sum, over := 0, false
			for b := make([]byte, size); !over; {
				var n, cost int
				n, cost, over = c.copyTo(b)
				got, sum = append(got, b[:n]...), sum+cost
			}
			require.Equal(t, text, string(got), size)
			require.Equal(t, credit.Cost(len(c.data)), sum, size)
		}
	}
}
