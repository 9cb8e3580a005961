// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package gateway_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/gateway"
	"github.com/arke-mesh/arke/internal/node"
	"github.com/arke-mesh/arke/patterns"
)

// bans has a cloud exclude peers.
func (c *cloud) bans(all ...peer.ID) {
	c.t.Helper()
	f := c.file
	f.Bans = all
	require.NoError(c.t, c.seed.SetKeys(node.Keys{Network: f}))
}

// tries asks a few times, each for a second, and says whether anybody answered.
func tries(t *testing.T, n *node.Node, cluster string) (answered bool) {
	t.Helper()
	for range 3 {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		_, err := n.Request(ctx, cluster, patterns.Message{})
		cancel()
		answered = answered || err == nil
	}
	return answered
}

func TestNoGatewayHelpsWhoIsExcluded(t *testing.T) {
	// This test excludes, one after the other: a caller in the network to which a cluster
	// is lent, the member in that from which it is, and the gateway in the former. Five
	// seconds later no call of the first one's reaches the member, nobody's reaches the excluded
	// member, and nobody's takes the excluded gateway; what is not excluded works meanwhile.
	eu, us := newCloud(t, "eu"), newCloud(t, "us")
	var good, bad atomic.Int64
	counts := func(c *atomic.Int64) patterns.Service {
		return patterns.Service{Request: func(context.Context, *patterns.Request) (patterns.Message, error) {
			c.Add(1)
			return patterns.Message{}, nil
		}}
	}
	serve(t, eu.node(), "geo", counts(&good))
	member := eu.node()
	serve(t, member, "geo", counts(&bad))
	join(t, []gateway.Crossing{lent(eu, us, "geo")}, eu, us)
	honest, mallory := us.node(), us.node()
	gets(t, honest, "geo", "")
	gets(t, mallory, "geo", "")
	require.Eventually(t, func() bool { _, _ = ask(t, honest, "geo", ""); return good.Load() > 0 && bad.Load() > 0 }, patience, time.Millisecond)
	members, err := honest.Members(t.Context(), "geo")
	require.NoError(t, err)
	require.NotEmpty(t, members)
	border, err := peer.Decode(members[0].Peer)
	require.NoError(t, err)

	us.bans(mallory.Self())
	time.Sleep(5 * time.Second)
	before := good.Load() + bad.Load()
	require.False(t, tries(t, mallory, "geo"))
	require.Equal(t, before, good.Load()+bad.Load(), "a caller")

	eu.bans(member.Self())
	time.Sleep(5 * time.Second)
	before = bad.Load()
	for range 30 {
		_, err := ask(t, honest, "geo", "")
		require.NoError(t, err)
	}
	require.Equal(t, before, bad.Load(), "a member")

	us.bans(mallory.Self(), border)
	time.Sleep(5 * time.Second)
	before = good.Load()
	require.False(t, tries(t, honest, "geo"))
	require.Equal(t, before, good.Load(), "a gateway")
	us.bans(mallory.Self())
	gets(t, honest, "geo", "")
}
