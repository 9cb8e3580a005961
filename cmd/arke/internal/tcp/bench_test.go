// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package tcp_test

import (
	"context"
	"io"
	"net"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/cmd/arke/internal/fake"
	"github.com/arke-mesh/arke/cmd/arke/internal/tcp"
)

func TestIdleConnectionHoldsNoBuffer(t *testing.T) {
	// This test counts the memory of connections that were used once and are
	// silent since: far less than the 64 KiB that one read may take.
	const count = 200
	splicer := &tcp.Splicer{}
	ctx, cut := context.WithCancel(context.Background())
	done := make(chan error, count)
	clients := make([]*net.TCPConn, count)
	members := make([]*fake.Tunnel, count)
	for i := range count {
		client, conn := wire(t)
		caller, member := fake.Pair(1 << 16)
		clients[i], members[i] = client, member
		go func() { done <- splicer.Splice(ctx, conn, caller) }()
	}
	before := memory()
	for i := range count {
		writes(t, clients[i], "x")
		_, err := members[i].Receive(t.Context())
		require.NoError(t, err)
	}
	per := (int64(memory()) - int64(before)) / count
	t.Logf("%d bytes per connection", per)
	require.Less(t, per, int64(4<<10))
	cut()
	for range count {
		require.ErrorIs(t, <-done, context.Canceled)
	}
}

// memory returns what is in use, on the heap and as stacks.
func memory() uint64 {
	runtime.GC()
	runtime.GC() // the first one moves pooled buffers aside only
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapInuse + m.StackInuse
}

// BenchmarkSplice measures a connection through two splices whose tunnel costs
// next to nothing, beside a direct one.
func BenchmarkSplice(b *testing.B) {
	for _, way := range []struct {
		name    string
		connect func(b *testing.B) (client, server *net.TCPConn)
	}{{"direct", direct}, {"spliced", spliced}} {
		b.Run("roundtrip/"+way.name, func(b *testing.B) {
			client, server := way.connect(b)
			go func() { _, _ = io.Copy(server, server) }()
			buf := make([]byte, 100)
			b.ReportAllocs()
			for b.Loop() {
				if _, err := client.Write(buf); err != nil {
					b.Fatal(err)
				}
				if _, err := io.ReadFull(client, buf); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run("stream/"+way.name, func(b *testing.B) {
			client, server := way.connect(b)
			go func() { _, _ = io.Copy(io.Discard, struct{ io.Reader }{server}) }()
			buf := make([]byte, 64<<10)
			b.SetBytes(int64(len(buf)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := client.Write(buf); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func direct(b *testing.B) (client, server *net.TCPConn) {
	client, server = wire(b)
	require.NoError(b, client.SetDeadline(time.Time{})) // it runs as long as it is told to
	return client, server
}

func spliced(b *testing.B) (client, server *net.TCPConn) {
	client, left := direct(b)
	right, server := direct(b)
	caller, member := fake.Pair(4 << 20)
	splicer := &tcp.Splicer{}
	ctx, cut := context.WithCancel(context.Background())
	done := make(chan error, 2)
	go func() { done <- splicer.Splice(ctx, left, caller) }()
	go func() { done <- splicer.Splice(ctx, right, member) }()
	b.Cleanup(func() { cut(); <-done; <-done })
	return client, server
}
