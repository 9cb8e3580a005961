// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package node_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"testing"

	"github.com/arke-mesh/arke/node"
	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/security"
)

// sink reads a tunnel to its end and says how much came.
func sink(ctx context.Context, t patterns.Tunnel) error {
	for sum := 0; ; {
		body, err := t.Receive(ctx)
		if errors.Is(err, io.EOF) {
			return t.Send(ctx, fmt.Append(nil, sum))
		} else if err != nil {
			return err
		}
		sum += len(body)
	}
}

// BenchmarkTunnel is one tunnel between two nodes on loopback, one way. The
// program in tests/measure has a bare libp2p stream beside it.
func BenchmarkTunnel(b *testing.B) {
	keys := func(c *node.Config) {
		c.ClusterKeys = map[string][]security.KeyVersion{"sink": {{Version: 1, Key: security.Key{1}}}}
	}
	for _, size := range []int{1 << 10, 64 << 10} {
		b.Run(fmt.Sprint(size), func(b *testing.B) { benchmarkTunnel(b, size, nil) })
		b.Run(fmt.Sprint(size, " sealed"), func(b *testing.B) { benchmarkTunnel(b, size, keys) })
	}
}

func benchmarkTunnel(b *testing.B, size int, change func(*node.Config)) {
	network := newNetwork(b)
	host := start(b, network, change)
	caller := start(b, network, change, host)
	serve(b, host, "sink", patterns.Service{Tunnel: sink}, patterns.Limits{})
	t, err := caller.OpenTunnel(b.Context(), "sink", patterns.Message{}, patterns.WaitForMember())
	if err != nil {
		b.Fatal(err)
	}
	body := make([]byte, size)
	b.SetBytes(int64(size))
	b.ReportAllocs()
	b.ResetTimer()
	for range b.N {
		if err := t.Send(b.Context(), body); err != nil {
			b.Fatal(err)
		}
	}
	_ = t.CloseSend()
	sum, err := t.Receive(b.Context())
	if err != nil || string(sum) != fmt.Sprint(b.N*size) {
		b.Fatal(string(sum), err)
	}
}

// BenchmarkTunnelRoundTrip is a message there and one back.
func BenchmarkTunnelRoundTrip(b *testing.B) {
	network := newNetwork(b)
	host := start(b, network, nil)
	caller := start(b, network, nil, host)
	serve(b, host, "echo", patterns.Service{Tunnel: func(ctx context.Context, t patterns.Tunnel) error {
		for {
			body, err := t.Receive(ctx)
			if err == nil {
				err = t.Send(ctx, body)
			}
			if err != nil {
				return nil
			}
		}
	}}, patterns.Limits{})
	t, err := caller.OpenTunnel(b.Context(), "echo", patterns.Message{}, patterns.WaitForMember())
	if err != nil {
		b.Fatal(err)
	}
	body := make([]byte, 1<<10)
	b.ReportAllocs()
	for b.Loop() {
		if err := t.Send(b.Context(), body); err != nil {
			b.Fatal(err)
		}
		if _, err := t.Receive(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
}
