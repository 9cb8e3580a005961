// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package simnet_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/internal/node"
	"github.com/arke-mesh/arke/internal/simnet"
	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/sim"
)

func TestNodesFindEachOtherAndComeBack(t *testing.T) {
	// This test serves a cluster on one node of three and asks from another,
	// before and after the member's node was crashed and started anew. Twice,
	// with the same trace.
	sim.Replay(t, sim.Config{Seed: 1}, 2, func(t *testing.T, n *sim.Network) {
		s := simnet.New(t, n, "test")
		caller := s.Start("a")
		s.Start("b")
		zone := func(c *node.Config) { c.Zone = "z" }
		echo := patterns.HandlerFunc(func(_ context.Context, r *patterns.Request) (patterns.Message, error) {
			return patterns.Message{Body: r.Body}, nil
		})
		ask := func(member *node.Node) {
			_, err := member.Serve(context.Background(), "echo", echo, patterns.Limits{})
			require.NoError(t, err)
			reply, err := caller.Request(context.Background(), "echo", patterns.Message{Body: []byte("ho")}, patterns.WaitForMember())
			require.NoError(t, err)
			require.Equal(t, "ho", string(reply.Body))
			members, err := caller.Members(context.Background(), "echo")
			require.NoError(t, err)
			require.Equal(t, "z", members[0].Zone)
		}
		c := s.Start("c", zone)
		ask(c)
		n.Crash("c")
		require.NoError(t, c.Close())
		ask(s.Start("c", zone))
	})
}
