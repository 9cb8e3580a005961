// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package client_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/patterns"
)

// BenchmarkTunnel measures messages that go from one client through two
// sessions of a relay to another one, over a node that costs little: what
// attaching costs on both sides.
func BenchmarkTunnel(b *testing.B) {
	for _, size := range []int{1 << 10, 64 << 10} {
		b.Run(fmt.Sprintf("size=%d", size), func(b *testing.B) {
			p, server, caller := twoClients(b, nil)
			p.node.TunnelWindow = 4 << 20 // as a node's grows
			done := make(chan struct{})
			serveTunnels(b, server, "bulk", func(ctx context.Context, t patterns.Tunnel) error {
				defer close(done)
				for {
					if _, err := t.Receive(ctx); err != nil {
						return nil
					}
				}
			}, patterns.Limits{})
			tn := open(b, caller, "bulk")
			body := make([]byte, size)
			b.SetBytes(int64(size))
			b.ReportAllocs()
			for b.Loop() {
				require.NoError(b, tn.Send(b.Context(), body))
			}
			require.NoError(b, tn.CloseSend())
			<-done
		})
	}
}

// BenchmarkTunnelEcho measures one small message there and back, one after the
// other: what a conversation, like a database's, pays.
func BenchmarkTunnelEcho(b *testing.B) {
	_, server, caller := twoClients(b, nil)
	serveTunnels(b, server, "echo", echoes, patterns.Limits{})
	tn := open(b, caller, "echo")
	body := make([]byte, 256)
	b.ReportAllocs()
	for b.Loop() {
		require.NoError(b, tn.Send(b.Context(), body))
		_, err := tn.Receive(b.Context())
		require.NoError(b, err)
	}
	require.NoError(b, tn.Close())
}

// BenchmarkBareStream is the floor of BenchmarkTunnel: the same bytes over two
// unix sockets, one after the other, copied by a process in the middle.
func BenchmarkBareStream(b *testing.B) {
	for _, size := range []int{1 << 10, 64 << 10} {
		b.Run(fmt.Sprintf("size=%d", size), func(b *testing.B) {
			dir := b.TempDir()
			first, err := net.Listen("unix", filepath.Join(dir, "a"))
			require.NoError(b, err)
			defer first.Close()
			second, err := net.Listen("unix", filepath.Join(dir, "b"))
			require.NoError(b, err)
			defer second.Close()
			done := make(chan struct{})
			go func() {
				in, _ := first.Accept()
				out, _ := net.Dial("unix", second.Addr().String())
				buf := make([]byte, 64<<10)
				io.CopyBuffer(struct{ io.Writer }{out}, struct{ io.Reader }{in}, buf)
				out.Close()
			}()
			go func() {
				defer close(done)
				in, _ := second.Accept()
				buf := make([]byte, 64<<10)
				io.CopyBuffer(struct{ io.Writer }{io.Discard}, struct{ io.Reader }{in}, buf)
			}()
			conn, err := net.Dial("unix", first.Addr().String())
			require.NoError(b, err)
			body := make([]byte, size)
			b.SetBytes(int64(size))
			for b.Loop() {
				_, err := conn.Write(body)
				require.NoError(b, err)
			}
			conn.Close()
			<-done
		})
	}
}
