// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package wire_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/internal/wire"
)

// TestFragmentVectors proves the layout of fragments in both directions.
func TestFragmentVectors(t *testing.T) {
	checkVectors(t, "fragment.txt", wire.DecodeFragment, (*wire.Fragment).AppendTo, func(t *testing.T, v vector, got wire.Fragment) wire.Fragment {
		require.LessOrEqual(t, len(got.AppendHead(nil)), wire.MaxFragmentHead)
		return wire.Fragment{
			Channel: uint32(v.number(t, "channel", 32)),
			First:   v.text("first") == "true",
			Last:    v.text("last") == "true",
			Kind:    wire.Kind(v.number(t, "kind", 8)),
			Total:   uint32(v.number(t, "total", 32)),
			Payload: v.hex(t, "payload"),
		}
	})
}

// TestLargestFragmentFitsAFrame proves that the limits go together.
func TestLargestFragmentFitsAFrame(t *testing.T) {
	f := wire.Fragment{First: true, Kind: wire.KindReply, Total: 1 << 20, Payload: make([]byte, wire.MaxPayload)}
	frame := wire.AppendFrame(nil, wire.LaneRPC, wire.KindFragment, f.AppendTo(nil))
	_, _, body, err := wire.NewFrameReader(bytes.NewReader(frame)).Next()
	require.NoError(t, err)
	_, err = wire.DecodeFragment(body)
	require.NoError(t, err)
}

// TestRequestVectors proves the layout of requests in both directions.
func TestRequestVectors(t *testing.T) {
	checkVectors(t, "request.txt", wire.DecodeRequest, (*wire.Request).AppendTo, func(t *testing.T, v vector, got wire.Request) wire.Request {
		require.Equal(t, v.bytes, append(got.AppendHead(nil), got.Tail...))
		m := wire.Request{
			ID:          v.number(t, "id", 64),
			Member:      v.number(t, "member", 64),
			Incarnation: v.number(t, "incarnation", 64),
			Deadline:    v.number(t, "deadline", 64),
			Flags:       uint8(v.number(t, "flags", 8)) & (wire.FlagIdempotent | wire.FlagSealed),
			Attempt:     uint8(v.number(t, "attempt", 8)),
			Pattern:     uint8(v.number(t, "pattern", 8)),
			Tunnel:      v.number(t, "tunnel", 64),
			Tail:        v.tail(t, got.Tail),
		}
		if v.text("origin") != "" {
			m.Origin = &wire.Origin{
				Peer: string(v.hex(t, "origin")), Incarnation: v.number(t, "origin-incarnation", 64),
				Serial: v.number(t, "serial", 64), Networks: v.fields["network"],
			}
		}
		if v.text("cluster") != "" {
			m.Route = &wire.Route{
				Options: uint8(v.number(t, "options", 8)), Policy: uint8(v.number(t, "policy", 8)),
				StickyKey: v.text("sticky"), Cluster: v.text("cluster"),
				MaxReplies: uint32(v.number(t, "replies", 32)), MaxBytes: v.number(t, "bytes", 64),
			}
		}
		return m
	})
}

// tail checks that a tail is what the vector says it is: headers and body, or
// what was sealed.
func (v vector) tail(t *testing.T, got []byte) []byte {
	t.Helper()
	if v.text("tail") != "" {
		return v.hex(t, "tail")
	}
	headers, body, err := wire.SplitTail(got)
	require.NoError(t, err)
	require.Equal(t, v.headers(t), headers)
	require.Equal(t, v.hex(t, "body"), body)
	return wire.AppendTail(nil, headers, body)
}

// TestTailVectors proves which headers are refused where a tail is taken apart.
func TestTailVectors(t *testing.T) {
	forEachVector(t, "tail.txt", func(t *testing.T, v vector) {
		headers, body, err := wire.SplitTail(v.bytes)
		if v.refused(t, err) {
			return
		}
		require.Equal(t, v.headers(t), headers)
		require.Equal(t, v.bytes, wire.AppendTail(nil, headers, body))
	})
}

// TestReplyVectors proves the layout of replies in both directions, and with
// them the numbers and names of all outcomes.
func TestReplyVectors(t *testing.T) {
	outcomes, met := make(map[string]wire.Outcome), make(map[wire.Outcome]bool)
	for o := range wire.Outcome(wire.OutcomeCount) {
		outcomes[o.String()] = o
	}
	require.Len(t, outcomes, wire.OutcomeCount)
	checkVectors(t, "reply.txt", wire.DecodeReply, (*wire.Reply).AppendTo, func(t *testing.T, v vector, got wire.Reply) wire.Reply {
		outcome, ok := outcomes[v.text("outcome")]
		require.True(t, ok)
		met[outcome] = true
		require.Equal(t, v.bytes, append(got.AppendHead(nil), got.Tail...))
		m := wire.Reply{
			ID:            v.number(t, "id", 64),
			Outcome:       outcome,
			Flags:         uint8(v.number(t, "flags", 8)) &^ wire.FlagFrom,
			Queue:         uint32(v.number(t, "queue", 32)),
			Running:       uint32(v.number(t, "running", 32)),
			ServiceMicros: uint32(v.number(t, "service", 32)),
			Code:          uint32(v.number(t, "code", 32)),
			Tail:          v.tail(t, got.Tail),
		}
		if v.text("peer") != "" || v.text("attempts") != "" {
			m.From = &wire.From{Attempts: uint8(v.number(t, "attempts", 8)), Member: v.number(t, "member", 64), Peer: string(v.hex(t, "peer"))}
		}
		return m
	})
	require.Len(t, met, wire.OutcomeCount, "each outcome has a vector")
}

// TestCancelVectors proves the layout of cancellations in both directions.
func TestCancelVectors(t *testing.T) {
	checkVectors(t, "cancel.txt", wire.DecodeCancel, (*wire.Cancel).AppendTo, func(t *testing.T, v vector, _ wire.Cancel) wire.Cancel {
		return wire.Cancel{ID: v.number(t, "id", 64)}
	})
}

// TestHeadersAreJudgedBeforeTheyAreSent proves that CheckHeaders accepts
// exactly what decoders accept, and that an unchecked violation is loud.
func TestHeadersAreJudgedBeforeTheyAreSent(t *testing.T) {
	long := func(n int) string { return strings.Repeat("x", n) }
	for name, c := range map[string]struct {
		headers []wire.Header
		ok      bool
	}{
		"none":                {nil, true},
		"longest key":         {[]wire.Header{{Key: long(255)}}, true},
		"key too long":        {[]wire.Header{{Key: long(256)}}, false},
		"exactly the limit":   {[]wire.Header{{Value: long(wire.MaxHeaderBytes - 5)}}, true},
		"one byte more":       {[]wire.Header{{Value: long(wire.MaxHeaderBytes - 4)}}, false},
		"value beyond 16 bit": {[]wire.Header{{Value: long(1 << 16)}}, false},
		"many empty":          {make([]wire.Header, (wire.MaxHeaderBytes-2)/3), true},
		"one too many":        {make([]wire.Header, (wire.MaxHeaderBytes-2)/3+1), false},
	} {
		t.Run(name, func(t *testing.T) {
			if !c.ok {
				require.ErrorIs(t, wire.CheckHeaders(c.headers), wire.ErrHeadersTooLarge)
				require.Panics(t, func() { wire.AppendTail(nil, c.headers, nil) })
				return
			}
			require.NoError(t, wire.CheckHeaders(c.headers))
			got, _, err := wire.SplitTail(wire.AppendTail(nil, c.headers, nil))
			require.NoError(t, err)
			require.Equal(t, c.headers, got)
		})
	}
}

// TestBodyAliasesHeadersDoNot proves who owns what: a large body is not
// copied, while headers outlive the frame they came in.
func TestBodyAliasesHeadersDoNot(t *testing.T) {
	r := wire.Request{Tail: wire.AppendTail(nil, []wire.Header{{Key: "k", Value: "v"}}, []byte("body"))}
	b := r.AppendTo(nil)
	m, err := wire.DecodeRequest(b)
	require.NoError(t, err)
	headers, body, err := wire.SplitTail(m.Tail)
	require.NoError(t, err)
	for i := range b {
		b[i] = 'X'
	}
	require.Equal(t, []wire.Header{{Key: "k", Value: "v"}}, headers)
	require.Equal(t, "XXXX", string(body))
}

// TestMessagesCostNoAllocation proves the cost of the hot path: nothing
// without headers; with headers, the slice and one string for all of them.
func TestMessagesCostNoAllocation(t *testing.T) {
	const runs = 100
	body := make([]byte, 1000)
	headers := []wire.Header{{Key: "traceparent", Value: "00"}, {Key: "tracestate", Value: "x"}}
	tail := wire.AppendTail(nil, headers, body)
	request, answer := wire.Request{ID: 1, Tail: tail}, wire.Reply{ID: 1, Tail: tail}
	plain, reply := request.AppendTo(nil), answer.AppendTo(nil)
	fragment := wire.Fragment{Payload: body}.AppendTo(nil)
	buf := make([]byte, 0, 4096)
	for name, c := range map[string]struct {
		allocs float64
		f      func() error
	}{
		"decode request":  {0, func() error { _, err := wire.DecodeRequest(plain); return err }},
		"decode reply":    {0, func() error { _, err := wire.DecodeReply(reply); return err }},
		"split tail":      {2, func() error { _, _, err := wire.SplitTail(tail); return err }},
		"decode fragment": {0, func() error { _, err := wire.DecodeFragment(fragment); return err }},
		"encode request": {0, func() error {
			buf = request.AppendTo(buf[:0])
			return nil
		}},
		"encode reply": {0, func() error {
			buf = answer.AppendTo(buf[:0])
			return nil
		}},
		"encode fragment": {0, func() error {
			buf = wire.Fragment{First: true, Payload: body}.AppendTo(buf[:0])
			return nil
		}},
	} {
		t.Run(name, func(t *testing.T) {
			require.NoError(t, c.f())
			require.Equal(t, c.allocs, testing.AllocsPerRun(runs, func() { _ = c.f() }))
		})
	}
}

// FuzzDecodeFragment proves that no bytes make the decoder panic, and that
// each fragment has one encoding only.
func FuzzDecodeFragment(f *testing.F) {
	fuzzDecoder(f, "fragment.txt", wire.DecodeFragment, (*wire.Fragment).AppendTo)
}

// FuzzDecodeRequest proves the same for requests.
func FuzzDecodeRequest(f *testing.F) {
	fuzzDecoder(f, "request.txt", wire.DecodeRequest, (*wire.Request).AppendTo)
}

// FuzzDecodeReply proves the same for replies.
func FuzzDecodeReply(f *testing.F) {
	fuzzDecoder(f, "reply.txt", wire.DecodeReply, (*wire.Reply).AppendTo)
}

// FuzzDecodeCancel proves the same for cancellations.
func FuzzDecodeCancel(f *testing.F) {
	fuzzDecoder(f, "cancel.txt", wire.DecodeCancel, (*wire.Cancel).AppendTo)
}

// FuzzSplitTail proves that no bytes make it panic, and that a tail has one
// encoding only.
func FuzzSplitTail(f *testing.F) {
	seedWith(f, "tail.txt")
	f.Fuzz(func(t *testing.T, b []byte) {
		if headers, body, err := wire.SplitTail(b); err == nil {
			require.Equal(t, b, wire.AppendTail(nil, headers, body))
		}
	})
}

func BenchmarkRequest(b *testing.B) {
	m := wire.Request{ID: 1, Member: 2, Incarnation: 3, Deadline: 4, Tail: make([]byte, 1<<10)}
	encoded := m.AppendTo(nil)
	b.Run("encode", func(b *testing.B) {
		b.ReportAllocs()
		buf := make([]byte, 0, 2048)
		for b.Loop() {
			buf = m.AppendTo(buf[:0])
		}
	})
	b.Run("decode", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := wire.DecodeRequest(encoded); err != nil {
				b.Fatal(err)
			}
		}
	})
}
