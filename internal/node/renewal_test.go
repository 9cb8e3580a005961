// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package node_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/internal/node"
	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/security"
)

func TestConnectionsOfARetiredKeyAreReplacedBeforeTheyBreak(t *testing.T) {
	// This test rotates the network's key of nodes on real connections, while a tunnel
	// and requests go on. Each connection is replaced by one that the new key has admitted:
	// when the old key is taken away nothing is left to be closed. Sessions and the tunnel
	// are those of before, no request fails, and nothing comes twice or out of order.
	if testing.Short() {
		t.Skip("connections are replaced within half a minute")
	}
	network := newNetwork(t)
	var handled atomic.Int64
	a := start(t, network, nil)
	b := start(t, network, nil, a)
	service := patterns.Service{
		Request: patterns.HandlerFunc(func(ctx context.Context, r *patterns.Request) (patterns.Message, error) {
			handled.Add(1)
			return echo(ctx, r)
		}),
		Tunnel: echoTunnel,
	}
	serve(t, a, "plain", service, patterns.Limits{})
	_, err := b.Request(t.Context(), "plain", patterns.Message{}, patterns.WaitForMember())
	require.NoError(t, err)
	before, there := linkOf(t, a, b), linkOf(t, b, a)
	handled.Store(0)

	ctx, stop := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	var asked, chunks atomic.Int64
	exchange(ctx, t, &wg, b, "plain", &asked, &chunks)

	bring := func(keys []security.KeyVersion) {
		network.Keys = keys
		give(t, network, a, b)
	}
	bring(rotate(t, network.Keys, time.Hour))
	require.Eventually(t, func() bool { return linkOf(t, a, b).addr != before.addr }, time.Minute, 10*time.Millisecond, "no other connection carries the session")
	time.Sleep(100 * time.Millisecond) // the old one is closed
	bring(network.Keys[1:])
	after(t, 200, &asked)
	after(t, 200, &chunks)
	stop()
	wg.Wait()

	require.Equal(t, before.session, linkOf(t, a, b).session)
	require.Equal(t, there.session, linkOf(t, b, a).session)
	require.Equal(t, asked.Load(), handled.Load(), "a request was lost, or handled twice")
	for _, n := range []*node.Node{a, b} {
		require.Zero(t, n.Status().Drops["p2p.key_retired"], "a connection was left that the old key had admitted")
	}
}

// seenLink is what a node says of its link to another.
type seenLink struct {
	session uint64
	addr    string // from where the connection that carries it comes, or where it leads
}

func linkOf(t *testing.T, n, to *node.Node) seenLink {
	t.Helper()
	for _, l := range n.Status().Links {
		if l.Peer == to.Self().String() && l.State == "up" {
			return seenLink{l.Session, l.Addr}
		}
	}
	require.FailNow(t, "there is no link")
	return seenLink{}
}
