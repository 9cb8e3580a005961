// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package node_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"math"
	"runtime"
	"runtime/metrics"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/internal/node"
	"github.com/arke-mesh/arke/internal/raced"
	"github.com/arke-mesh/arke/patterns"
)

// detached is a handler that keeps its tunnel without a goroutine.
func detached(keep func(patterns.Tunnel)) func(context.Context, patterns.Tunnel) error {
	return func(_ context.Context, t patterns.Tunnel) error {
		t.(interface{ Detach() }).Detach()
		keep(t)
		return nil
	}
}

// inUse is the memory of heap and stacks.
func inUse() int {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int(m.HeapInuse + m.StackInuse)
}

// live is the memory that the last garbage collection has left.
func live() int {
	sample := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(sample)
	return int(sample[0].Value.Uint64())
}

func TestTenThousandIdleTunnels(t *testing.T) {
	// This test opens 10,000 tunnels between two nodes of one process, uses each
	// once and leaves them idle: both ends together take no more than 4 KiB of
	// heap and stacks, and no goroutine.
	const tunnels = 10_000
	network := newNetwork(t)
	host := start(t, network, nil)
	caller := start(t, network, nil, host)
	served := make(chan patterns.Tunnel, tunnels+1)
	serve(t, host, "idle", patterns.Service{Tunnel: detached(func(s patterns.Tunnel) { served <- s })}, patterns.Limits{})
	open := func() patterns.Tunnel {
		tunnel, err := caller.OpenTunnel(t.Context(), "idle", patterns.Message{}, patterns.WaitForMember())
		require.NoError(t, err)
		require.NoError(t, tunnel.Send(t.Context(), []byte("once")))
		return tunnel
	}
	opened := make([]patterns.Tunnel, 0, tunnels)
	sources := make([]patterns.Tunnel, 0, tunnels)
	open() // what the first one costs is not the tunnels'
	<-served
	before, goroutines := inUse(), runtime.NumGoroutine()
	for range tunnels {
		opened = append(opened, open())
		sources = append(sources, <-served)
	}
	for _, source := range sources {
		data, err := source.Receive(t.Context())
		require.NoError(t, err)
		require.Equal(t, "once", string(data))
	}
	until(t, func() bool { return runtime.NumGoroutine() < goroutines+200 }) // workers rest after a while
	each := (inUse() - before) / tunnels
	t.Logf("%d bytes for both ends of an idle tunnel", each)
	if !raced.Enabled {
		require.LessOrEqual(t, each, 4<<10)
	}
	require.Equal(t, tunnels+1, caller.Status().Tunnels.Opened)
	require.Equal(t, tunnels+1, host.Status().Tunnels.Served)
	require.LessOrEqual(t, host.Status().Tunnels.BufferBytes, 256<<20)
	runtime.KeepAlive(opened)
	runtime.KeepAlive(sources)
}

func TestTenThousandStalledReaders(t *testing.T) {
	// This test fills 10,000 tunnels whose members don't read: what they hold
	// stays within the node's budget of 160 MiB, and a tunnel beside them works
	// as if they were not there.
	const (
		tunnels = 10_000
		budget  = 160 << 20
	)
	network := newNetwork(t)
	host := start(t, network, func(c *node.Config) { c.TunnelBytes = budget })
	caller := start(t, network, nil, host)
	sources := make(chan patterns.Tunnel, tunnels)
	serve(t, host, "stall", patterns.Service{Tunnel: detached(func(s patterns.Tunnel) { sources <- s })}, patterns.Limits{})
	serve(t, host, "sink", patterns.Service{Tunnel: sink}, patterns.Limits{})
	beside, err := caller.OpenTunnel(t.Context(), "sink", patterns.Message{}, patterns.WaitForMember())
	require.NoError(t, err)
	before := inUse()
	sent := 0
	for range tunnels {
		tunnel, err := caller.OpenTunnel(t.Context(), "stall", patterns.Message{}, patterns.WaitForMember())
		require.NoError(t, err)
		for tunnel.TrySend(make([]byte, 1000)) == nil {
			sent += 1000
		}
	}
	require.Greater(t, sent, budget/4)
	require.LessOrEqual(t, host.Status().Tunnels.BufferBytes, budget)
	grown := inUse() - before
	t.Logf("%d MiB sent in %d tunnels, %d MiB more in use at both nodes", sent>>20, host.Status().Tunnels.Served, grown>>20)
	require.Less(t, grown, budget+budget/2+4<<10*tunnels)
	for range 1000 {
		require.NoError(t, beside.Send(t.Context(), make([]byte, 10_000)))
	}
	require.NoError(t, beside.CloseSend())
	sum, err := beside.Receive(t.Context())
	require.NoError(t, err)
	require.Equal(t, fmt.Sprint(10_000_000), string(sum))
}

func TestAGigabytePassesA64KiBWindow(t *testing.T) {
	// This test streams one message of 1 GiB through a node whose whole budget is
	// one window of 64 KiB, in bounded memory.
	if testing.Short() || raced.Enabled {
		t.Skip("takes a few seconds")
	}
	const size = 1 << 30
	network := newNetwork(t)
	host := start(t, network, func(c *node.Config) { c.TunnelBytes = 88 << 10 })
	caller := start(t, network, nil, host)
	stops, goOn := make(chan struct{}), make(chan struct{})
	serve(t, host, "sink", patterns.Service{Tunnel: func(ctx context.Context, t patterns.Tunnel) error {
		sum := sha256.New()
		if _, err := t.ReceiveTo(ctx, &stopping{w: sum, stops: stops, goOn: goOn}); err != nil {
			return err
		}
		return t.Send(ctx, sum.Sum(nil))
	}}, patterns.Limits{})
	tunnel, err := caller.OpenTunnel(t.Context(), "sink", patterns.Message{}, patterns.WaitForMember())
	require.NoError(t, err)
	runtime.GC()
	runtime.GC()
	before, most := live(), 0
	sum, source := sha256.New(), &counting{}
	sent := make(chan error, 1)
	go func() {
		n, err := tunnel.SendFrom(t.Context(), io.TeeReader(io.LimitReader(source, size), sum))
		if err == nil && n != size {
			err = fmt.Errorf("%d bytes were sent", n)
		}
		sent <- err
	}()
	for range size / stopEvery {
		select {
		case <-stops:
		case err := <-sent:
			t.Fatal("the tunnel ended early: ", err)
		}
		most = max(most, held(source))
		goOn <- struct{}{}
	}
	require.NoError(t, <-sent)
	got, err := tunnel.Receive(t.Context())
	require.NoError(t, err)
	require.Equal(t, sum.Sum(nil), got)
	t.Logf("%d KiB live before, %d at most", before>>10, most>>10)
	require.Less(t, most-before, 2<<20)
}

// held is what is live while a reader has stopped and its sender has no room any more.
// What is allocated while a collection marks counts as live, so it is looked at when
// nobody has sent anything meanwhile.
func held(source *counting) int {
	for {
		seen := source.bytes.Load()
		// A body that is read into again outlives the last reference to it by a
		// finalizer and by a sync.Pool, so by some collections.
		least := math.MaxInt
		for range 6 {
			runtime.GC()
			least = min(least, live())
		}
		if source.bytes.Load() == seen {
			return least
		}
	}
}

// stopEvery is how many bytes a stopping writer takes at a time.
const stopEvery = 32 << 20

// stopping stops before each so many bytes until it is told to go on.
type stopping struct {
	w     io.Writer
	left  int
	stops chan<- struct{}
	goOn  <-chan struct{}
}

func (s *stopping) Write(b []byte) (int, error) {
	if s.left -= len(b); s.left < 0 {
		s.left += stopEvery
		s.stops <- struct{}{}
		<-s.goOn
	}
	return s.w.Write(b)
}

// counting is an endless reader, which knows how much was read.
type counting struct{ bytes atomic.Int64 }

func (c *counting) Read(b []byte) (int, error) {
	c.bytes.Add(int64(len(b)))
	for i := range b {
		b[i] = byte(i)
	}
	return len(b), nil
}

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
