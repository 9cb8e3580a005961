// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package relay_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/internal/wire/session"
	"github.com/arke-mesh/arke/patterns"
)

// This test breaks tunnels of a client at either side and with data under way:
// another tunnel of the same session, its requests and its subscription go on.
func TestABrokenTunnelDisturbsNothingElse(t *testing.T) {
	r, n, cfg := start(t, nil)
	serveEcho(t, n, "geo")
	sides := serveTunnels(t, n, "chat", patterns.Limits{})
	b := attach(t, cfg.Socket)
	b.subscribe(&session.Subscribe{ID: 1, Pattern: "a"})
	b.open(1, "chat", 64<<10)
	steady := <-sides
	for id := uint64(2); id < 12; id++ {
		b.send(&session.OpenTunnel{Request: session.Request{ID: id, Cluster: "chat"}, Credit: 64 << 10})
		require.Zero(t, past[*session.TunnelReply](b).Failure)
		side := <-sides
		b.send(&session.TunnelData{ID: id, Chunk: []byte("half of a message")})
		if id%2 == 0 {
			require.NoError(t, side.Reset(7, "broken"))
			for {
				if reset, ok := b.next().(*session.TunnelReset); ok {
					require.Equal(t, id, reset.ID)
					break
				}
			}
		} else {
			b.send(&session.TunnelReset{ID: id, Failure: session.Failure{Outcome: session.OutcomeRemoteError, Code: 7, Text: "broken"}})
			_, err := side.Receive(t.Context())
			var reset *patterns.TunnelError
			require.ErrorAs(t, err, &reset)
		}

		b.send(&session.TunnelData{ID: 1, Last: true, Chunk: []byte("whole")})
		body, err := steady.Receive(t.Context())
		require.NoError(t, err)
		require.Equal(t, "whole", string(body))
		b.send(&session.Request{ID: id, Cluster: "geo", Body: []byte("hi")})
		require.Equal(t, "hi", string(past[*session.Reply](b).Body))
		require.NoError(t, n.Publish(t.Context(), "a", patterns.Message{}))
		require.Equal(t, id-1, past[*session.Publication](b).Number)
	}
	require.Empty(t, r.Status().Drops)
}
