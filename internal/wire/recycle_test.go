// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package wire_test

import (
	"bytes"
	"io"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/internal/wire"
)

// TestFramesThatNobodyKeepsAreReadInPlace proves that a body which is given back
// costs nothing, that one which is not stays as it is whatever follows, and that
// frames of its kind are copied from then on: a kept body must not hold on to the
// whole buffer each time.
func TestFramesThatNobodyKeepsAreReadInPlace(t *testing.T) {
	const kept, used = wire.KindPublish, wire.KindRequest
	var stream []byte
	for i := range 20_000 {
		k := used
		if i%3 == 0 {
			k = kept
		}
		stream = wire.AppendFrame(stream, wire.LaneRPC, k, bytes.Repeat([]byte{byte(i)}, i%1500))
	}
	fr := wire.NewFrameReader(&pieces{stream, 16 << 10})
	bodies := make(map[int][]byte)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for i := range 20_000 {
		_, k, body, err := fr.Next()
		require.NoError(t, err)
		if len(body) != i%1500 || len(body) > 0 && body[0] != byte(i) {
			require.FailNow(t, "another body", "%d", i)
		}
		if k == kept {
			bodies[i] = body
			continue
		}
		fr.Recycle()
	}
	runtime.ReadMemStats(&after)
	size := 0
	for i, b := range bodies {
		size += len(b)
		require.Equal(t, bytes.Repeat([]byte{byte(i)}, i%1500), b)
	}
	require.Less(t, int(after.TotalAlloc-before.TotalAlloc), 2*size, "what was kept, and little more")
}

// TestKeptFramesTakeLittleMoreThanTheirBytes proves that a stream of frames which are
// all kept does not have the reader give its buffer away time and again.
func TestKeptFramesTakeLittleMoreThanTheirBytes(t *testing.T) {
	const count = 8_000
	for _, size := range []int{16, 192, 1024, 4096} {
		frame := wire.AppendFrame(nil, wire.LanePub, wire.KindPublish, make([]byte, size))
		fr := wire.NewFrameReader(bytes.NewReader(bytes.Repeat(frame, count)))
		bodies := make([][]byte, count)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		for i := range bodies {
			_, _, body, err := fr.Next()
			if err != nil || len(body) != size {
				require.FailNow(t, "another body", "%d bytes: %v", size, err)
			}
			bodies[i] = body
			body[0], body[size-1] = byte(i), byte(i)
		}
		runtime.ReadMemStats(&after)
		for i, body := range bodies {
			require.Equal(t, []byte{byte(i), byte(i)}, []byte{body[0], body[size-1]})
		}
		taken := float64(after.TotalAlloc-before.TotalAlloc) / count
		require.Less(t, taken, 1.05*float64(size)+60, "%d bytes", size) // 257 of its buffer, if every 255th frame took one
	}
}

// TestBufferedIsWhatNextNeedNotWaitFor proves that Buffered says of each frame whether
// all of it has been read.
func TestBufferedIsWhatNextNeedNotWaitFor(t *testing.T) {
	frame := wire.AppendFrame(nil, wire.LanePub, wire.KindPublish, make([]byte, 95))
	stream := bytes.Repeat(frame, 100)
	for _, kept := range []bool{false, true} {
		p := &pieces{stream, 777}
		fr := wire.NewFrameReader(p)
		waits := 0
		for i := range 100 {
			buffered := len(stream)-len(p.rest) >= (i+1)*len(frame)
			require.Equal(t, buffered, fr.Buffered(), "frame %d", i)
			if !buffered {
				waits++
			}
			_, _, _, err := fr.Next()
			require.NoError(t, err)
			if !kept {
				fr.Recycle()
			}
		}
		require.Greater(t, waits, 10)
		_, _, _, err := fr.Next()
		require.Equal(t, io.EOF, err)
		require.False(t, fr.Buffered())
	}
}

// TestAReaderThatWaitsKeepsLittle proves that a stream on which little comes does not
// hold on to the memory that a burst has needed.
func TestAReaderThatWaitsKeepsLittle(t *testing.T) {
	frame := wire.AppendFrame(nil, wire.LaneRPC, wire.KindRequest, make([]byte, 100))
	burst := bytes.Repeat(frame, 10_000)
	trickle := bytes.Repeat(frame, 1000)
	fr := wire.NewFrameReader(io.MultiReader(bytes.NewReader(burst), &pieces{trickle, len(frame)}))
	for range 10_000 {
		_, _, _, err := fr.Next()
		require.NoError(t, err)
		fr.Recycle()
	}
	require.GreaterOrEqual(t, fr.Memory(), 64<<10)
	for range 1000 {
		_, _, _, err := fr.Next()
		require.NoError(t, err)
		fr.Recycle()
	}
	require.LessOrEqual(t, fr.Memory(), 4<<10)
}

// TestALongChunkIsReadIntoAgain proves that the memory of a long chunk of a tunnel
// which nobody keeps serves for the next one, as at a relay that passes it on, and
// that one which is kept stays as it is.
func TestALongChunkIsReadIntoAgain(t *testing.T) {
	const count, size = 400, 64 << 10
	var stream []byte
	for i := range count {
		stream = wire.AppendFrame(stream, wire.LaneBulk, wire.KindTunnelData, bytes.Repeat([]byte{byte(i)}, size))
	}
	fr := wire.NewFrameReader(bytes.NewReader(stream))
	fr.Share(&wire.Bodies{})
	var kept []byte
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for i := range count {
		_, _, body, err := fr.Next()
		require.NoError(t, err)
		require.Equal(t, []any{size, byte(i), byte(i)}, []any{len(body), body[0], body[size-1]})
		if i == count/2 {
			kept = body
			continue
		}
		fr.Recycle()
	}
	runtime.ReadMemStats(&after)
	require.Equal(t, bytes.Repeat([]byte{count / 2}, size), kept)
	// The race detector has a sync.Pool forget a quarter.
	require.Less(t, int(after.TotalAlloc-before.TotalAlloc), count/2*size)
}

// TestLongChunksInARowAreReadWhereTheyStay proves that of chunks which follow each other
// and are equally long nothing is read to be copied: each read is of one frame at most.
// Whatever comes instead of the next one is what it is.
func TestLongChunksInARowAreReadWhereTheyStay(t *testing.T) {
	const count, long, short = 64, 64 << 10, 50 << 10
	var stream []byte
	var want [][]byte
	add := func(k wire.Kind, n int) {
		body := bytes.Repeat([]byte{byte(len(want))}, n)
		want = append(want, body)
		stream = wire.AppendFrame(stream, wire.LaneBulk, k, body)
	}
	for range count {
		add(wire.KindTunnelData, long)
	}
	row := len(stream)
	for i := range 5 * count {
		switch i % 5 {
		case 0, 1, 2:
			add(wire.KindTunnelData, long-i%2*(long-short)*(i/count%2))
		case 3:
			add(wire.KindTunnelCredit, 21)
		default:
			add(wire.KindTunnelData, i)
		}
	}
	for _, piece := range []int{1 << 20, 36 << 10, 4097} {
		reads := &pieces{stream, piece}
		widest := 0
		fr := wire.NewFrameReader(readerFunc(func(p []byte) (int, error) {
			if left := len(reads.rest); left < len(stream)-3*long && len(stream)-left < row-2*long {
				widest = max(widest, len(p))
			}
			return reads.Read(p)
		}))
		fr.Share(new(wire.Bodies))
		var kept [][]byte
		for i, body := range want {
			lane, _, got, err := fr.Next()
			require.NoError(t, err)
			require.Equal(t, wire.LaneBulk, lane)
			if !bytes.Equal(body, got) {
				require.FailNow(t, "another body", "%d: %d bytes", i, len(got))
			}
			if i%3 == 0 {
				kept = append(kept, got)
				continue
			}
			fr.Recycle()
		}
		_, _, _, err := fr.Next()
		require.Equal(t, io.EOF, err)
		for i, body := range kept {
			require.Equal(t, want[3*i], body, "what is kept stays")
		}
		require.LessOrEqual(t, widest, wire.FrameOverhead+long)
	}
}

// TestAStreamThatEndsInARowOfLongChunks proves that the end is told as elsewhere.
func TestAStreamThatEndsInARowOfLongChunks(t *testing.T) {
	var stream []byte
	for range 3 {
		stream = wire.AppendFrame(stream, wire.LaneBulk, wire.KindTunnelData, make([]byte, 64<<10))
	}
	for _, more := range []int{1, wire.FrameOverhead, 60 << 10} {
		fr := wire.NewFrameReader(bytes.NewReader(append(bytes.Clone(stream), stream[:more]...)))
		fr.Share(new(wire.Bodies))
		for range 3 {
			_, _, _, err := fr.Next()
			require.NoError(t, err)
		}
		_, _, _, err := fr.Next()
		require.Equal(t, io.ErrUnexpectedEOF, err, "%d bytes", more)
	}
	fr := wire.NewFrameReader(bytes.NewReader(append(stream, 0xff, 0xff, 0xff, 0xff, 0)))
	fr.Share(new(wire.Bodies))
	for range 3 {
		_, _, _, err := fr.Next()
		require.NoError(t, err)
	}
	_, _, _, err := fr.Next()
	require.ErrorIs(t, err, wire.ErrFrameTooLarge)
}

type readerFunc func(p []byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }
