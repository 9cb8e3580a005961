// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package overlay_test

import (
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/overlay"
)

// BenchmarkSend measures one sender and one handler over streams in memory:
// one operation is one frame from Send to its handler. The received body is
// the one allocation.
func BenchmarkSend(b *testing.B) {
	for _, size := range []int{16, 1024} {
		b.Run(fmt.Sprint(size, "B"), func(b *testing.B) { benchmarkSend(b, high, size) })
	}
	b.Run("1024B to self", func(b *testing.B) { benchmarkSend(b, low, 1024) })
}

func benchmarkSend(b *testing.B, to peer.ID, size int) {
	net := newMemNet()
	var got atomic.Int64
	done := make(chan struct{}, 1)
	handler := func(*overlay.Link, []byte) {
		if got.Add(1) == int64(b.N) {
			done <- struct{}{}
		}
	}
	sender, receiver := newNode(b, net, low), newNode(b, net, high)
	for _, n := range []*node{sender, receiver} {
		n.Handle(wire.KindCancel, handler)
		n.start()
	}
	l := sender.wait(to)
	body := make([]byte, size)
	b.SetBytes(int64(size))
	b.ReportAllocs()
	b.ResetTimer()
	for range b.N {
		if _, err := l.Send(overlay.LaneRPC, wire.KindCancel, body); err == nil {
			continue
		}
		_, err := l.SendWait(b.Context(), overlay.LaneRPC, wire.KindCancel, body)
		require.NoError(b, err)
	}
	<-done
}

// BenchmarkRoundTrip measures a frame there and another one back.
func BenchmarkRoundTrip(b *testing.B) {
	net := newMemNet()
	back := make(chan struct{}, 1)
	a, c := newNode(b, net, low), newNode(b, net, high)
	a.Handle(wire.KindCancel, func(*overlay.Link, []byte) { back <- struct{}{} })
	c.Handle(wire.KindCancel, func(l *overlay.Link, body []byte) { l.Send(overlay.LaneRPC, wire.KindCancel, body) })
	a.start()
	c.start()
	l := a.wait(high)
	body := make([]byte, 16)
	b.ReportAllocs()
	b.ResetTimer()
	for range b.N {
		_, err := l.Send(overlay.LaneRPC, wire.KindCancel, body)
		require.NoError(b, err)
		<-back
	}
}
