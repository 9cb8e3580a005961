// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package wire_test

import (
	"bytes"
	"fmt"
	"strings"
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
			Flags: uint8(v.number(t, "flags", 8)), Source: v.text("source"),
			Origin: wire.Origin{
				Peer: v.text("origin"), Incarnation: v.number(t, "incarnation", 64), Serial: v.number(t, "serial", 64),
				Networks: v.fields["network"],
			},
			Messages: messagesOf(t, v), Tail: got.Tail, Count: 1 + len(v.fields["more"]), Named: 1,
		}
		for _, more := range v.fields["more"] {
			if !strings.HasPrefix(more, "-") {
				want.Named++
			}
		}
		if text := v.text("signature"); text != "" {
			f := &want.Forwarder
			f.Signature = bytes.Repeat(unhex(t, text), wire.ProofSize)
			scan(t, v.text("at"), &f.Serial, &f.Floor, &f.Rank)
		}
		for _, s := range v.fields["skip"] {
			var skip wire.Skip
			scan(t, s, &skip.Index, &skip.Add)
			want.Skips = append(want.Skips, skip)
		}
		require.Equal(t, v.bytes, append(got.AppendHead(nil), got.Tail...))
		return want
	})
}

// messagesOf encodes the messages of a vector: the first one by fields, of those in
// "more" the topic, or -, and the body.
func messagesOf(t *testing.T, v vector) (ms wire.Messages) {
	var picks []wire.Pick
	for _, s := range v.fields["pick"] {
		var pick wire.Pick
		scan(t, s, &pick.Queue, &pick.Node, &pick.Serial)
		picks = append(picks, pick)
	}
	add := func(topic string, picks []wire.Pick, hs []wire.Header, body []byte) {
		tail := wire.AppendTail(nil, hs, body)
		ms = append(wire.AppendMessage(ms, topic, picks, len(tail)), tail...)
	}
	add(v.text("topic"), picks, v.headers(t), v.hex(t, "body"))
	for _, more := range v.fields["more"] {
		topic, body, _ := strings.Cut(more, " ")
		add(strings.TrimPrefix(topic, "-"), nil, nil, []byte(body))
	}
	return ms
}

// TestMessagesAreTakenOutOneByOneOrByTopic proves what those get who take the
// messages of a frame apart: topics and picks are those of the message before
// where a message names none, and messages that have the same leave together.
func TestMessagesAreTakenOutOneByOneOrByTopic(t *testing.T) {
	var ms wire.Messages
	pick := []wire.Pick{{Queue: 1, Node: 2}}
	for _, m := range []struct {
		topic string
		picks []wire.Pick
	}{{"a", nil}, {"", nil}, {"a", nil}, {"a", pick}, {"", nil}, {"b", nil}} {
		content := []byte{0, 0, byte(len(ms))}
		ms = append(wire.AppendMessage(ms, m.topic, m.picks, len(content)), content...)
	}
	b := (&wire.Publish{Number: 1, Messages: ms}).AppendTo(nil)
	m, err := wire.DecodePublish(b)
	require.NoError(t, err)
	require.Equal(t, 6, m.Count)
	require.Equal(t, 4, m.Named)

	var topics []string
	last := wire.Message{}
	for rest := m.Messages; len(rest) > 0; {
		last = rest.Next(last)
		topics = append(topics, fmt.Sprint(string(last.Topic), len(last.Picks)/24))
	}
	require.Equal(t, []string{"a0", "a0", "a0", "a1", "a1", "b0"}, topics)

	var runs []string
	for rest := m.Messages; len(rest) > 0; {
		first, same, count := m.Cut(&rest)
		runs = append(runs, fmt.Sprint(string(first.Topic), count))
		next, err := wire.DecodePublish((&wire.Publish{Number: 1, Messages: same}).AppendTo(nil))
		require.NoError(t, err, "it begins with a name")
		require.Equal(t, count, next.Count)
	}
	require.Equal(t, []string{"a3", "a2", "b1"}, runs)
}

// TestManyMessagesAreNoMoreThanAFrame proves that a message may be as long as a
// link carries it, but several together only as long as one frame.
func TestManyMessagesAreNoMoreThanAFrame(t *testing.T) {
	encoded := func(sizes ...int) []byte {
		m := wire.Publish{Number: 1}
		for _, n := range sizes {
			m.Messages = append(wire.AppendMessage(m.Messages, "a", nil, n), make([]byte, n)...)
		}
		return m.AppendTo(nil)
	}
	_, err := wire.DecodePublish(encoded(10 * wire.MaxPayload))
	require.NoError(t, err)
	_, err = wire.DecodePublish(encoded(100, wire.MaxPayload-200))
	require.NoError(t, err)
	_, err = wire.DecodePublish(encoded(100, wire.MaxPayload))
	require.ErrorIs(t, err, wire.ErrMalformed)
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
			scan(t, text, &s.Peer, &s.Incarnation, &s.Run, &s.Number, &s.Ahead, &addr, &i.Pattern, &i.Queue, &i.Weight, &i.Signed)
			s.Addrs, s.Interests = []string{addr}, []wire.Interest{i}
			want.Stops = append(want.Stops, s)
			without := got
			without.Stops = nil
			require.Equal(t, size-len(without.AppendTo(nil)), s.Size())
		}
		want.Proof = proofOf(t, v)
		return want
	})
}

// proofOf reads the proof of a vector.
func proofOf(t *testing.T, v vector) wire.PathProof {
	p := wire.PathProof{
		Base: v.number(t, "base", 64), Incarnation: v.number(t, "incarnation", 64), Serial: v.number(t, "serial", 64), Floor: v.number(t, "floor", 64),
	}
	if text := v.text("certificate"); text != "" {
		p.Certificate = []byte(text)
	}
	if text := v.text("behind"); text != "" {
		p.Behind = bytes.Repeat(unhex(t, text), wire.DigestSize)
	}
	if text := v.text("signature"); text != "" {
		copy(p.Signature[:], bytes.Repeat(unhex(t, text), wire.ProofSize))
	}
	audit := func(text string) (out [][wire.DigestSize]byte) {
		for _, digits := range strings.Split(strings.TrimPrefix(text, "-"), ",") {
			if digits != "" {
				out = append(out, [wire.DigestSize]byte(bytes.Repeat(unhex(t, digits), wire.DigestSize)))
			}
		}
		return out
	}
	hashes := ""
	if text := v.text("top"); text != "" {
		scan(t, text, &p.Top.Index, &p.Top.Count, &hashes)
		p.Top.Audit = audit(hashes)
	}
	for _, text := range v.fields["step"] {
		s := wire.PathStep{}
		scan(t, text, &s.Peer, &s.Run, &s.Number, &s.Next.Index, &s.Next.Count, &hashes)
		s.Next.Audit = audit(hashes)
		p.Steps = append(p.Steps, s)
	}
	return p
}

// TestPathLostVectors proves the layout of lost paths in both directions.
func TestPathLostVectors(t *testing.T) {
	checkVectors(t, "pathlost.txt", wire.DecodePathLost, (*wire.PathLost).AppendTo, func(t *testing.T, v vector, _ wire.PathLost) wire.PathLost {
		return wire.PathLost{
			Session: v.number(t, "session", 64), Epoch: uint32(v.number(t, "epoch", 32)), Peer: v.text("peer"),
		}
	})
}

// TestPublishAskVectors proves the layout of questions behind a publication in both
// directions.
func TestPublishAskVectors(t *testing.T) {
	checkVectors(t, "publishask.txt", wire.DecodePublishAsk, func(m *wire.PublishAsk, dst []byte) []byte { return m.AppendTo(dst) }, func(t *testing.T, v vector, _ wire.PublishAsk) wire.PublishAsk {
		return wire.PublishAsk{ID: v.number(t, "id", 64)}
	})
}

// TestPublicationsCostNoAllocation proves the cost of the hot path.
func TestPublicationsCostNoAllocation(t *testing.T) {
	m := wire.Publish{Session: 1, Run: 1, Number: 1}
	for range 20 {
		m.Messages = append(wire.AppendMessage(m.Messages, "a.b.c", nil, 1000), make([]byte, 1000)...)
	}
	b, buf := m.AppendTo(nil), make([]byte, 0, 64<<10)
	require.Zero(t, testing.AllocsPerRun(100, func() {
		got, _ := wire.DecodePublish(b)
		for rest := got.Messages; len(rest) > 0; {
			got.Cut(&rest)
		}
	}))
	require.Zero(t, testing.AllocsPerRun(100, func() { buf = m.AppendTo(buf[:0]) }))
}

// FuzzDecodePublish proves that no bytes make the decoder panic, that each frame
// has one encoding only, and that the messages in it are those that were counted,
// whether they are taken out one by one or by topic, and have one encoding each.
func FuzzDecodePublish(f *testing.F) {
	fuzzDecoder(f, "publish.txt", wire.DecodePublish, func(m *wire.Publish, dst []byte) []byte {
		var again wire.Messages
		count, last := 0, wire.Message{}
		for rest := m.Messages; len(rest) > 0; count++ {
			last = rest.Next(last)
			topic, picks := "", []wire.Pick(nil)
			if last.Named {
				topic, picks = string(last.Topic), last.Picks.AppendTo(nil)
			}
			again = append(wire.AppendMessage(again, topic, picks, len(last.Content)), last.Content...)
			if _, _, err := wire.DecodeHeaders(last.Content); err != nil {
				panic("headers were not checked")
			}
		}
		for rest := m.Messages; len(rest) > 0; {
			_, _, n := m.Cut(&rest)
			count -= n
		}
		if count != 0 {
			panic("there are more messages, or fewer")
		}
		m.Messages = again
		return m.AppendTo(dst)
	})
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

// FuzzDecodePublishAsk proves the same for questions behind a publication.
func FuzzDecodePublishAsk(f *testing.F) {
	fuzzDecoder(f, "publishask.txt", wire.DecodePublishAsk, func(m *wire.PublishAsk, dst []byte) []byte { return m.AppendTo(dst) })
}
