// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package node_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/patterns"
)

func TestRequestReachesAMemberOnAnotherNode(t *testing.T) {
	// This test checks that a request crosses two nodes, with headers, and
	// that the caller learns who answered.
	network := newNetwork(t)
	a := start(t, network, nil)
	b := start(t, network, nil, a)
	member := serve(t, a, "echo", echo, patterns.Limits{})
	var how patterns.Outcome
	m := patterns.Message{Headers: patterns.Headers{{Key: "k", Value: "v"}}, Body: []byte("hi")}
	reply, err := b.Request(t.Context(), "echo", m, patterns.Report(&how))
	require.NoError(t, err)
	require.Equal(t, m, reply)
	require.Equal(t, patterns.Outcome{Member: member.Member(), Attempts: 1}, how)
}
