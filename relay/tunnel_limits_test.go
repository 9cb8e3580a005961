// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package relay_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/internal/wire/session"
	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/relay"
	"github.com/arke-mesh/arke/relay/internal/failure"
)

// This test opens one tunnel more than a client's bytes of credit allow, though
// there are places: the named error and its counter; and one later, when there
// is credit again.
func TestOneTunnelBeyondTheCredit(t *testing.T) {
	r, n, cfg := start(t, func(cfg *relay.Config) {
		cfg.Limits.Tunnels = 100
		cfg.Limits.TunnelBytes = 1000 // three times the least that a tunnel has
	})
	serveTunnels(t, n, "chat", patterns.Limits{})
	b := attach(t, cfg.Socket)
	for id := range uint64(3) {
		b.open(id+1, "chat", 0)
	}
	b.send(&session.OpenTunnel{Request: session.Request{ID: 4, Cluster: "chat"}})
	err := failure.Error(expect[*session.TunnelReply](b).Failure, "chat")
	require.ErrorIs(t, err, relay.ErrTooManyTunnels)
	require.ErrorIs(t, err, patterns.ErrTooMany)
	require.EqualValues(t, 1, r.Status().Drops["tunnel.too_many"])
	b.send(&session.TunnelReset{ID: 1, Failure: session.Failure{Outcome: session.OutcomeRemoteError, MaybeRan: true}})
	eventually(t, func() bool { return r.Status().Clients[0].Tunnels == 2 }, "the tunnel stays")
	b.open(5, "chat", 0)
}
