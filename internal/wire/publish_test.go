// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package wire_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/internal/wire"
)

// TestPublishVectors proves the layout of publications in both directions, and
// that the tail is what may be passed on as it came.
func TestPublishVectors(t *testing.T) {
	forEachVector(t, "publish.txt", func(t *testing.T, v vector) {
		got, err := wire.DecodePublish(v.bytes)
		if want := v.refused(t); want != nil {
			require.ErrorIs(t, err, want)
			return
		}
		require.NoError(t, err)
		want := wire.Publish{
			Session: v.number(t, "session", 64), Run: uint16(v.number(t, "run", 16)),
			Epoch: uint32(v.number(t, "epoch", 32)), Number: v.number(t, "number", 64),
			Flags: uint8(v.number(t, "flags", 8)), Source: v.text("source"), Publisher: v.text("publisher"),
			Life: v.number(t, "life", 64), Serial: v.number(t, "serial", 64),
			Topic: v.text("topic"), Headers: v.headers(t), Body: v.hex(t, "body"), Tail: got.Tail,
		}
		for _, s := range v.fields["skip"] {
			var skip wire.Skip
			scan(t, s, &skip.Index, &skip.Add)
			want.Skips = append(want.Skips, skip)
		}
		for _, s := range v.fields["pick"] {
			var pick wire.Pick
			scan(t, s, &pick.Queue, &pick.Node)
			want.Picks = append(want.Picks, pick)
		}
		require.Equal(t, want, got)
		require.Equal(t, v.bytes, got.AppendTo(nil))
		require.Equal(t, v.bytes, append(got.AppendHead(nil), got.Tail...))
	})
}

func scan(t *testing.T, s string, into ...any) {
	t.Helper()
	_, err := fmt.Sscan(s, into...)
	require.NoError(t, err)
}

// TestPublishMarkVectors proves the layout of marks in both directions.
func TestPublishMarkVectors(t *testing.T) {
	forEachVector(t, "publishmark.txt", func(t *testing.T, v vector) {
		got, err := wire.DecodePublishMark(v.bytes)
		if want := v.refused(t); want != nil {
			require.ErrorIs(t, err, want)
			return
		}
		require.NoError(t, err)
		require.Equal(t, wire.PublishMark{
			Session: v.number(t, "session", 64), Run: uint16(v.number(t, "run", 16)),
			Number: v.number(t, "number", 64), Source: v.text("source"), Group: v.text("group"),
		}, got)
		require.Equal(t, v.bytes, got.AppendTo(nil))
	})
}

// TestPathVectors proves the layout of paths in both directions.
func TestPathVectors(t *testing.T) {
	forEachVector(t, "path.txt", func(t *testing.T, v vector) {
		got, err := wire.DecodePath(v.bytes)
		if want := v.refused(t); want != nil {
			require.ErrorIs(t, err, want)
			return
		}
		require.NoError(t, err)
		want := wire.Path{
			Session: v.number(t, "session", 64), Run: uint16(v.number(t, "run", 16)), Number: v.number(t, "number", 64),
			Epoch: uint32(v.number(t, "epoch", 32)), Flags: uint8(v.number(t, "flags", 8)),
			Source: v.text("source"), Group: v.text("group"),
		}
		size := len(got.AppendTo(nil))
		for _, text := range v.fields["stop"] {
			s, addr, i := wire.Stop{}, "", wire.Interest{}
			scan(t, text, &s.Peer, &s.Incarnation, &s.Run, &s.Number, &addr, &i.Pattern, &i.Queue, &i.Weight)
			s.Addrs, s.Interests = []string{addr}, []wire.Interest{i}
			want.Stops = append(want.Stops, s)
			without := got
			without.Stops = nil
			require.Equal(t, size-len(without.AppendTo(nil)), s.Size())
		}
		require.Equal(t, want, got)
		require.Equal(t, v.bytes, got.AppendTo(nil))
	})
}

// TestPathLostVectors proves the layout of lost paths in both directions.
func TestPathLostVectors(t *testing.T) {
	forEachVector(t, "pathlost.txt", func(t *testing.T, v vector) {
		got, err := wire.DecodePathLost(v.bytes)
		if want := v.refused(t); want != nil {
			require.ErrorIs(t, err, want)
			return
		}
		require.NoError(t, err)
		require.Equal(t, wire.PathLost{
			Session: v.number(t, "session", 64), Epoch: uint32(v.number(t, "epoch", 32)), Peer: v.text("peer"),
		}, got)
		require.Equal(t, v.bytes, got.AppendTo(nil))
	})
}

// TestPublishPartVectors proves the layout of parts in both directions.
func TestPublishPartVectors(t *testing.T) {
	forEachVector(t, "publishpart.txt", func(t *testing.T, v vector) {
		got, err := wire.DecodePublishPart(v.bytes)
		if want := v.refused(t); want != nil {
			require.ErrorIs(t, err, want)
			return
		}
		require.NoError(t, err)
		require.Equal(t, wire.PublishPart{Flags: uint8(v.number(t, "flags", 8)), Piece: v.hex(t, "piece")}, got)
		require.Equal(t, v.bytes, got.AppendTo(nil))
	})
}

// TestPublishResumeVectors proves the layout of what says which frames follow,
// in both directions.
func TestPublishResumeVectors(t *testing.T) {
	forEachVector(t, "publishresume.txt", func(t *testing.T, v vector) {
		got, err := wire.DecodePublishResume(v.bytes)
		if want := v.refused(t); want != nil {
			require.ErrorIs(t, err, want)
			return
		}
		require.NoError(t, err)
		require.Equal(t, wire.PublishResume{
			Pipe: v.number(t, "pipe", 64), Incarnation: v.number(t, "incarnation", 64), First: v.number(t, "first", 64),
		}, got)
		require.Equal(t, v.bytes, got.AppendTo(nil))
	})
}

// TestPublishAckVectors proves the layout of acknowledgements in both
// directions.
func TestPublishAckVectors(t *testing.T) {
	forEachVector(t, "publishack.txt", func(t *testing.T, v vector) {
		got, err := wire.DecodePublishAck(v.bytes)
		if want := v.refused(t); want != nil {
			require.ErrorIs(t, err, want)
			return
		}
		require.NoError(t, err)
		require.Equal(t, wire.PublishAck{Pipe: v.number(t, "pipe", 64), Number: v.number(t, "number", 64)}, got)
		require.Equal(t, v.bytes, got.AppendTo(nil))
	})
}

// TestPublicationsCostOneAllocation proves the cost of the hot path: the topic.
func TestPublicationsCostOneAllocation(t *testing.T) {
	m := wire.Publish{Session: 1, Run: 1, Number: 1, Topic: "a.b.c", Body: make([]byte, 1000)}
	b, buf := m.AppendTo(nil), make([]byte, 0, 4096)
	require.Equal(t, 1.0, testing.AllocsPerRun(100, func() { _, _ = wire.DecodePublish(b) }))
	require.Zero(t, testing.AllocsPerRun(100, func() { buf = m.AppendTo(buf[:0]) }))
}

// FuzzDecodePublish proves that no bytes make the decoder panic, and that each
// message has one encoding only.
func FuzzDecodePublish(f *testing.F) {
	fuzzDecoder(f, "publish.txt", wire.DecodePublish, (*wire.Publish).AppendTo)
}

// FuzzDecodePath proves the same for paths, and so for interests.
func FuzzDecodePath(f *testing.F) {
	fuzzDecoder(f, "path.txt", wire.DecodePath, (*wire.Path).AppendTo)
}

// FuzzDecodePublishMark proves the same for marks.
func FuzzDecodePublishMark(f *testing.F) {
	fuzzDecoder(f, "publishmark.txt", wire.DecodePublishMark, (*wire.PublishMark).AppendTo)
}

// FuzzDecodePathLost proves the same for lost paths.
func FuzzDecodePathLost(f *testing.F) {
	fuzzDecoder(f, "pathlost.txt", wire.DecodePathLost, (*wire.PathLost).AppendTo)
}

// FuzzDecodePublishPart proves the same for parts.
func FuzzDecodePublishPart(f *testing.F) {
	fuzzDecoder(f, "publishpart.txt", wire.DecodePublishPart, (*wire.PublishPart).AppendTo)
}

// FuzzDecodePublishResume proves the same for what says which frames follow.
func FuzzDecodePublishResume(f *testing.F) {
	fuzzDecoder(f, "publishresume.txt", wire.DecodePublishResume, (*wire.PublishResume).AppendTo)
}

// FuzzDecodePublishAck proves the same for acknowledgements.
func FuzzDecodePublishAck(f *testing.F) {
	fuzzDecoder(f, "publishack.txt", wire.DecodePublishAck, (*wire.PublishAck).AppendTo)
}
