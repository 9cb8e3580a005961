// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package session_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/internal/wire/session"
)

// tunnelVectors has every kind of tunnels.
func tunnelVectors() []vector {
	const theirs = session.RelayTunnels | 3
	trace := []session.Header{{Key: "traceparent", Value: "00-0af7-b7ad-01"}}
	return []vector{
		{
			"open tunnel: id 13, within 5 s, idempotent, wait for a member, sticky to \"k\", cluster \"chat\", 81920 of credit, one header, body \"hi\"",
			&session.OpenTunnel{
				Request: session.Request{
					ID: 13, Timeout: 5_000_000, Idempotent: true, WaitForMember: true, Policy: 4, StickyKey: "k",
					Cluster: "chat", Headers: trace, Body: []byte("hi"),
				},
				Credit: 80 << 10,
			},
		},
		{
			"tunnel reply: id 13 is open, to member 00000000000000ff of peer \"12D3KooWpeer\" at the second attempt, 81920 of credit",
			&session.TunnelReply{ID: 13, Attempts: 2, Member: "00000000000000ff", Peer: "12D3KooWpeer", Credit: 80 << 10},
		},
		{
			"tunnel reply: id 13, beyond the limit of tunnels",
			&session.TunnelReply{ID: 13, Failure: session.Failure{
				Outcome: session.OutcomeLimit, Code: uint32(session.LimitTunnels), Text: "16384 tunnels",
			}},
		},
		{
			"deliver tunnel: the relay's id 3, to registration 1, 2048 of credit, from peer \"12D3KooWcaller\", one header, body \"hi\"",
			&session.DeliverTunnel{
				ID: theirs, Registration: 1, Credit: 2048, From: "12D3KooWcaller", Headers: trace, Body: []byte("hi"),
			},
		},
		{"tunnel data: on 13, a part of a message, \"hel\"", &session.TunnelData{ID: 13, Chunk: []byte("hel")}},
		{"tunnel data: on 13, the end of a message, \"lo\"", &session.TunnelData{ID: 13, Last: true, Chunk: []byte("lo")}},
		{"tunnel data: on the relay's 3, an empty message", &session.TunnelData{ID: theirs, Last: true, Chunk: []byte{}}},
		{"tunnel credit: on 13, 16384 more, 16000 bytes are read", &session.TunnelCredit{ID: 13, Credit: 16 << 10, Read: 16000}},
		{"tunnel end: on 13, nothing more will be sent", &session.TunnelEnd{ID: 13}},
		{"tunnel end: on the relay's 3, nothing more will be sent or read", &session.TunnelEnd{ID: theirs, Closed: true}},
		{
			"tunnel reset: on 13, with code 404: \"no such room\"",
			&session.TunnelReset{ID: 13, Failure: session.Failure{Outcome: session.OutcomeRemoteError, Code: 404, Text: "no such room"}},
		},
		{
			"tunnel reset: on the relay's 3, the way to the other side was lost",
			&session.TunnelReset{ID: theirs, Failure: session.Failure{Outcome: session.OutcomeInterrupted, MaybeRan: true}},
		},
	}
}

// This test checks that ids tell who began a tunnel, and that chunks have a
// length that credit can bound.
func TestTunnelsHaveTheirRules(t *testing.T) {
	for _, f := range []session.Frame{
		&session.OpenTunnel{Request: session.Request{ID: session.RelayTunnels}},
		&session.DeliverTunnel{ID: 1},
		&session.TunnelData{ID: 1},
	} {
		b := encoded(t, f)
		_, err := session.Decode(f.Kind(), b[5:])
		require.ErrorIs(t, err, session.ErrMalformed, f.Kind())
	}
	_, err := session.Append(nil, &session.TunnelData{Chunk: make([]byte, session.MaxChunk+1)})
	require.ErrorIs(t, err, session.ErrFieldTooLarge)
	_, err = session.Decode(session.KindTunnelData, make([]byte, 9+session.MaxChunk+1))
	require.ErrorIs(t, err, session.ErrMalformed)
	_, err = session.Decode(session.KindTunnelData, make([]byte, 9+session.MaxChunk))
	require.NoError(t, err)

	require.Equal(t, 64, session.ChunkCost(0))
	require.Equal(t, 64, session.ChunkCost(64))
	require.Equal(t, 65, session.ChunkCost(65))
	require.Equal(t, session.MaxChunk, session.ChunkCost(session.MaxChunk))
}
