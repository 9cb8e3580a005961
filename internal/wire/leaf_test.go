// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package wire_test

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/internal/wire"
)

var update = flag.Bool("update", false, "rewrite testdata/leaf.txt")

const leafVectors = "testdata/leaf.txt"

const leafIntro = `# Frames between a client and its relay, for whoever writes a binding: who sends
# it and what it means, then the whole frame in hexadecimal, the length first.
# Decoding one and encoding the result gives the same bytes.
`

// Lanes, as the two upper bits of a frame's head.
const (
	ctl = iota
	rpc
	pub
	bulk
)

// message is what can be put into a frame of the client profile.
type message interface{ AppendTo(dst []byte) []byte }

// leafVector is one frame of the client profile.
type leafVector struct {
	meaning string
	lane    byte
	kind    wire.Kind
	message message
	decode  func([]byte) (message, error)
}

// decoder makes a decoder of one type one of any.
func decoder[M any, P interface {
	*M
	message
}](decode func([]byte) (M, error),
) func([]byte) (message, error) {
	return func(b []byte) (message, error) {
		m, err := decode(b)
		return P(&m), err
	}
}

// published gives what has a tail of its own the form of the others.
type (
	published   struct{ wire.LeafPublish }
	publication struct{ wire.LeafPublication }
)

func (m *published) AppendTo(dst []byte) []byte   { return append(m.AppendHead(dst), m.Tail...) }
func (m *publication) AppendTo(dst []byte) []byte { return append(m.AppendHead(dst), m.Tail...) }

// acked and empty give the same to what has no message of its own.
type (
	acked struct{ wire.Counts }
	empty struct{ b []byte }
)

func (m *acked) AppendTo(dst []byte) []byte { return wire.AppendAck(dst, m.Counts) }
func (m *empty) AppendTo(dst []byte) []byte { return append(dst, m.b...) }

func decodeAcked(b []byte) (acked, error) {
	counts, err := wire.DecodeAck(b)
	return acked{counts}, err
}

func decodeEmpty(b []byte) (empty, error) { return empty{b}, nil }

func decodePublished(b []byte) (published, error) {
	m, err := wire.DecodeLeafPublish(b, nil)
	return published{m}, err
}

func decodePublication(b []byte) (publication, error) {
	m, err := wire.DecodeLeafPublication(b, nil, nil)
	return publication{m}, err
}

func decodeTaken(b []byte) (wire.Taken, error) {
	m, ours, err := wire.DecodeTaken(b)
	if err == nil && !ours {
		err = wire.ErrMalformed
	}
	return m, err
}

func sixteen(first byte) (id [16]byte) {
	for i := range id {
		id[i] = first + byte(i)
	}
	return id
}

func secret(b byte) (s wire.Secret) {
	for i := range s {
		s[i] = b
	}
	return s
}

// tail is headers and body as they travel.
func tail(body string, headers ...wire.Header) []byte {
	return append(wire.AppendHeaders(nil, headers), body...)
}

// several is messages in one frame of a client.
func several(tails ...[]byte) (b []byte) {
	for _, tail := range tails {
		b = append(wire.AppendMessage(b, "", nil, len(tail)), tail...)
	}
	return b
}

// TestSeveralPublicationsAreWholeOrRefused proves that messages of a client that share a
// frame are taken apart as they were put together, and that no other bytes are taken for
// some.
func TestSeveralPublicationsAreWholeOrRefused(t *testing.T) {
	head := (&wire.LeafPublish{ID: wire.SeveralPublications, Topic: "a"}).AppendHead(nil)
	frame := func(b []byte) []byte { return append(head[:len(head):len(head)], b...) }
	tails := [][]byte{tail("one"), tail("", wire.Header{Key: "k", Value: "v"}), tail("three")}
	m, err := wire.DecodeLeafPublish(frame(several(tails...)), nil)
	require.NoError(t, err)
	require.Equal(t, 3, m.Count)
	last := m
	last.Skip(2)
	require.Equal(t, tails[2], last.Next())
	require.Zero(t, last.Count)
	for _, tail := range tails {
		require.Equal(t, tail, m.Next())
	}
	m.Skip(0)
	require.Zero(t, m.Count)

	named := append(wire.AppendMessage(nil, "b", nil, 2), tail("")...)
	for why, b := range map[string][]byte{
		"none": nil, "of another topic": named, "behind another": append(several(tail("")), named...),
		"cut": several(tail("hi"))[:8], "something behind": append(several(tail("hi")), 0), "bad headers": several([]byte{0, 9}),
		"no headers": several([]byte{0}), "longer than a frame": several(make([]byte, wire.MaxPayload), tail("")),
	} {
		_, err := wire.DecodeLeafPublish(frame(b), nil)
		require.ErrorIs(t, err, wire.ErrMalformed, why)
	}
	m, err = wire.DecodeLeafPublish(frame(several(tail(string(make([]byte, 1<<20))))), nil)
	require.NoError(t, err, "one alone may be of any size")
	require.Equal(t, 1, m.Count)
	late := wire.LeafPublish{ID: wire.SeveralPublications, Deadline: 1, Topic: "a"}
	_, err = wire.DecodeLeafPublish(append(late.AppendHead(nil), several(tail(""))...), nil)
	require.ErrorIs(t, err, wire.ErrMalformed)
}

// allFrames has every kind of the client profile, and what only clients and relays
// have with each of its fields not zero at least once.
func allFrames() []leafVector {
	opening := wire.TunnelOpen{ID: 9, Credit: 65536, Body: []byte("first")}
	return append(leafFrames(), []leafVector{
		{"both: the first fragment, on channel 1, of a request of 5 bytes: \"ab\"", bulk, wire.KindFragment, &wire.Fragment{Channel: 1, First: true, Kind: wire.KindRequest, Total: 5, Payload: []byte("ab")}, decoder(wire.DecodeFragment)},
		{"both: the last fragment of channel 1: \"cde\"", bulk, wire.KindFragment, &wire.Fragment{Channel: 1, Last: true, Payload: []byte("cde")}, decoder(wire.DecodeFragment)},
		{"both: ack of 1, 2, 3 and 4 frames", ctl, wire.KindAck, &acked{wire.Counts{1, 2, 3, 4}}, decoder(decodeAcked)},
		{"both: void, in place of a request", rpc, wire.KindVoid, &empty{[]byte{1, 2, 3}}, decoder(decodeEmpty)},
		{
			"client: request, id 2, until 3 s of its clock, may run twice, wait for a member, sticky to \"k\", cluster \"geo\", one header, body \"hi\"", rpc, wire.KindRequest,
			&wire.Request{
				ID: 2, Deadline: 3_000_000_000, Flags: wire.FlagIdempotent, Tail: tail("hi", wire.Header{Key: "k", Value: "v"}),
				Route: &wire.Route{Options: wire.RouteWait, Policy: 4, StickyKey: "k", Cluster: "geo"},
			}, decoder(wire.DecodeRequest),
		},
		{
			"client: survey of cluster \"geo\", id 3, at most 10 replies and 1 MiB of them", rpc, wire.KindRequest,
			&wire.Request{ID: 3, Pattern: 1, Tail: tail(""), Route: &wire.Route{Options: wire.RouteLimits, Cluster: "geo", MaxReplies: 10, MaxBytes: 1 << 20}}, decoder(wire.DecodeRequest),
		},
		{
			"client: opens tunnel 9 to cluster \"pipe\", with a credit of 65,536 and the first message \"first\"", rpc, wire.KindRequest,
			&wire.Request{ID: 4, Pattern: 4, Tail: tail(string(opening.AppendTo(nil))), Route: &wire.Route{Cluster: "pipe"}}, decoder(wire.DecodeRequest),
		},
		{
			"relay: request, the relay's id 5, for registration 1, until 4 s of its clock, the second attempt, from peer \"abc\" of incarnation 6, its 7th, through network \"n\", body \"hi\"", rpc, wire.KindRequest,
			&wire.Request{
				ID: 5, Member: 1, Deadline: 4_000_000_000, Attempt: 1, Tail: tail("hi"),
				Origin: &wire.Origin{Peer: "abc", Incarnation: 6, Serial: 7, Networks: []string{"n"}},
			}, decoder(wire.DecodeRequest),
		},
		{"client: reply to 5, 2 wait, 3 run, after 8 µs, body \"ho\"", rpc, wire.KindReply, &wire.Reply{ID: 5, Queue: 2, Running: 3, ServiceMicros: 8, Tail: tail("ho")}, decoder(wire.DecodeReply)},
		{"client: reply to 5, the handler refused with code 404: \"no\"", rpc, wire.KindReply, &wire.Reply{ID: 5, Outcome: wire.OutcomeRemoteError, Code: 404, Tail: tail("no")}, decoder(wire.DecodeReply)},
		{
			"relay: reply to 2, at the first attempt by member 00000000000000ff on peer \"abc\", body \"ho\"", rpc, wire.KindReply,
			&wire.Reply{ID: 2, Tail: tail("ho"), From: &wire.From{Attempts: 1, Member: 0xff, Peer: "abc"}}, decoder(wire.DecodeReply),
		},
		{
			"relay: reply to survey 3, more follow", rpc, wire.KindReply,
			&wire.Reply{ID: 3, Flags: wire.FlagMoreReplies, Tail: tail("ho"), From: &wire.From{Attempts: 1, Member: 0xff, Peer: "abc"}}, decoder(wire.DecodeReply),
		},
		{
			"relay: the end of survey 3: 1 has answered, member 00000000000000fe on peer \"12D3KooWpeer\" was late and may have run", rpc, wire.KindReply,
			&wire.Reply{ID: 3, Tail: tail(string((&wire.Summary{Members: 1, Nodes: 1, Missing: []wire.Missing{{Member: 0xfe, Peer: "12D3KooWpeer", Outcome: wire.OutcomeDeadline, Flags: wire.FlagMaybeRan}}}).AppendTo(nil))), From: &wire.From{}}, decoder(wire.DecodeReply),
		},
		{"relay: reply to 2, interrupted after two attempts; a handler may have run", rpc, wire.KindReply, &wire.Reply{ID: 2, Outcome: wire.OutcomeInterrupted, Flags: wire.FlagMaybeRan, Tail: tail(""), From: &wire.From{Attempts: 2}}, decoder(wire.DecodeReply)},
		{"client: cancel 2", rpc, wire.KindCancel, &wire.Cancel{ID: 2}, decoder(wire.DecodeCancel)},
		{"both: data of tunnel 9, by its opener, the last chunk of its message: \"x\"", bulk, wire.KindTunnelData, &wire.TunnelData{ID: 9, Flags: 3, Payload: []byte("x")}, decoder(wire.DecodeTunnelData)},
		{"both: credit of tunnel 9, 100,000 since the beginning", ctl, wire.KindTunnelCredit, &wire.TunnelCredit{ID: 9, Total: 100_000, Seal: []byte{}}, decoder(wire.DecodeTunnelCredit)},
		{"both: end of tunnel 9, by its opener, who has read 100 and receives no more either", bulk, wire.KindTunnelEnd, &wire.TunnelEnd{ID: 9, Flags: 5, Payload: wire.AppendTunnelRead(nil, 100)}, decoder(wire.DecodeTunnelEnd)},
		{"both: reset of tunnel 9, by the program, code 7: \"enough\"", ctl, wire.KindTunnelReset, &wire.TunnelReset{ID: 9, Code: 7, Text: "enough"}, decoder(wire.DecodeTunnelReset)},
	}...)
}

// leafFrames has every kind of frame that only clients and relays have.
func leafFrames() []leafVector {
	var (
		leafHello   = decoder(wire.DecodeLeafHello)
		challenge   = decoder(wire.DecodeLeafChallenge)
		relayProof  = decoder(wire.DecodeRelayProof)
		relayHello  = decoder(wire.DecodeRelayHello)
		goodbye     = decoder(wire.DecodeLeafGoodbye)
		notice      = decoder(wire.DecodeLeafNotice)
		serve       = decoder(wire.DecodeServe)
		subscribe   = decoder(wire.DecodeSubscribe)
		leave       = decoder(wire.DecodeLeave)
		done        = decoder(wire.DecodeDone)
		gap         = decoder(wire.DecodeGap)
		publish     = decoder(decodePublished)
		publication = decoder(decodePublication)
	)
	first, second := sixteen(0x40), sixteen(0x50)
	var nonce [wire.NonceSize]byte
	copy(nonce[copy(nonce[:], first[:]):], second[:])
	return []leafVector{
		{
			"client: hello, versions 1 to 3, no features, instance 1011…1f, fresh, clock 5, name \"geo\", proof 4041…5f", ctl, wire.KindHello,
			&wire.LeafHello{MinVersion: 1, MaxVersion: 3, Instance: sixteen(0x10), Clock: 5, Name: "geo", Proof: append(first[:], second[:]...)}, leafHello,
		},
		{"client: challenge, nonce 4041…5f", ctl, wire.KindHello, &wire.LeafChallenge{Nonce: nonce}, challenge},
		{"relay: answer to a challenge, nonce 4041…5f, two proofs 4041…5f", ctl, wire.KindHello, &wire.RelayProof{Nonce: nonce, Proofs: [][wire.LeafProofSize]byte{nonce, nonce}}, relayProof},
		{
			"client: hello, version 1, all features, to resume session 7 as client a0a1…af, in which 1, 2, 3 and 4 frames came, a beat every 400 ms, messages up to 1 MiB", ctl, wire.KindHello,
			&wire.LeafHello{
				MinVersion: 1, MaxVersion: 1, Features: wire.AllFeatures, Instance: sixteen(0x10), Leaf: sixteen(0xa0), Session: 7,
				Received: wire.Counts{1, 2, 3, 4}, Clock: 1_000_000_000, BeatMillis: 400, LargestMessage: 1 << 20, Name: "geo",
			}, leafHello,
		},
		{
			"client: hello, version 1, asks what became of its former session 7, which it has ended", ctl, wire.KindHello,
			&wire.LeafHello{
				MinVersion: 1, MaxVersion: 1, Instance: sixteen(0x10), Leaf: sixteen(0xa0), Session: 7, Received: wire.UnknownCounts(), Name: "geo",
			}, leafHello,
		},
		{
			"client: hello, version 1, feature 16, fresh, with two keys of cluster \"geo\": version 1, 32 bytes 11, until 2026-08-01 12:00:00 UTC, and version 2, 32 bytes 22, from then on", ctl, wire.KindHello,
			&wire.LeafHello{
				MinVersion: 1, MaxVersion: 1, Features: wire.FeatureKeys, Instance: sixteen(0x10), Name: "py",
				Keys: []wire.LeafKeys{{Cluster: "geo", Keys: []wire.LeafKey{
					{Version: 1, NotAfter: 1785585600, Key: secret(0x11)}, {Version: 2, NotBefore: 1785585600, Key: secret(0x22)},
				}}},
			}, leafHello,
		},
		{
			"relay: hello, version 1, features 1 and 2, instance 2021…2f, client a0a1…af, session 7, in which 5, 6, 7 and 8 frames came, and what a client may use", ctl, wire.KindHello,
			&wire.RelayHello{
				Version: 1, Features: wire.FeatureResume | wire.FeatureBeats, Instance: sixteen(0x20), Leaf: sixteen(0xa0), Session: 7,
				Received: wire.Counts{5, 6, 7, 8}, Clock: 2_000_000_000, BeatMillis: 400, LargestFrame: 69632, LargestMessage: 16 << 20,
				Registrations: 64, Subscriptions: 4096, Calls: 4096, CallBytes: 64 << 20,
				LaneBytes: [4]uint32{1 << 20, 8 << 20, 8 << 20, 64 << 20}, Peer: "12D3KooWpeer", Name: "arke",
			}, relayHello,
		},
		{
			"relay: hello, version 1, session 8, and nothing is known of the former one", ctl, wire.KindHello,
			&wire.RelayHello{Version: 1, Instance: sixteen(0x20), Leaf: sixteen(0xa0), Session: 8, Received: wire.UnknownCounts(), Name: "arke"}, relayHello,
		},
		{"relay: goodbye, no version in common", ctl, wire.KindGoodbye, &wire.LeafGoodbye{Code: wire.EndVersion, Text: "this relay speaks 2 to 3"}, goodbye},
		{"both: goodbye, it is going away, after 9, 8, 7 and 6 frames were looked at", ctl, wire.KindGoodbye, &wire.LeafGoodbye{Code: wire.EndShutdown, Handled: &wire.Counts{9, 8, 7, 6}}, goodbye},
		{"relay: notice, it is shutting down", ctl, wire.KindNotice, &wire.LeafNotice{Code: wire.NoticeDraining, Text: "shutting down"}, notice},
		{"both: beat, at 7 ns, an answer is wanted", ctl, wire.KindBeat, &wire.LeafBeat{WantReply: true, Clock: 7}, decoder(wire.DecodeLeafBeat)},
		{"both: beat, at 9 ns, the answer to that of 7, 1 ns after it came", ctl, wire.KindBeat, &wire.LeafBeat{Clock: 9, Echo: 7, Held: 1}, decoder(wire.DecodeLeafBeat)},
		{
			"client: serve, id 1, within 2 s, 8 at once, no queue, 1 MiB of queue, messages up to 64 KiB, capacity 3, 5 tunnels, requests and pushes, cluster \"geo\"", ctl, wire.KindServe,
			&wire.Serve{
				ID: 1, Timeout: 2_000_000, Concurrency: 8, QueueLength: -1, QueueBytes: 1 << 20, MessageBytes: 64 << 10,
				Capacity: 3, Tunnels: 5, Patterns: wire.ServesRequests | wire.ServesPushes, Cluster: "geo",
			}, serve,
		},
		{"client: serve, id 2, all by default, requests, cluster \"geo\"", ctl, wire.KindServe, &wire.Serve{ID: 2, Patterns: wire.ServesRequests, Cluster: "geo"}, serve},
		{
			"client: subscribe, id 3, to \"a.>\" in queue \"q\", within 1 s, not its own, publishers wait when 16 messages or 64 KiB are not taken", ctl, wire.KindSubscribe,
			&wire.Subscribe{ID: 3, Timeout: 1_000_000, Options: wire.SubscribeNoEcho | wire.SubscribeBlocks, Length: 16, Bytes: 64 << 10, Queue: "q", Pattern: "a.>"}, subscribe,
		},
		{"client: subscribe, id 4, to \"a.b\", all by default", ctl, wire.KindSubscribe, &wire.Subscribe{ID: 4, Pattern: "a.b"}, subscribe},
		{"client: subscribe, id 5, to \"a.b\", signed", ctl, wire.KindSubscribe, &wire.Subscribe{ID: 5, Options: wire.SubscribeSigned, Pattern: "a.b"}, subscribe},
		{"client: credit, 17 publications for subscription 3 were taken", ctl, wire.KindTunnelCredit, &wire.Taken{ID: 3, Total: 17}, decoder(decodeTaken)},
		{"client: leave, id 1, accepted requests may take 5 s", ctl, wire.KindLeave, &wire.Leave{ID: 1, Timeout: 5_000_000}, leave},
		{"relay: done, id 1 is member 00000000000000ff", ctl, wire.KindDone, &wire.Done{ID: 1, Value: 0xff}, done},
		{
			"relay: done, id 1, an outcome of 1 with code 404: \"no such place\"; a handler may have run", ctl, wire.KindDone,
			&wire.Done{ID: 1, Outcome: wire.OutcomeRemoteError, Flags: wire.FlagMaybeRan, Code: 404, Text: "no such place"}, done,
		},
		{"client: publish, no answer wanted, on \"a.b\", one header, body \"hi\"", pub, wire.KindPublish, &published{wire.LeafPublish{Topic: "a.b", Count: 1, Tail: tail("hi", wire.Header{Key: "k", Value: "v"})}}, publish},
		{"client: publish, id 5, until 3 s of its clock, on \"a\", empty", pub, wire.KindPublish, &published{wire.LeafPublish{ID: 5, Deadline: 3_000_000_000, Topic: "a", Count: 1, Tail: tail("")}}, publish},
		{
			"client: publish, two of which no answer is wanted, on \"a.b\", bodies \"hi\" and \"ho\", the second with one header", pub, wire.KindPublish,
			&published{wire.LeafPublish{ID: wire.SeveralPublications, Topic: "a.b", Count: 2, Tail: several(tail("hi"), tail("ho", wire.Header{Key: "k", Value: "v"}))}}, publish,
		},
		{
			"relay: publication of peer \"12D3KooWpub\" on \"a.b\" for subscriptions 3 and 4, body \"hi\"", pub, wire.KindPublish,
			&publicationOf{wire.LeafPublication{Publisher: "12D3KooWpub", Topic: "a.b", Subscriptions: []uint64{3, 4}, Tail: tail("hi")}}, publication,
		},
		{
			"relay: with feature 32, two publications of peer \"12D3KooWpub\" on \"a.b\" for subscription 3, bodies \"hi\" and \"ho\"", pub, wire.KindPublish,
			&publicationOf{wire.LeafPublication{Publisher: "12D3KooWpub", Topic: "a.b", Subscriptions: []uint64{3}, Tail: several(tail("hi"), tail("ho"))}}, publication,
		},
		{"relay: gap of exactly 2 messages of peer \"12D3KooWpub\" in subscriptions 3 and 4, the lane was full", pub, wire.KindGap, &wire.Gap{Subscriptions: []uint64{3, 4}, Missed: 2, Exact: true, Reason: wire.GapLane, Publisher: "12D3KooWpub"}, decoder(wire.DecodeGap)},
		{"relay: gap of nobody knows how many in subscription 3, the relay is a new one", pub, wire.KindGap, &wire.Gap{Subscriptions: []uint64{3}, Reason: wire.GapRelay}, gap},
	}
}

type publicationOf = publication

// leafFrame encodes a whole frame.
func leafFrame(v leafVector) []byte {
	body := v.message.AppendTo(nil)
	b := binary.BigEndian.AppendUint32(nil, uint32(1+len(body)))
	return append(append(b, v.lane<<6|byte(v.kind)), body...)
}

// TestLeafVectors proves that no release changes a byte of what another one, or
// a binding in another language, understands; and that decoding reverses it.
func TestLeafVectors(t *testing.T) {
	var text strings.Builder
	text.WriteString(leafIntro)
	kinds := map[wire.Kind]bool{}
	for _, v := range allFrames() {
		kinds[v.kind] = true
		b := leafFrame(v)
		fmt.Fprintf(&text, "\n%s\n%s\n", v.meaning, hex.EncodeToString(b))
		got, err := v.decode(b[5:])
		require.NoError(t, err, v.meaning)
		require.Equal(t, v.message, got, v.meaning)
	}
	if *update {
		require.NoError(t, os.WriteFile(leafVectors, []byte(text.String()), 0o644))
	}
	want, err := os.ReadFile(leafVectors)
	require.NoError(t, err)
	require.Equal(t, string(want), text.String())
	require.Len(t, kinds, 20, "a kind has no vector, or there are too many")
}

// TestSummariesAreWhole proves that what a survey missed comes back as it was.
func TestSummariesAreWhole(t *testing.T) {
	for _, m := range []wire.Summary{
		{},
		{Members: 3, Nodes: 2, Complete: true},
		{Members: 1, Missing: []wire.Missing{
			{Member: 0xff, Peer: "12D3KooWpeer", Outcome: wire.OutcomeOverloaded},
			{Member: 1, Outcome: wire.OutcomeRemoteError, Flags: wire.FlagMaybeRan, Code: 7, Text: "x"},
		}},
	} {
		got, err := wire.DecodeSummary(m.AppendTo(nil))
		require.NoError(t, err)
		require.Equal(t, m, got)
	}
}

// TestALaterHelloIsUnderstood proves that a later version may append fields to a
// Hello, and to nothing else.
func TestALaterHelloIsUnderstood(t *testing.T) {
	for _, v := range leafFrames() {
		switch v.message.(type) {
		case *published, *publication, *wire.LeafGoodbye, *wire.LeafNotice:
			continue // they end with what is left
		}
		got, err := v.decode(append(v.message.AppendTo(nil), 0))
		if v.kind == wire.KindHello {
			require.NoError(t, err, v.meaning)
			require.Equal(t, v.message, got, v.meaning)
		} else {
			require.ErrorIs(t, err, wire.ErrMalformed, v.meaning)
		}
	}
}

// TestLeafFramesThatAreCutAreRefused proves that no field is made up.
func TestLeafFramesThatAreCutAreRefused(t *testing.T) {
	for _, v := range leafFrames() {
		whole := v.message.AppendTo(nil)
		for n := range min(len(whole), 25) {
			if m, err := v.decode(whole[:n]); err == nil {
				require.Equal(t, whole[:n], m.AppendTo(nil), v.meaning)
			}
		}
		_, err := v.decode(nil)
		require.ErrorIs(t, err, wire.ErrMalformed, v.meaning)
	}
}

// TestVersionsOfTheClientProfile proves that the newest common one is picked.
func TestVersionsOfTheClientProfile(t *testing.T) {
	for _, tt := range []struct {
		lowest, highest, want uint16
		ok                    bool
	}{{1, 1, 1, true}, {1, 9, 1, true}, {2, 9, 1, false}} {
		got, ok := wire.PickVersion(tt.lowest, tt.highest)
		require.Equal(t, tt.ok, ok)
		if ok {
			require.Equal(t, tt.want, got)
		}
	}
}

// FuzzLeaf throws bytes at every decoder. What is accepted has one encoding, the
// bytes that it came from (or, of a Hello, that these begin with).
func FuzzLeaf(f *testing.F) {
	frames := leafFrames()
	for i, v := range frames {
		f.Add(uint8(i), v.message.AppendTo(nil))
	}
	f.Fuzz(func(t *testing.T, i uint8, b []byte) {
		v := frames[int(i)%len(frames)]
		m, err := v.decode(b)
		switch {
		case err != nil:
		case v.kind == wire.KindHello:
			require.True(t, bytes.HasPrefix(b, m.AppendTo(nil)))
		default:
			require.Equal(t, b, m.AppendTo(nil))
		}
	})
}

// FuzzSummary is FuzzLeaf for the body of the last reply to a survey.
func FuzzSummary(f *testing.F) {
	f.Add((&wire.Summary{Members: 1, Missing: []wire.Missing{{Member: 2, Peer: "p", Text: "x"}}}).AppendTo(nil))
	f.Fuzz(func(t *testing.T, b []byte) {
		if m, err := wire.DecodeSummary(b); err == nil {
			require.Equal(t, b, m.AppendTo(nil))
		}
	})
}
