// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package tunnel

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/internal/wire"
)

func TestBuffersAreApartAndBounded(t *testing.T) {
	// This test copies chunks of any length into buffers and gives these back in
	// any order: none is given out twice, and what is kept is bounded. What is no
	// buffer is not taken.
	rng := rand.New(rand.NewPCG(5, 1))
	var b buffers
	var held, want [][]byte
	for i := range 20_000 {
		if len(held) > 2000 || rng.IntN(3) == 0 && len(held) > 0 {
			at := rng.IntN(len(held))
			require.Equal(t, want[at], held[at])
			b.put(held[at])
			held[at], want[at] = held[len(held)-1], want[len(want)-1]
			held, want = held[:len(held)-1], want[:len(want)-1]
			continue
		}
		chunk := bytes.Repeat([]byte{byte(i)}, rng.IntN(shortChunk))
		held, want = append(held, b.copyOf(chunk)), append(want, chunk)
	}
	for _, buffer := range held {
		b.put(buffer)
	}
	require.LessOrEqual(t, b.bytes, spareBytes)
	require.Greater(t, b.bytes, spareBytes/2)

	before := b.bytes
	for _, n := range []int{0, bufferStep + 1, 2 * shortChunk} {
		b.put(make([]byte, 0, n))
	}
	require.Equal(t, before, b.bytes)
}

func TestAShortChunkForARelayCostsNoAllocation(t *testing.T) {
	// This test has short chunks come for a relay, which takes them and gives them
	// back: their bytes go round. A program keeps what it receives.
	r := newRig(t, false)
	tunnel := r.open()
	r.link.quiet = true
	frame := wire.TunnelData{ID: tunnel.id, Flags: wire.FlagLast, Payload: bytes.Repeat([]byte("x"), 1000)}.AppendTo(nil)
	require.True(t, r.engine.handleData(r.link, bytes.Clone(frame)), "the program has it")
	_, err := tunnel.Receive(t.Context())
	require.NoError(t, err)

	tunnel.Notify(func() {})
	pass := func() {
		if r.engine.handleData(r.link, frame) {
			panic("BUG: the body is kept")
		}
		chunk, _, more, err := tunnel.Take()
		if err != nil || !more || len(chunk) != 1000 {
			panic(err)
		}
		tunnel.Return(len(chunk))
		tunnel.Recycle(chunk)
	}
	if allocs := testing.AllocsPerRun(2000, pass); !raceEnabled {
		require.Less(t, allocs, 1.0)
	}
	require.NoError(t, tunnel.Err())
	require.NoError(t, tunnel.Close())
}
