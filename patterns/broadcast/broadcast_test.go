// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package broadcast_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/patterns/broadcast"
	"github.com/arke-mesh/arke/patterns/internal/fake"
	"github.com/arke-mesh/arke/patterns/request"
)

func TestABroadcastCountsMembersAndNodes(t *testing.T) {
	// This test checks who counts: members that took it and the nodes they
	// are on; a member that takes no broadcasts is missing.
	no := &patterns.RemoteError{Cluster: "geo", Code: patterns.CodeNoMethod}
	a := &fake.Asker{Outcomes: []fake.Member{
		{Node: "a"}, {Node: "a"}, {Node: "b"}, {Node: "c", Err: no}, {Node: "d", Err: patterns.ErrOverloaded},
	}}
	e := broadcast.New(a)
	m := patterns.Message{Body: []byte("x")}
	result, err := e.Broadcast(t.Context(), "geo", m)
	require.NoError(t, err)
	require.Equal(t, patterns.BroadcastResult{
		Members: 3, Nodes: 2, Missing: []patterns.Missing{fake.Missing(4, "c", no), fake.Missing(5, "d", patterns.ErrOverloaded)},
	}, result)
	require.Equal(t, request.All{Cluster: "geo", Pattern: patterns.PatternBroadcast, Message: m}, a.Seen)

	a.Outcomes = a.Outcomes[:3]
	result, err = e.Broadcast(t.Context(), "geo", m)
	require.NoError(t, err)
	require.True(t, result.Complete)
	a.Partial = true
	result, err = e.Broadcast(t.Context(), "geo", m)
	require.NoError(t, err)
	require.False(t, result.Complete, "somebody may be missing who is not known")
	require.Equal(t, broadcast.Status{Sent: 3, Complete: 1, Accepted: 9, Missing: 2}, e.Status())

	a.Err = patterns.ErrNoMembers
	_, err = e.Broadcast(t.Context(), "geo", m)
	require.Equal(t, patterns.ErrNoMembers, err)
}
