// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package session_test

import (
	"encoding/hex"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/internal/wire/session"
)

var update = flag.Bool("update", false, "rewrite testdata/vectors.txt")

const vectorsFile = "testdata/vectors.txt"

const vectorsIntro = `# Frames of the protocol between a client and its relay, for whoever writes a
# binding: what it means, then the whole frame in hexadecimal, the length
# first. Decoding one and encoding the result gives the same bytes.
`

type vector struct {
	meaning string
	frame   session.Frame
}

func id(first byte) (id session.ID) {
	for i := range id {
		id[i] = first + byte(i)
	}
	return id
}

// vectors has every kind at least once, and each of its fields not zero at
// least once.
func vectors() []vector {
	trace := []session.Header{{Key: "traceparent", Value: "00-0af7-b7ad-01"}, {Key: "empty"}}
	return append([]vector{
		{
			"hello: versions 1 to 3, features 0x5, no earlier session, token \"secret\", client \"geo\"",
			&session.Hello{MinVersion: 1, MaxVersion: 3, Features: 5, Token: "secret", Client: "geo"},
		},
		{
			"hello: version 1, was session 1011…1f before, no token",
			&session.Hello{MinVersion: 1, MaxVersion: 1, Resume: id(0x10), Client: "geo"},
		},
		{
			"welcome: version 1, features 0x4, session a0a1…af, frames up to 16941056 bytes, messages up to 16 MiB, 64 registrations, 4096 subscriptions, 4096 calls of together 64 MiB, peer \"12D3KooWpeer\", relay \"arke\"",
			&session.Welcome{
				Version: 1, Features: 4, Session: id(0xa0), Peer: "12D3KooWpeer", Relay: "arke",
				Limits: session.Limits{
					Frame: session.MaxFrame, Message: session.MaxMessage, Registrations: 64, Subscriptions: 4096,
					Requests: 4096, RequestBytes: 64 << 20,
				},
			},
		},
		{"refused: no version in common", &session.Refused{Reason: session.ReasonVersion, Text: "the relay speaks 2 to 3"}},
		{"ping: token 7", &session.Ping{Token: 7}},
		{"pong: token 7", &session.Pong{Token: 7}},
		{"drain: 30 s remain", &session.Drain{Remaining: 30_000_000, Text: "shutting down"}},
		{"goodbye", &session.Goodbye{}},
		{"error: a frame was not due", &session.Error{Reason: session.ReasonProtocol, Text: "a second hello"}},
		{
			"register: id 1, within 2 s, 8 at once, no queue, 1 MiB of queue, messages up to 64 KiB, capacity 3, 5 tunnels, requests and pushes, cluster \"geo\"",
			&session.Register{
				ID: 1, Timeout: 2_000_000, Concurrency: 8, QueueLength: -1, QueueBytes: 1 << 20,
				MessageBytes: 64 << 10, Capacity: 3, Tunnels: 5,
				Patterns: session.ServesRequests | session.ServesPushes, Cluster: "geo",
			},
		},
		{"register: id 2, all by default, cluster \"geo\"", &session.Register{ID: 2, Cluster: "geo"}},
		{"registered: id 1 is member 00000000000000ff", &session.Registered{ID: 1, Member: "00000000000000ff"}},
		{
			"register failed: id 1, beyond the limit of registrations",
			&session.RegisterFailed{ID: 1, Failure: session.Failure{
				Outcome: session.OutcomeLimit, Code: uint32(session.LimitRegistrations), Text: "64 registrations",
			}},
		},
		{"unregister: id 1, accepted work may take 5 s", &session.Unregister{ID: 1, Timeout: 5_000_000}},
		{"unregistered: id 1, all finished", &session.Unregistered{ID: 1}},
		{
			"unregistered: id 1, some accepted work was not finished in time",
			&session.Unregistered{ID: 1, Failure: session.Failure{Outcome: session.OutcomeDeadline, MaybeRan: true}},
		},
		{
			"request: id 9, within 5 s, idempotent, wait for a member, sticky to \"k\", cluster \"geo\", two headers, body \"hi\"",
			&session.Request{
				ID: 9, Timeout: 5_000_000, Idempotent: true, WaitForMember: true, Policy: 4, StickyKey: "k",
				Cluster: "geo", Headers: trace, Body: []byte("hi"),
			},
		},
		{"request: id 10, all by default, cluster \"geo\", empty body", &session.Request{ID: 10, Cluster: "geo", Body: []byte{}}},
		{
			"reply: id 9, from member 00000000000000ff at the first attempt, one header, body \"ho\"",
			&session.Reply{ID: 9, Attempts: 1, Member: "00000000000000ff", Headers: trace[:1], Body: []byte("ho")},
		},
		{
			"reply: id 9, the handler refused with code 404: \"no such place\"",
			&session.Reply{
				ID: 9, Attempts: 1, Member: "00000000000000ff",
				Failure: session.Failure{Outcome: session.OutcomeRemoteError, MaybeRan: true, Code: 404, Text: "no such place"},
			},
		},
		{
			"reply: id 9, interrupted after two attempts; a handler may have run",
			&session.Reply{ID: 9, Attempts: 2, Failure: session.Failure{Outcome: session.OutcomeInterrupted, MaybeRan: true}},
		},
		{"cancel: id 9", &session.Cancel{ID: 9}},
		{
			"deliver: the relay's id 3, to registration 1, 4.9 s remain, from peer \"12D3KooWcaller\", one header, body \"hi\"",
			&session.Deliver{
				ID: 3, Registration: 1, Remaining: 4_900_000, From: "12D3KooWcaller",
				Headers: trace[:1], Body: []byte("hi"),
			},
		},
		{
			"deliver: the relay's id 4, to registration 1, a push, no end, empty body",
			&session.Deliver{ID: 4, Registration: 1, Pattern: 2, From: "12D3KooWcaller", Body: []byte{}},
		},
		{"answer: to 3, one header, body \"ho\"", &session.Answer{ID: 3, Headers: trace[:1], Body: []byte("ho")}},
		{
			"answer: to 3, the handler panicked",
			&session.Answer{ID: 3, Failure: session.Failure{Outcome: session.OutcomeRemoteError, MaybeRan: true, Code: 1, Text: "nil map"}},
		},
		{"deliver cancel: 3", &session.DeliverCancel{ID: 3}},
		{"members: id 11, within 1 s, of cluster \"geo\"", &session.Members{ID: 11, Timeout: 1_000_000, Cluster: "geo"}},
		{
			"members reply: id 11, one live member of capacity 3 in zone \"z\"",
			&session.MembersReply{ID: 11, Members: []session.Member{{
				ID: "00000000000000ff", Peer: "12D3KooWpeer", Incarnation: 42, Zone: "z", Capacity: 3, State: "live",
			}}},
		},
		{
			"members reply: id 11, nobody serves the cluster",
			&session.MembersReply{ID: 11, Failure: session.Failure{Outcome: session.OutcomeNoMembers}},
		},
		{"status: id 12", &session.Status{ID: 12}},
		{"status reply: id 12, {}", &session.StatusReply{ID: 12, JSON: []byte("{}")}},
		{
			"status reply: id 12, beyond the limit of calls",
			&session.StatusReply{ID: 12, Failure: session.Failure{
				Outcome: session.OutcomeLimit, Code: uint32(session.LimitRequests), Text: "4096 calls",
			}},
		},
	}, append(manyVectors(), tunnelVectors()...)...)
}

func encoded(t testing.TB, f session.Frame) []byte {
	t.Helper()
	b, err := session.Append(nil, f)
	require.NoError(t, err)
	return b
}

// This test checks that no release changes a byte of what another one, or a
// binding in another language, understands; and that decoding reverses it.
func TestFramesMatchTheirVectors(t *testing.T) {
	var text strings.Builder
	text.WriteString(vectorsIntro)
	seen := map[session.Kind]bool{}
	for _, v := range vectors() {
		b := encoded(t, v.frame)
		fmt.Fprintf(&text, "\n%s\n%s\n", v.meaning, hex.EncodeToString(b))
		seen[v.frame.Kind()] = true

		k, body := session.Kind(b[4]), b[5:]
		require.Equal(t, v.frame.Kind(), k)
		got, err := session.Decode(k, body)
		require.NoError(t, err, v.meaning)
		require.Equal(t, v.frame, got, v.meaning)
	}
	if *update {
		require.NoError(t, os.WriteFile(vectorsFile, []byte(text.String()), 0o644))
	}
	want, err := os.ReadFile(vectorsFile)
	require.NoError(t, err)
	require.Equal(t, string(want), text.String())

	for k := range session.FirstSkippable {
		if k.String() != "unknown" {
			require.True(t, seen[k], "kind %s has no vector", k)
		}
	}
}
