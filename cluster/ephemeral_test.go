// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/security"
)

// keyed has the members of this node carry the key k.
func (g *rig) keyed(k byte) []string {
	g.c.registrar.ephemeral = func(string) security.EphemeralKey { return security.EphemeralKey{k} }
	return g.do(rekeyEvent{})
}

// The record says the node's ephemeral key. When that changes it is said again, in a later
// word of the same registration; the lease stands meanwhile, and nothing is said when
// nothing has changed.
func TestARecordSaysTheLatestEphemeralKey(t *testing.T) {
	g := newRig(t, "A")
	g.up("A")
	g.keyed(1)
	g.joins("geo", 1)
	told := func() record {
		m := g.msgs["A"][0].(*registerMsg)
		plain, err := g.epochOf("geo", "me").keys.OpenRecord(m.record)
		require.NoError(t, err)
		r, err := decodeRecord(plain, &lease{leaseKey: leaseKey{testPeer("me"), 1}, incarnation: 7})
		require.NoError(t, err)
		return r
	}
	require.Equal(t, security.EphemeralKey{1}, told().ephemeral)
	require.Equal(t, []string{"registered 1"}, g.grant("A", wire.Refusal_NONE))
	require.Empty(t, g.keyed(1))
	first := g.c.registrar.members[0].revision
	require.Len(t, only("A: register", g.keyed(2)), 1)
	require.Equal(t, security.EphemeralKey{2}, told().ephemeral)
	require.Greater(t, told().revision, first)
	require.Empty(t, only("registered", g.grant("A", wire.Refusal_NONE)), "it was registered all the time")
}

// A caller's member has the key of the newest record: it is another description of the
// same member, with the same load.
func TestACallerLearnsTheNextEphemeralKey(t *testing.T) {
	g := newRig(t)
	g.keyed(1)
	g.looksFor("geo")
	g.joins("geo", 1)
	before := g.c.watcher.names["geo"].view.Members[0]
	require.Equal(t, security.EphemeralKey{1}, before.Ephemeral)
	before.Begin()
	g.keyed(2)
	after := g.c.watcher.names["geo"].view.Members[0]
	require.Equal(t, security.EphemeralKey{2}, after.Ephemeral)
	require.Equal(t, before.ID, after.ID)
	require.Equal(t, before.Incarnation, after.Incarnation)
	require.Equal(t, 1, after.Inflight())
}
