// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package arkehttp_test

import (
	"net"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/net/nettest"

	"github.com/arke-mesh/arke"
	"github.com/arke-mesh/arke/arkehttp"
	"github.com/arke-mesh/arke/node"
)

func TestConnectionsOfATransportAreNetConns(t *testing.T) {
	// This test runs what golang.org/x/net expects of every net.Conn with those that
	// requests go through. The nodes are real, on loopback.
	network, err := node.NewNetwork("web")
	require.NoError(t, err)
	join := func(seeds ...string) *arke.Conn {
		c, err := node.Join(t.Context(), node.NetworkText(network), node.Listen("127.0.0.1:0"), node.NoMDNS(), node.Seeds(seeds...))
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, c.Close()) })
		return c
	}
	server := join()
	transport := arkehttp.NewTransport(join(server.Addrs()...), arke.WaitForMember())
	l, err := server.Listen("web")
	require.NoError(t, err)
	nettest.TestConn(t, func() (c1, c2 net.Conn, stop func(), err error) {
		if c1, err = transport.Dial(t.Context(), "tcp", "web:80"); err != nil {
			return nil, nil, nil, err
		}
		if c2, err = l.Accept(); err != nil {
			return nil, nil, nil, err
		}
		return c1, c2, func() {
			_ = c1.Close()
			_ = c2.Close()
		}, nil
	})
}
