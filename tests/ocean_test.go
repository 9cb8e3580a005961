// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package tests

import (
	"io"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/tests/harness"
)

// BenchmarkATunnelAcrossAnOcean measures a tunnel through two relays and a gateway over
// 100 Mbit/s and 80 ms beside one TCP connection on the same line, in turns. It takes
// half a minute each round: run it with -benchtime 3x.
func BenchmarkATunnelAcrossAnOcean(b *testing.B) {
	wan := harness.NewWAN(b)
	eu, us := wan.Cloud("eu"), wan.Cloud("us")
	wan.Join(eu, us, harness.Line{Delay: 40 * time.Millisecond, Mbps: 100, Queue: 1 << 20})
	far, near := eu.Machine(), us.Machine()
	relays := map[*harness.Cloud]*harness.Relay{eu: eu.Relay("eu", harness.On(far)), us: us.Relay("us", harness.On(near))}
	wan.Gateway("eu-us", us.Machine(), relays, "cluster: sink, from: eu, to: us")
	bare, beside := newDrain(far.Listen(9000)), newDrain(loopback(b))
	defer bare.close()
	defer beside.close()
	relays[eu].Exposes("sink", beside.Addr().String())
	relays[us].Sees(1, "sink")
	port := relays[us].Forwards("sink").Said()
	b.ResetTimer()
	var sums [2]float64
	for range b.N {
		sums[0] += bare.rate(b, near.Dial(far.At(9000)))
		c, err := net.Dial("tcp", port)
		require.NoError(b, err)
		sums[1] += beside.rate(b, c)
	}
	b.ReportMetric(sums[0]/float64(b.N), "tcp-Mbit/s")
	b.ReportMetric(sums[1]/float64(b.N), "tunnel-Mbit/s")
	b.ReportMetric(sums[1]/sums[0], "tunnel/tcp")
}

func loopback(b *testing.B) net.Listener {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(b, err)
	return l
}

// drain accepts connections and counts what comes.
type drain struct {
	net.Listener
	got  atomic.Int64
	over chan struct{}
}

func newDrain(l net.Listener) *drain {
	d := &drain{Listener: l, over: make(chan struct{})}
	go func() {
		defer close(d.over)
		for {
			c, err := d.Accept()
			if err != nil {
				return
			}
			_, _ = io.Copy(d, c)
			_ = c.Close()
		}
	}()
	return d
}

// Write implements io.Writer.
func (d *drain) Write(p []byte) (int, error) { d.got.Add(int64(len(p))); return len(p), nil }

func (d *drain) close() {
	_ = d.Listener.Close()
	<-d.over
}

// rate fills the connection for 14 s and returns what arrived in the last 10, in Mbit/s.
func (d *drain) rate(b *testing.B, c net.Conn) float64 {
	b.Helper()
	var stopped atomic.Bool
	over := make(chan struct{})
	go func() {
		defer close(over)
		for buf := make([]byte, 1<<16); !stopped.Load(); {
			if _, err := c.Write(buf); err != nil {
				return
			}
		}
	}()
	time.Sleep(4 * time.Second)
	before, began := d.got.Load(), time.Now()
	time.Sleep(10 * time.Second)
	got, took := d.got.Load()-before, time.Since(began)
	stopped.Store(true)
	_ = c.Close()
	<-over
	return float64(got) * 8 / 1e6 / took.Seconds()
}
