// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package conn_test

import (
	"context"
	"crypto/rand"
	"net"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/net/nettest"

	"github.com/arke-mesh/arke/internal/conn"
	"github.com/arke-mesh/arke/internal/node"
	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/security"
)

func TestAConnIsANetConn(t *testing.T) {
	// This test runs what golang.org/x/net expects of every net.Conn: bytes come
	// as they were written, deadlines end calls, those under way and those to
	// come, and nothing else, and methods may be called concurrently. The nodes
	// are real, on loopback; the tunnels plain, and sealed.
	for name, keys := range map[string]map[string][]security.KeyVersion{
		"plain":  nil,
		"sealed": {"pipe": {{Version: 1, Key: security.Key{1}}}},
	} {
		t.Run(name, func(t *testing.T) {
			network, err := security.GenerateNetworkFile("pipe", rand.Reader)
			require.NoError(t, err)
			host := startNode(t, network, keys)
			caller := startNode(t, network, keys, host.Addrs()[0]+"/p2p/"+host.Self().String())
			accepted := make(chan *conn.Conn, 1)
			_, err = host.Serve(t.Context(), "pipe", patterns.Service{Tunnel: func(_ context.Context, t patterns.Tunnel) error {
				accepted <- conn.Accept(t)
				return nil
			}}, patterns.Limits{})
			require.NoError(t, err)
			nettest.TestConn(t, func() (c1, c2 net.Conn, stop func(), err error) {
				opened, err := caller.OpenTunnel(t.Context(), "pipe", patterns.Message{}, patterns.WaitForMember())
				if err != nil {
					return nil, nil, nil, err
				}
				c1, c2 = conn.New(opened), <-accepted
				return c1, c2, func() {
					_ = c1.Close()
					_ = c2.Close()
				}, nil
			})
		})
	}
}

func startNode(t *testing.T, network security.NetworkFile, keys map[string][]security.KeyVersion, seeds ...string) *node.Node {
	n, err := node.New(node.Config{
		Network: network, ClusterKeys: keys, Listen: []string{"/ip4/127.0.0.1/tcp/0"}, NoMDNS: true, Seeds: seeds,
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, n.Close()) })
	require.NoError(t, n.Start(t.Context()))
	return n
}
