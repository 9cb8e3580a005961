// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package client_test

import (
	"context"
	"fmt"
	"net"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/relay"
	"github.com/arke-mesh/arke/relay/client"
)

// instant is a node that replies with the request, and costs nothing.
type instant struct{ patterns.Messenger }

func (instant) Request(_ context.Context, _ string, m patterns.Message, _ ...patterns.RequestOption) (patterns.Message, error) {
	return m, nil
}

// BenchmarkRequest measures a request from a client through its relay to a node
// that replies at once, and back: what attaching costs beside embedding.
func BenchmarkRequest(b *testing.B) {
	socket := filepath.Join(b.TempDir(), "s")
	r, err := relay.New(relay.Config{Node: instant{}, Socket: socket})
	require.NoError(b, err)
	require.NoError(b, r.Start(b.Context()))
	defer r.Close()
	c, err := client.New(client.Config{Socket: socket})
	require.NoError(b, err)
	require.NoError(b, c.Start(b.Context()))
	defer c.Close()
	for _, size := range []int{16, 1 << 10, 64 << 10} {
		m := patterns.Message{Body: make([]byte, size)}
		for _, parallel := range []int{1, 64} {
			b.Run(fmt.Sprintf("size=%d/callers=%d", size, parallel), func(b *testing.B) {
				b.ReportAllocs()
				b.SetParallelism(parallel)
				if parallel == 1 {
					for b.Loop() {
						ask(b, c, m)
					}
					return
				}
				b.RunParallel(func(pb *testing.PB) {
					for pb.Next() {
						ask(b, c, m)
					}
				})
			})
		}
	}
}

func ask(b *testing.B, c *client.Client, m patterns.Message) {
	if _, err := c.Request(b.Context(), "geo", m); err != nil {
		b.Error(err)
	}
}

// BenchmarkBareEcho is the floor: the same bytes over a unix socket, with
// nothing around them.
func BenchmarkBareEcho(b *testing.B) {
	l, err := net.Listen("unix", filepath.Join(b.TempDir(), "s"))
	require.NoError(b, err)
	defer l.Close()
	go func() {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		defer conn.Close()
		buf := make([]byte, 64<<10)
		for {
			n, err := conn.Read(buf)
			if err != nil {
				return
			}
			conn.Write(buf[:n])
		}
	}()
	conn, err := net.Dial("unix", l.Addr().String())
	require.NoError(b, err)
	defer conn.Close()
	buf := make([]byte, 1<<10)
	for b.Loop() {
		_, err := conn.Write(buf)
		require.NoError(b, err)
		_, err = conn.Read(buf)
		require.NoError(b, err)
	}
}
