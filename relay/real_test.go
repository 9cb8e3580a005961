// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package relay_test

import (
	"crypto/rand"
	"net"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/internal/node"
	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/relay"
	"github.com/arke-mesh/arke/security"
)

// lone returns a node that is not started: enough for who does not use it.
func lone(t *testing.T) *node.Node {
	t.Helper()
	file, err := security.GenerateNetworkFile("test", rand.Reader)
	require.NoError(t, err)
	return nodeOf(t, file)
}

// nodeOf returns a node of a network that is not started, either.
func nodeOf(t testing.TB, file security.NetworkFile, seeds ...string) *node.Node {
	t.Helper()
	n, err := node.New(node.Config{Network: file, Listen: []string{"/ip4/127.0.0.1/tcp/0"}, Seeds: seeds, NoMDNS: true})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, n.Close()) })
	return n
}

// start runs a relay on a real socket, over a node that is not started, until the
// test ends.
func start(t *testing.T, change func(*relay.Config)) (*relay.Relay, relay.Config) {
	t.Helper()
	return startOn(t, lone(t), change)
}

func startOn(t testing.TB, n *node.Node, change func(*relay.Config)) (*relay.Relay, relay.Config) {
	t.Helper()
	cfg := relay.Config{Node: n, Peer: n.Self().String(), Socket: filepath.Join(t.TempDir(), "arke", "relay.sock")}
	if change != nil {
		change(&cfg)
	}
	r, err := relay.New(cfg)
	require.NoError(t, err)
	require.NoError(t, r.Start(t.Context()))
	t.Cleanup(func() { require.NoError(t, r.Close()) })
	return r, cfg
}

// dial connects to a real socket, and says nothing.
func dial(t *testing.T, network, address string) *binding {
	t.Helper()
	conn, err := net.Dial(network, address)
	require.NoError(t, err)
	t.Cleanup(func() { conn.Close() })
	return newBinding(t, conn)
}

// letIn attaches where the waiting room is full, as a client does: chance may send it
// away instead of somebody who waits, and then it comes again.
func letIn(t *testing.T, socket string) {
	t.Helper()
	said := hello()
	for range 20 {
		b := dial(t, "unix", socket)
		b.read()
		_, _ = b.conn.Write(frame(wire.LaneCtl, wire.KindHello, &said)) // that it is sent away is read
		if a := b.take(); a.err == nil {
			require.Equal(t, wire.KindHello, a.kind, "%q", a.body)
			return
		}
	}
	require.Fail(t, "it was sent away 20 times in a row")
}

// attach says Hello at a real socket.
func attach(t *testing.T, socket string) *binding {
	t.Helper()
	return dial(t, "unix", socket).greet(hello())
}
