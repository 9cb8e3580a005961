// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package arkegrpc_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"

	"github.com/arke-mesh/arke"
	"github.com/arke-mesh/arke/arkegrpc"
	"github.com/arke-mesh/arke/node"
)

// join starts a node on loopback.
func join(t *testing.T, network []byte, seeds ...string) *arke.Conn {
	t.Helper()
	c, err := node.Join(t.Context(), node.NetworkText(network), node.Listen("127.0.0.1:0"), node.NoMDNS(), node.Seeds(seeds...))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, c.Close()) })
	return c
}

// serve starts a gRPC server, as it is, as a member of cluster "geo". Its answers
// say who it is.
func serve(t *testing.T, c *arke.Conn, name string) *grpc.Server {
	t.Helper()
	l, err := c.Listen("geo")
	require.NoError(t, err)
	s := grpc.NewServer(grpc.UnaryInterceptor(func(ctx context.Context, req any, _ *grpc.UnaryServerInfo, h grpc.UnaryHandler) (any, error) {
		if err := grpc.SetHeader(ctx, metadata.Pairs("who", name)); err != nil {
			return nil, err
		}
		return h(ctx, req)
	}))
	healthpb.RegisterHealthServer(s, health.NewServer())
	go s.Serve(l)
	t.Cleanup(s.Stop)
	return s
}

// ask makes one call and returns who answered.
func ask(t *testing.T, cc *grpc.ClientConn) (string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	var header metadata.MD
	_, err := healthpb.NewHealthClient(cc).Check(ctx, &healthpb.HealthCheckRequest{}, grpc.Header(&header))
	if err != nil {
		return "", err
	}
	return header.Get("who")[0], nil
}

func TestCallsAreBalancedOneByOneAndFollowTheMembers(t *testing.T) {
	// This test makes calls through one grpc.ClientConn: nobody is there, then one
	// member, then two that share the calls, then the one that is left.
	network, err := node.NewNetwork("test")
	require.NoError(t, err)
	caller := join(t, network)
	cc, err := grpc.NewClient("arke:///geo", arkegrpc.DialOptions(caller)...)
	require.NoError(t, err)
	defer cc.Close()
	_, err = ask(t, cc)
	require.Equal(t, codes.Unavailable, status.Code(err), err)

	first := serve(t, join(t, network, caller.Addrs()...), "first")
	shares := func(want ...string) func() bool {
		return func() bool {
			got := map[string]int{}
			for range 50 {
				who, err := ask(t, cc)
				if err != nil {
					return false
				}
				got[who]++
			}
			for _, who := range want {
				if got[who] < 50/len(want)/3 {
					return false
				}
			}
			return len(got) == len(want)
		}
	}
	require.Eventually(t, shares("first"), 30*time.Second, 50*time.Millisecond)
	serve(t, join(t, network, caller.Addrs()...), "second")
	require.Eventually(t, shares("first", "second"), 30*time.Second, 50*time.Millisecond)
	first.GracefulStop()
	require.Eventually(t, shares("second"), 30*time.Second, 50*time.Millisecond)
}
