// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package wire_test

import (
	"bytes"
	"maps"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"

	"github.com/arke-mesh/arke/internal/wire"
)

// controls makes an empty control message by its name.
var controls = map[string]func() proto.Message{
	"Hello":      func() proto.Message { return new(wire.Hello) },
	"Beat":       func() proto.Message { return new(wire.Beat) },
	"Goodbye":    func() proto.Message { return new(wire.Goodbye) },
	"Notice":     func() proto.Message { return new(wire.Notice) },
	"Register":   func() proto.Message { return new(wire.Register) },
	"Registered": func() proto.Message { return new(wire.Registered) },
	"Unregister": func() proto.Message { return new(wire.Unregister) },
	"Watch":      func() proto.Message { return new(wire.Watch) },
	"Unwatch":    func() proto.Message { return new(wire.Unwatch) },
	"Snapshot":   func() proto.Message { return new(wire.Snapshot) },
	"Delta":      func() proto.Message { return new(wire.Delta) },
	"Hint":       func() proto.Message { return new(wire.Hint) },
	"Claims":     func() proto.Message { return new(wire.Claims) },
	"Seen":       func() proto.Message { return new(wire.Seen) },
	"Statement":  func() proto.Message { return new(wire.Statement) },
	"Record":     func() proto.Message { return new(wire.Record) },
}

// TestControlVectors proves the encoding of control messages in both
// directions, and that each limit inside them is held.
func TestControlVectors(t *testing.T) {
	covered := make(map[string]bool)
	forEachVector(t, "control.txt", func(t *testing.T, v vector) {
		name := v.text("message")
		got := controls[name]()
		err := wire.DecodeControl(v.bytes, got)
		if v.refused(t, err) {
			return
		}
		covered[name] = true
		want := controls[name]()
		require.NoError(t, prototext.Unmarshal([]byte(v.text("text")), want))
		require.True(t, proto.Equal(want, got), "%v", got)
		encoded, err := wire.AppendControl([]byte("before"), want)
		require.NoError(t, err)
		require.Equal(t, append([]byte("before"), v.bytes...), encoded)
	})
	require.Len(t, covered, len(controls), "a message has no vector")
}

// TestUnknownControlFieldsAreIgnored proves that a newer release may add a
// field.
func TestUnknownControlFieldsAreIgnored(t *testing.T) {
	m := new(wire.Beat)
	require.NoError(t, wire.DecodeControl([]byte{8, 5, 0xf8, 7, 1}, m))
	require.True(t, proto.Equal(&wire.Beat{Clock: 5}, m))
}

// TestControlSizeIsJudgedOnBothSides proves that what AppendControl writes
// DecodeControl accepts, and that a larger message is refused on both sides.
func TestControlSizeIsJudgedOnBothSides(t *testing.T) {
	fits := &wire.Goodbye{Reason: strings.Repeat("x", wire.MaxControl-4)}
	b, err := wire.AppendControl(nil, fits)
	require.NoError(t, err)
	require.Len(t, b, wire.MaxControl)
	before := []byte("before")
	b, err = wire.AppendControl(before, &wire.Goodbye{Reason: strings.Repeat("x", wire.MaxControl-3)})
	require.ErrorIs(t, err, wire.ErrControlTooLarge)
	require.Equal(t, before, b)
	require.ErrorIs(t, wire.DecodeControl(make([]byte, wire.MaxControl+1), new(wire.Beat)), wire.ErrControlTooLarge)
}

// TestControlMessagesCantGrowInMemory proves that a full frame of the
// cheapest elements is refused before structures are made of them.
func TestControlMessagesCantGrowInMemory(t *testing.T) {
	hostile := bytes.Repeat([]byte{3<<3 | 2, 0}, wire.MaxControl/2) // empty leases
	result := testing.Benchmark(func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if wire.DecodeControl(hostile, new(wire.Snapshot)) == nil {
				b.Fatal("accepted")
			}
		}
	})
	require.Less(t, result.AllocedBytesPerOp(), int64(1<<10))
}

// TestControlLimitsAreHeldToTheByte proves each limit inside control messages
// on both of its sides: make gives a message that is good at n and at no
// neighbour which the bounds exclude.
func TestControlLimitsAreHeldToTheByte(t *testing.T) {
	b := func(n int) []byte { return make([]byte, n) }
	text := func(n int) string { return strings.Repeat("x", n) }
	lists := func(n int) [][]byte { return slices.Repeat([][]byte{b(1)}, n) }
	addrs := func(n int) []string { return slices.Repeat([]string{"x"}, n) }
	lease := func() *wire.Lease { return &wire.Lease{Peer: b(1), Record: b(1), Signature: b(wire.ProofSize)} }
	passed := func() *wire.Record {
		return &wire.Record{Peer: b(1), Passed: lease(), PassedNetwork: b(wire.NetworkIDSize)}
	}
	hello := func() *wire.Hello { return &wire.Hello{VersionMin: 1, VersionMax: 1, Instance: b(wire.InstanceSize)} }
	register := func() *wire.Register {
		return &wire.Register{
			Cid: b(wire.ClusterIDSize), Key: b(wire.KeySize), Proof: b(wire.ProofSize), Record: b(1), Signature: b(wire.ProofSize),
		}
	}
	watch := func() *wire.Watch {
		return &wire.Watch{Cid: b(wire.ClusterIDSize), Key: b(wire.KeySize), Proof: b(wire.ProofSize)}
	}
	cid := b(wire.ClusterIDSize)
	for what, c := range map[string]struct {
		low, high int
		make      func(n int) proto.Message
	}{
		"hello instance": {16, 16, func(n int) proto.Message { m := hello(); m.Instance = b(n); return m }},
		"hello agent":    {0, 256, func(n int) proto.Message { m := hello(); m.Agent = text(n); return m }},
		"hello name":     {0, 64, func(n int) proto.Message { m := hello(); m.Name = text(n); return m }},
		"hello addrs":    {0, 32, func(n int) proto.Message { m := hello(); m.Addrs = addrs(n); return m }},
		"hello addr":     {1, 256, func(n int) proto.Message { m := hello(); m.Addrs = []string{text(n)}; return m }},
		"goodbye reason": {0, 256, func(n int) proto.Message { return &wire.Goodbye{Reason: text(n)} }},
		"goodbye name":   {0, 64, func(n int) proto.Message { return &wire.Goodbye{Name: text(n)} }},
		"notice detail":  {0, 256, func(n int) proto.Message { return &wire.Notice{Detail: text(n)} }},

		"register cid":       {32, 32, func(n int) proto.Message { m := register(); m.Cid = b(n); return m }},
		"register key":       {32, 32, func(n int) proto.Message { m := register(); m.Key = b(n); return m }},
		"register proof":     {64, 64, func(n int) proto.Message { m := register(); m.Proof = b(n); return m }},
		"register record":    {1, 16 << 10, func(n int) proto.Message { m := register(); m.Record = b(n); return m }},
		"register signature": {64, 64, func(n int) proto.Message { m := register(); m.Signature = b(n); return m }},
		"registered cid":     {32, 32, func(n int) proto.Message { return &wire.Registered{Cid: b(n)} }},
		"registered anchors": {0, 16, func(n int) proto.Message { return &wire.Registered{Cid: cid, Anchors: lists(n)} }},
		"unregister cid":     {32, 32, func(n int) proto.Message { return &wire.Unregister{Cid: b(n)} }},
		"watch cid":          {32, 32, func(n int) proto.Message { m := watch(); m.Cid = b(n); return m }},
		"watch key":          {32, 32, func(n int) proto.Message { m := watch(); m.Key = b(n); return m }},
		"watch proof":        {64, 64, func(n int) proto.Message { m := watch(); m.Proof = b(n); return m }},
		"unwatch cid":        {32, 32, func(n int) proto.Message { return &wire.Unwatch{Cid: b(n)} }},

		"snapshot cid":     {32, 32, func(n int) proto.Message { return &wire.Snapshot{Cid: b(n)} }},
		"snapshot anchors": {0, 16, func(n int) proto.Message { return &wire.Snapshot{Cid: cid, Anchors: lists(n)} }},
		"snapshot leases": {0, 512, func(n int) proto.Message {
			return &wire.Snapshot{Cid: cid, Leases: slices.Repeat([]*wire.Lease{lease()}, n)}
		}},
		"lease peer": {1, 64, func(n int) proto.Message {
			l := lease()
			l.Peer = b(n)
			return &wire.Snapshot{Cid: cid, Leases: []*wire.Lease{l}}
		}},
		"lease record": {1, 16 << 10, func(n int) proto.Message {
			l := lease()
			l.Record = b(n)
			return &wire.Delta{Cid: cid, Number: 1, Upserted: []*wire.Lease{l}}
		}},
		"lease signature": {64, 64, func(n int) proto.Message {
			l := lease()
			l.Signature = b(n)
			return &wire.Delta{Cid: cid, Number: 1, Upserted: []*wire.Lease{l}}
		}},
		"delta cid":     {32, 32, func(n int) proto.Message { return &wire.Delta{Cid: b(n), Number: 1} }},
		"delta anchors": {0, 16, func(n int) proto.Message { return &wire.Delta{Cid: cid, Number: 1, Anchors: lists(n)} }},
		"delta upserted": {0, 512, func(n int) proto.Message {
			return &wire.Delta{Cid: cid, Number: 1, Upserted: slices.Repeat([]*wire.Lease{lease()}, n)}
		}},
		"delta removed": {0, 512, func(n int) proto.Message {
			return &wire.Delta{Cid: cid, Number: 1, Removed: slices.Repeat([]*wire.LeaseRef{{Peer: b(1)}}, n)}
		}},
		"delta removed peer": {1, 64, func(n int) proto.Message {
			return &wire.Delta{Cid: cid, Number: 1, Removed: []*wire.LeaseRef{{Peer: b(n)}}}
		}},

		"hint cid":       {32, 32, func(n int) proto.Message { return &wire.Hint{Cid: b(n)} }},
		"hint anchors":   {0, 16, func(n int) proto.Message { return &wire.Hint{Cid: cid, Anchors: lists(n)} }},
		"anchor":         {1, 64, func(n int) proto.Message { return &wire.Hint{Cid: cid, Anchors: [][]byte{b(n)}} }},
		"record peer":    {1, 64, func(n int) proto.Message { return &wire.Record{Peer: b(n)} }},
		"record zone":    {0, 64, func(n int) proto.Message { return &wire.Record{Peer: b(1), Zone: text(n)} }},
		"record network": {0, 63, func(n int) proto.Message { return &wire.Record{Peer: b(1), Network: text(n)} }},
		"record networks": {0, 8, func(n int) proto.Message {
			return &wire.Record{Peer: b(1), Networks: slices.Repeat([][]byte{b(16)}, n)}
		}},
		"record network id":  {16, 16, func(n int) proto.Message { return &wire.Record{Peer: b(1), Networks: [][]byte{b(n)}} }},
		"record addrs":       {0, 32, func(n int) proto.Message { return &wire.Record{Peer: b(1), Addrs: addrs(n)} }},
		"record ephemeral":   {0, 32, func(n int) proto.Message { return &wire.Record{Peer: b(1), Ephemeral: b(n)} }},
		"record certificate": {0, 1024, func(n int) proto.Message { return &wire.Record{Peer: b(1), Certificate: b(n)} }},
		"passed record":      {1, 12 << 10, func(n int) proto.Message { m := passed(); m.Passed.Record = b(n); return m }},
		"passed peer":        {1, 64, func(n int) proto.Message { m := passed(); m.Passed.Peer = b(n); return m }},
		"passed signature":   {64, 64, func(n int) proto.Message { m := passed(); m.Passed.Signature = b(n); return m }},
		"passed network":     {16, 16, func(n int) proto.Message { m := passed(); m.PassedNetwork = b(n); return m }},
		"network of nothing": {0, 0, func(n int) proto.Message { return &wire.Record{Peer: b(1), PassedNetwork: b(n)} }},
		"record addr":        {1, 256, func(n int) proto.Message { return &wire.Record{Peer: b(1), Addrs: []string{text(n)}} }},
	} {
		t.Run(what, func(t *testing.T) {
			require.NoError(t, wire.Check(c.make(c.low)))
			require.NoError(t, wire.Check(c.make(c.high)))
			require.ErrorIs(t, wire.Check(c.make(c.high+1)), wire.ErrMalformed)
			if c.low > 0 {
				require.ErrorIs(t, wire.Check(c.make(c.low-1)), wire.ErrMalformed)
				require.ErrorIs(t, wire.Check(c.make(0)), wire.ErrMalformed)
			}
		})
	}
	require.NoError(t, wire.Check(&wire.Beat{}))
}

// TestTextIsClippedToWhatFits proves that any text, a hostile peer's too, can
// be put into a control message.
func TestTextIsClippedToWhatFits(t *testing.T) {
	for name, c := range map[string]struct{ in, want string }{
		"short":                 {"bye", "bye"},
		"empty":                 {"", ""},
		"long":                  {strings.Repeat("x", 300), strings.Repeat("x", 256)},
		"cut between runes":     {strings.Repeat("x", 255) + "é", strings.Repeat("x", 255)},
		"not UTF-8":             {"a\xff", "a\ufffd"},
		"grows when made valid": {strings.Repeat("x\xff", 200), strings.Repeat("x\ufffd", 64)},
	} {
		t.Run(name, func(t *testing.T) {
			got := wire.ClipText(c.in)
			require.Equal(t, c.want, got)
			require.True(t, utf8.ValidString(got))
			_, err := wire.AppendControl(nil, &wire.Goodbye{Reason: got})
			require.NoError(t, err)
		})
	}
	_, err := wire.AppendControl(nil, &wire.Goodbye{Reason: "\xff"})
	require.Error(t, err)
}

// TestVersionsAreNegotiated proves which version two ranges lead to.
func TestVersionsAreNegotiated(t *testing.T) {
	for name, c := range map[string]struct {
		low, high, want uint32
		ok              bool
	}{
		"the same":            {1, 1, 1, true},
		"a newer peer":        {1, 3, 1, true},
		"a peer beyond us":    {2, 3, 0, false},
		"a peer before us":    {0, 0, 0, false},
		"a range upside down": {2, 1, 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			got, ok := wire.Negotiate(c.low, c.high)
			require.Equal(t, c.ok, ok)
			if ok {
				require.Equal(t, c.want, got)
			}
		})
	}
}

// TestKindsHaveNames proves that every kind can be told apart in logs.
func TestKindsHaveNames(t *testing.T) {
	names := make(map[string]wire.Kind)
	for k := range 256 {
		name := wire.Kind(k).String()
		if name == "unknown" {
			continue
		}
		require.NotContains(t, names, name)
		names[name] = wire.Kind(k)
	}
	require.Len(t, names, 38)
}

// FuzzDecodeControl proves that no bytes make any control message's decoder
// panic, and that what it accepts can be said again.
func FuzzDecodeControl(f *testing.F) {
	names := slices.Sorted(maps.Keys(controls))
	for _, v := range readVectors(f, "control.txt") {
		f.Add(byte(slices.Index(names, v.text("message"))), v.bytes)
	}
	f.Fuzz(func(t *testing.T, which byte, b []byte) {
		make1 := controls[names[int(which)%len(names)]]
		m, again := make1(), make1()
		if wire.DecodeControl(b, m) != nil {
			return
		}
		encoded, err := wire.AppendControl(nil, m)
		require.NoError(t, err)
		require.NoError(t, wire.DecodeControl(encoded, again))
		require.True(t, proto.Equal(m, again))
	})
}

func BenchmarkControl(b *testing.B) {
	m := &wire.Register{
		Cid: make([]byte, 32), Key: make([]byte, 32), Proof: make([]byte, 64),
		Member: 1, Incarnation: 2, Record: make([]byte, 200), Seq: 3, Signature: make([]byte, 64),
	}
	encoded, err := wire.AppendControl(nil, m)
	require.NoError(b, err)
	b.ReportAllocs()
	for b.Loop() {
		if err := wire.DecodeControl(encoded, new(wire.Register)); err != nil {
			b.Fatal(err)
		}
	}
}
