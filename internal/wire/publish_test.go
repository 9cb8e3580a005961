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
	checkVectors(t, "publish.txt", wire.DecodePublish, (*wire.Publish).AppendTo, func(t *testing.T, v vector, got wire.Publish) wire.Publish {
		want := wire.Publish{
			Session: v.number(t, "session", 64), Run: uint32(v.number(t, "run", 32)),
			Epoch: uint32(v.number(t, "epoch", 32)), Number: v.number(t, "number", 64),
			Flags: uint8(v.number(t, "flags", 8)), Batch: uint8(v.number(t, "batch", 8)), Source: v.text("source"),
			Origin: wire.Origin{
				Peer: v.text("origin"), Incarnation: v.number(t, "incarnation", 64), Serial: v.number(t, "serial", 64),
				Networks: v.fields["network"],
			},
			Topic: v.text("topic"), Headers: v.headers(t), Body: v.hex(t, "body"), Tail: got.Tail, Content: got.Content,
		}
		if text := v.text("signature"); text != "" {
			want.Signature = []byte(text)
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
		require.Equal(t, v.bytes, append(got.AppendHead(nil), got.Tail...))
		return want
	})
}

func scan(t *testing.T, s string, into ...any) {
	t.Helper()
	_, err := fmt.Sscan(s, into...)
	require.NoError(t, err)
}

// TestPublishMarkVectors proves the layout of marks in both directions.
func TestPublishMarkVectors(t *testing.T) {
	checkVectors(t, "publishmark.txt", wire.DecodePublishMark, (*wire.PublishMark).AppendTo, func(t *testing.T, v vector, _ wire.PublishMark) wire.PublishMark {
		return wire.PublishMark{
			Session: v.number(t, "session", 64), Run: uint32(v.number(t, "run", 32)),
			Number: v.number(t, "number", 64), Flags: uint8(v.number(t, "flags", 8)), Source: v.text("source"), Group: v.text("group"),
		}
	})
}

// TestPathVectors proves the layout of paths in both directions.
func TestPathVectors(t *testing.T) {
	checkVectors(t, "path.txt", wire.DecodePath, (*wire.Path).AppendTo, func(t *testing.T, v vector, got wire.Path) wire.Path {
		want := wire.Path{
			Session: v.number(t, "session", 64), Run: uint32(v.number(t, "run", 32)), Number: v.number(t, "number", 64),
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
		return want
	})
}

// TestPathLostVectors proves the layout of lost paths in both directions.
func TestPathLostVectors(t *testing.T) {
	checkVectors(t, "pathlost.txt", wire.DecodePathLost, (*wire.PathLost).AppendTo, func(t *testing.T, v vector, _ wire.PathLost) wire.PathLost {
		return wire.PathLost{
			Session: v.number(t, "session", 64), Epoch: uint32(v.number(t, "epoch", 32)), Peer: v.text("peer"),
		}
	})
}

// TestPublicationsCostOneAllocation proves the cost of the hot path: the topic.
func TestPublicationsCostOneAllocation(t *testing.T) {
	m := wire.Publish{Session: 1, Run: 1, Number: 1, Batch: 1, Topic: "a.b.c", Body: make([]byte, 1000)}
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
