// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package client_test

import (
	"context"
	"net"
	"testing"

	"golang.org/x/net/nettest"

	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/patterns/tunnel/conn"
)

// This test runs what golang.org/x/net expects of every net.Conn with a tunnel
// between two clients.
func TestATunnelIsANetConn(t *testing.T) {
	_, server, caller := twoClients(t, nil)
	accepted, over := make(chan patterns.Tunnel, 1), make(chan struct{})
	serveTunnels(t, server, "pipe", func(_ context.Context, tn patterns.Tunnel) error {
		accepted <- tn
		<-over // who returns drops what was not read
		return nil
	}, patterns.Limits{})
	defer close(over)
	nettest.TestConn(t, func() (c1, c2 net.Conn, stop func(), err error) {
		opened, err := caller.OpenTunnel(t.Context(), "pipe", patterns.Message{})
		if err != nil {
			return nil, nil, nil, err
		}
		c1, c2 = conn.New(opened), conn.New(<-accepted)
		return c1, c2, func() {
			_ = c1.Close()
			_ = c2.Close()
		}, nil
	})
}
