// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package wire_test

import (
	"bytes"
	"math/rand/v2"
	"runtime"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/internal/wire"
)

// frames is count frames of n bytes each, all of them the same byte: which one of 251
// it is.
func frames(k wire.Kind, count, n int) (stream []byte) {
	for i := range count {
		stream = wire.AppendFrame(stream, wire.LaneBulk, k, bytes.Repeat([]byte{byte(i % 251)}, n))
	}
	return stream
}

// keep reads count frames and keeps what mine says.
func keep(t *testing.T, fr *wire.FrameReader, count, n int, mine func(i int, body []byte)) {
	for i := range count {
		_, _, body, err := fr.Next()
		require.NoError(t, err)
		if len(body) != n || body[0] != byte(i%251) || body[n-1] != byte(i%251) {
			require.FailNow(t, "another body", "%d: %d bytes", i, len(body))
		}
		mine(i, body)
	}
}

// TestWhatWasKeptIsReadIntoAgain proves that the memory of long frames that somebody
// keeps for a moment serves for those that come later, once nobody has it: publications,
// and what programs receive from tunnels.
func TestWhatWasKeptIsReadIntoAgain(t *testing.T) {
	const count, size = 64, 60 << 10
	for name, kind := range map[string]wire.Kind{"publications": wire.KindPublish, "chunks": wire.KindTunnelData} {
		t.Run(name, func(t *testing.T) {
			var shared wire.Bodies
			fr := wire.NewFrameReader(bytes.NewReader(bytes.Repeat(frames(kind, count, size), 2)))
			fr.Share(&shared)
			was := make(map[uintptr]bool) // which holds on to nothing
			var kept [][]byte             // so that none is read into again before the last one came
			keep(t, fr, count, size, func(_ int, body []byte) {
				was[uintptr(unsafe.Pointer(&body[0]))] = true
				kept = append(kept, body)
			})
			require.GreaterOrEqual(t, shared.Held(), count-2) // the first one lay in the reader's buffer
			runtime.KeepAlive(kept)

			runtime.GC()
			require.Eventually(t, func() bool { return shared.Held() <= 2 }, 20*time.Second, time.Millisecond)
			again := 0
			keep(t, fr, count, size, func(_ int, body []byte) {
				if was[uintptr(unsafe.Pointer(&body[0]))] {
					again++
				}
			})
			require.Greater(t, again, count/4) // the race detector has a sync.Pool forget a quarter, and again
		})
	}
}

// TestWhatIsKeptStays proves that a body is as it was for as long as somebody has a part
// of it, whatever comes meanwhile.
func TestWhatIsKeptStays(t *testing.T) {
	const count, size = 3_000, 50 << 10
	fr := wire.NewFrameReader(bytes.NewReader(frames(wire.KindPublish, count, size)))
	fr.Share(new(wire.Bodies))
	type part struct {
		b []byte
		i int
	}
	random := rand.New(rand.NewPCG(1, 2))
	var parts []part
	look := func(p part) {
		require.Equal(t, bytes.Repeat([]byte{byte(p.i % 251)}, len(p.b)), p.b)
	}
	keep(t, fr, count, size, func(i int, body []byte) {
		at := random.IntN(size - 100)
		parts = append(parts, part{body[at : at+100], i})
		if len(parts) > 100 {
			gone := random.IntN(len(parts))
			look(parts[gone])
			parts[gone] = parts[len(parts)-1]
			parts = parts[:len(parts)-1]
		}
		if i%50 == 0 {
			runtime.GC()
		}
	})
	for _, p := range parts {
		look(p)
	}
}

// TestWhoKeepsEverythingTakesItsBytes proves that what will be read into again is
// bounded, and that frames beyond it are kept in no more than their own memory.
func TestWhoKeepsEverythingTakesItsBytes(t *testing.T) {
	const count, size = 2_400, 49 << 10
	stream := frames(wire.KindPublish, count, size)
	var shared wire.Bodies
	fr := wire.NewFrameReader(bytes.NewReader(stream))
	fr.Share(&shared)
	all := make([][]byte, 0, count)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	keep(t, fr, count, size, func(_ int, body []byte) { all = append(all, body) })
	runtime.ReadMemStats(&after)
	require.LessOrEqual(t, shared.Held(), 32<<20/(72<<10))
	require.Less(t, int(after.TotalAlloc-before.TotalAlloc), count*size*5/4)
	for i, b := range all {
		require.Equal(t, bytes.Repeat([]byte{byte(i % 251)}, size), b)
	}
}
