// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package tcp_test

import (
	"context"
	"crypto/rand"
	"net"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/net/nettest"

	"github.com/arke-mesh/arke/cmd/arke/internal/tcp"
	"github.com/arke-mesh/arke/gateway"
	"github.com/arke-mesh/arke/internal/node"
	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/relay"
	"github.com/arke-mesh/arke/relay/client"
	"github.com/arke-mesh/arke/security"
)

// relays starts relays of one network, and returns a client of each.
func relays(t *testing.T, file security.NetworkFile, count int) (clients []*client.Client, seeds []string) {
	t.Helper()
	for range count {
		n, err := node.New(node.Config{Network: file, Listen: []string{anyPort}, NoMDNS: true, Seeds: seeds})
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, n.Close()) })
		require.NoError(t, n.Start(t.Context()))
		r, err := relay.New(relay.Config{Node: n, Listen: anyPort, Tokens: []relay.Token{{Name: "test", Secret: "open sesame, please"}}})
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, r.Close()) })
		require.NoError(t, r.Start(t.Context()))
		c, err := client.New(client.Config{Address: r.Addr(), Token: "open sesame, please"})
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, c.Close()) })
		require.NoError(t, c.Start(t.Context()))
		clients = append(clients, c)
		seeds = append(seeds, n.Addrs()[0]+"/p2p/"+n.Self().String())
	}
	return clients, seeds
}

// patient is an opener that waits until it has heard of the member.
type patient struct{ *client.Client }

func (p patient) OpenTunnel(ctx context.Context, cluster string, first patterns.Message, _ ...patterns.RequestOption) (patterns.Tunnel, error) {
	return p.Client.OpenTunnel(ctx, cluster, first, patterns.WaitForMember())
}

func networkFile(t *testing.T, name string) security.NetworkFile {
	t.Helper()
	file, err := security.GenerateNetworkFile(name, rand.Reader)
	require.NoError(t, err)
	return file
}

func TestConnectionsThroughForwardAndExposeAreNetConns(t *testing.T) {
	// This test runs what golang.org/x/net expects of every net.Conn with connections
	// that go through 'arke forward', real relays and 'arke expose'.
	for name, way := range map[string]func(t *testing.T) (near, far *client.Client){
		"one relay": func(t *testing.T) (near, far *client.Client) {
			c, _ := relays(t, networkFile(t, "one"), 1)
			return c[0], c[0]
		},
		"two relays": func(t *testing.T) (near, far *client.Client) {
			c, _ := relays(t, networkFile(t, "two"), 2)
			return c[0], c[1]
		},
		"gateway": func(t *testing.T) (near, far *client.Client) {
			eu, us := networkFile(t, "eu"), networkFile(t, "us")
			there, euSeeds := relays(t, eu, 1)
			here, usSeeds := relays(t, us, 1)
			side := func(f security.NetworkFile, seeds []string) gateway.Network {
				return gateway.Network{Name: f.Name, Node: node.Config{Network: f, Listen: []string{anyPort}, NoMDNS: true, Seeds: seeds}}
			}
			g, err := gateway.New(gateway.Config{
				Networks:  []gateway.Network{side(eu, euSeeds), side(us, usSeeds)},
				Crossings: []gateway.Crossing{{From: "eu", To: "us", Cluster: "db", Reseal: true}},
			})
			require.NoError(t, err)
			t.Cleanup(func() { require.NoError(t, g.Close()) })
			require.NoError(t, g.Start(context.Background()))
			return here[0], there[0]
		},
	} {
		t.Run(name, func(t *testing.T) {
			near, far := way(t)
			service := listen(t, anyPort)
			e := tcp.NewExposer(tcp.ExposeConfig{Cluster: "db", Target: service.Addr().String(), Server: far})
			ctx, stop := context.WithCancel(context.Background())
			exposed := make(chan error, 1)
			go func() { exposed <- e.Run(ctx) }()
			port := listen(t, anyPort)
			f := tcp.NewForwarder(tcp.ForwardConfig{Listener: port, Cluster: "db", Opener: patient{near}})
			forwarded := make(chan error, 1)
			go func() { forwarded <- f.Serve(ctx) }()
			t.Cleanup(func() {
				stop()
				require.NoError(t, <-exposed)
				require.NoError(t, <-forwarded)
				_ = f.Shutdown(ctx)
				e.Close()
			})
			probe, err := service.AcceptTCP() // by which it looks whether the service is there
			require.NoError(t, err)
			require.NoError(t, probe.Close())
			nettest.TestConn(t, func() (c1, c2 net.Conn, stop func(), err error) {
				if c1, err = net.Dial("tcp", port.Addr().String()); err != nil {
					return nil, nil, nil, err
				}
				if c2, err = service.Accept(); err != nil {
					return nil, nil, nil, err
				}
				return c1, c2, func() {
					_ = c1.Close()
					_ = c2.Close()
				}, nil
			})
		})
	}
}
