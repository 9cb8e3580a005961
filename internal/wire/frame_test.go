// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package wire_test

import (
	"bytes"
	"errors"
	"io"
	"strconv"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/internal/wire"
)

// TestFrameVectors proves that frames are laid out as written down, in both
// directions, and that what is no frame is refused for the right reason.
func TestFrameVectors(t *testing.T) {
	forEachVector(t, "frame.txt", func(t *testing.T, v vector) {
		lane, kind, body, err := wire.NewFrameReader(bytes.NewReader(v.bytes)).Next()
		if v.refused(t, err) {
			return
		}
		require.Equal(t, wire.Kind(v.number(t, "kind", 8)), kind)
		require.Equal(t, v.hex(t, "body"), body)
		require.Equal(t, wire.Lane(v.number(t, "lane", 8)), lane)
		require.Equal(t, v.bytes, wire.AppendFrame(nil, lane, kind, body))
	})
}

// TestFramesSurviveAnyCutOfTheStream proves that frames come out whole and in
// order however the bytes arrive.
func TestFramesSurviveAnyCutOfTheStream(t *testing.T) {
	var stream []byte
	bodies := [][]byte{
		{}, {1}, bytes.Repeat([]byte{2}, 1000), bytes.Repeat([]byte{3}, wire.MaxFrame-1), {}, {4, 5},
	}
	for i, b := range bodies {
		stream = wire.AppendFrame(stream, wire.LaneRPC, wire.Kind(i+1), b)
	}
	for name, r := range map[string]io.Reader{
		"at once":           bytes.NewReader(stream),
		"byte by byte":      iotest.OneByteReader(bytes.NewReader(stream)),
		"in halves":         iotest.HalfReader(bytes.NewReader(stream)),
		"error with data":   iotest.DataErrReader(bytes.NewReader(stream)),
		"byte and error":    iotest.DataErrReader(iotest.OneByteReader(bytes.NewReader(stream))),
		"in pieces of 1460": &pieces{stream, 1460},
	} {
		t.Run(name, func(t *testing.T) {
			fr := wire.NewFrameReader(r)
			for i, want := range bodies {
				_, kind, body, err := fr.Next()
				require.NoError(t, err)
				require.Equal(t, wire.Kind(i+1), kind)
				require.True(t, bytes.Equal(want, body))
				require.NotNil(t, body)
			}
			_, _, _, err := fr.Next()
			require.Equal(t, io.EOF, err)
		})
	}
}

// pieces is a reader that gives at most n bytes at a time.
type pieces struct {
	rest []byte
	n    int
}

func (p *pieces) Read(b []byte) (int, error) {
	if len(p.rest) == 0 {
		return 0, io.EOF
	}
	n := copy(b, p.rest[:min(p.n, len(p.rest))])
	p.rest = p.rest[n:]
	return n, nil
}

// TestPartsOfAFrameAreJoined proves that a body may be given in pieces, so that
// a payload need not be copied behind its head first.
func TestPartsOfAFrameAreJoined(t *testing.T) {
	joined := wire.AppendFrame([]byte("before"), wire.LaneRPC, wire.KindReply, []byte("ab"), nil, []byte("c"))
	require.Equal(t, wire.AppendFrame([]byte("before"), wire.LaneRPC, wire.KindReply, []byte("abc")), joined)
}

// TestBodiesBelongToTheCaller proves that no body shares memory with another
// one or with the reader's buffer.
func TestBodiesBelongToTheCaller(t *testing.T) {
	var stream []byte
	for i := range 3 {
		stream = wire.AppendFrame(stream, wire.LaneRPC, wire.KindRequest, bytes.Repeat([]byte{byte(i)}, 10))
	}
	fr := wire.NewFrameReader(bytes.NewReader(stream))
	var bodies [][]byte
	for i := range 3 {
		_, _, body, err := fr.Next()
		require.NoError(t, err)
		for _, b := range bodies {
			_ = append(b, 0xff, 0xff)
		}
		require.Equal(t, bytes.Repeat([]byte{byte(i)}, 10), body)
		bodies = append(bodies, body)
	}
	bodies[0][0] = 0xff
	require.Equal(t, byte(1), bodies[1][0])
}

// TestFrameErrorsAreFinal proves that a reader never goes on in the middle of
// a frame, also not when the stream would have more to give.
func TestFrameErrorsAreFinal(t *testing.T) {
	good := wire.AppendFrame(nil, wire.LaneRPC, wire.KindBeat)
	broken := errors.New("broken")
	for name, r := range map[string]io.Reader{
		"too large":     bytes.NewReader(append([]byte{0xff, 0, 0, 0, 1}, good...)),
		"without kind":  bytes.NewReader(append([]byte{0, 0, 0, 0}, good...)),
		"read error":    io.MultiReader(bytes.NewReader([]byte{0, 0, 0, 9, 1, 1}), &failOnce{err: broken}, bytes.NewReader(good)),
		"end in a body": bytes.NewReader([]byte{0, 0, 0, 9, 1, 1}),
	} {
		t.Run(name, func(t *testing.T) {
			fr := wire.NewFrameReader(r)
			_, _, _, err := fr.Next()
			require.Error(t, err)
			for range 3 {
				_, _, _, again := fr.Next()
				require.Equal(t, err, again)
			}
		})
	}
}

type failOnce struct{ err error }

func (f *failOnce) Read([]byte) (int, error) {
	err := f.err
	f.err = io.EOF
	return 0, err
}

// TestAnOversizedFrameCostsNoMemory proves that a length is judged before
// memory is reserved for it.
func TestAnOversizedFrameCostsNoMemory(t *testing.T) {
	hostile := []byte{0xff, 0xff, 0xff, 0xff, 1}
	result := testing.Benchmark(func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			_, _, _, err := wire.NewFrameReader(bytes.NewReader(hostile)).Next()
			if err == nil {
				b.Fatal("accepted")
			}
		}
	})
	require.Less(t, result.AllocedBytesPerOp(), int64(128<<10)) // the reader's own buffer
}

// TestTooLargeFrameIsABug proves that AppendFrame never writes what the other
// side must refuse.
func TestTooLargeFrameIsABug(t *testing.T) {
	require.NotPanics(t, func() { wire.AppendFrame(nil, wire.LaneRPC, wire.KindReply, make([]byte, wire.MaxFrame-1)) })
	require.Panics(t, func() { wire.AppendFrame(nil, wire.LaneRPC, wire.KindReply, make([]byte, wire.MaxFrame)) })
}

// TestFramesCostOneAllocation proves the cost of the hot path: the body on
// reading, nothing on writing.
func TestFramesCostOneAllocation(t *testing.T) {
	const runs = 100
	body := make([]byte, 1000)
	var stream []byte
	for range runs + 1 {
		stream = wire.AppendFrame(stream, wire.LaneRPC, wire.KindRequest, body)
	}
	fr := wire.NewFrameReader(bytes.NewReader(stream))
	require.Equal(t, 1.0, testing.AllocsPerRun(runs, func() {
		if _, _, _, err := fr.Next(); err != nil {
			panic(err)
		}
	}))
	buf := make([]byte, 0, 2000)
	require.Zero(t, testing.AllocsPerRun(runs, func() {
		buf = wire.AppendFrame(buf[:0], wire.LaneRPC, wire.KindRequest, body[:10], body[10:])
	}))
}

// FuzzFrameReader proves that no stream makes the reader panic, and that what
// it accepts is exactly what AppendFrame writes.
func FuzzFrameReader(f *testing.F) {
	seedWith(f, "frame.txt")
	f.Fuzz(func(t *testing.T, stream []byte) {
		fr := wire.NewFrameReader(bytes.NewReader(stream))
		var again []byte
		for {
			lane, kind, body, err := fr.Next()
			if err != nil {
				break
			}
			again = wire.AppendFrame(again, lane, kind, body)
		}
		require.True(t, bytes.HasPrefix(stream, again))
	})
}

func BenchmarkFrames(b *testing.B) {
	for _, size := range []int{16, 1 << 10, 64 << 10} {
		b.Run(sizeName(size), func(b *testing.B) {
			body := make([]byte, size)
			frame := wire.AppendFrame(nil, wire.LaneRPC, wire.KindRequest, body)
			fr := wire.NewFrameReader(&endless{frame: frame})
			b.SetBytes(int64(size))
			b.ReportAllocs()
			for b.Loop() {
				if _, _, _, err := fr.Next(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// endless repeats one frame for ever.
type endless struct {
	frame []byte
	at    int
}

func (e *endless) Read(b []byte) (int, error) {
	n := 0
	for n < len(b) {
		m := copy(b[n:], e.frame[e.at:])
		n += m
		e.at = (e.at + m) % len(e.frame)
	}
	return n, nil
}

func sizeName(n int) string { return strconv.Itoa(n) + "B" }
