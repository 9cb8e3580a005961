// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package sim_test

import (
	"context"
	"encoding/binary"
	"flag"
	"fmt"
	"math"
	"runtime"
	"slices"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/internal/node"
	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/overlay"
	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/sim"
)

var grows = flag.String("grows", "nodes", "what BenchmarkScale has more of: nodes, members of one cluster, or callers of one")

// BenchmarkScale measures what being part of a network costs a node. As nodes
// grow, each of them serves one of many clusters, ten members each, and every tenth
// asks another one once a second; as members grow, all of them serve the same one; as callers
// grow, ten serve it and all ask. They all join at once, through one; what a node
// sends on lane ctl is counted over three seconds when the network stands, and so are
// its links, and the leases and watches that it holds as an anchor.
func BenchmarkScale(b *testing.B) {
	b.Run(*grows+"-"+fmt.Sprint(*crowdSize), func(b *testing.B) {
		for b.Loop() {
			s := shares{grows: *grows}
			sim.Run(&testing.T{}, sim.Config{Seed: 1, Watchdog: time.Hour}, s.measure(*crowdSize))
			s.report(b)
		}
	})
}

// expected is what bench/README.md computes for the mean node of a network of n: a
// logarithm, which is the routing table's, and that of those who are taken for anchors at first.
func expected(n int) (control, links, leases float64) {
	d := math.Log10(float64(n) / 100)
	return 321 + 46*d, 12.2 + 1.2*d, 3 + 0.25*d
}

// This test checks the formula of bench/README.md against whole nodes where both can
// be had.
func TestWhatIsComputedForLargeNetworksIsTrueOfSmallOnes(t *testing.T) {
	for _, n := range []int{30, 100} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			var s shares
			sim.Run(t, sim.Config{Seed: 1}, s.measure(n))
			control, links, leases := expected(n)
			require.InEpsilon(t, control, mean(s.control), 0.2)
			require.InEpsilon(t, links, mean(s.links), 0.2)
			require.InEpsilon(t, leases, mean(s.leases), 0.2)
			require.LessOrEqual(t, slices.Max(s.links), 60., "nor has the one through which all have joined")
		})
	}
}

func mean(of []float64) (m float64) {
	for _, v := range of {
		m += v / float64(len(of))
	}
	return m
}

// shares are figures of one node each; of processor time and memory all have the
// same share.
type shares struct {
	grows                                            string // see BenchmarkScale
	control, frames, perPeer, links, leases, watches []float64
	cpu, memory                                      float64
}

const (
	scaleCluster = 10               // members of each
	scaleCallers = 10               // one of so many nodes calls
	scaleJoin    = 20 * time.Second // after a mass start leases move for some seconds
	scaleSpan    = 3 * time.Second
)

// measure is the run: join, settle, count.
func (m *shares) measure(count int) func(*testing.T, *sim.Network) {
	return func(t *testing.T, n *sim.Network) {
		s := newStory(t, n, count)
		heard := controlFrames{sent: make(map[string]*atomic.Uint64, count)}
		for i := range count {
			heard.sent[name(i)] = new(atomic.Uint64)
		}
		n.Tap(heard.tap)
		s.start(0)
		for i := 1; i < count; i++ {
			n.Go(name(i), func() { s.start(i); s.works(i, m.grows) })
		}
		n.Run(scaleJoin)
		before, frames := make([]uint64, count), make([]uint64, count)
		for i := range count {
			before[i] = s.node(i).Status().SentBytes[overlay.LaneCtl]
			frames[i] = heard.sent[name(i)].Load()
		}
		spent := processorTime(t)
		n.Run(scaleJoin + scaleSpan)
		m.cpu = (processorTime(t) - spent).Seconds() / scaleSpan.Seconds() / float64(count)
		for i := range count {
			m.add(s.node(i).Status(), before[i])
			m.frames = append(m.frames, float64(heard.sent[name(i)].Load()-frames[i])/scaleSpan.Seconds())
		}
		runtime.GC()
		var used runtime.MemStats
		runtime.ReadMemStats(&used)
		m.memory = float64(used.HeapAlloc+used.StackInuse) / float64(count)
	}
}

// controlFrames counts the frames of lane ctl in what nodes send to each other.
type controlFrames struct {
	sent map[string]*atomic.Uint64 // by node
}

func (c *controlFrames) tap(from, _ string) func(time.Duration, []byte) {
	sent, head, left := c.sent[from], make([]byte, 0, wire.FrameOverhead), 0
	return func(_ time.Duration, data []byte) {
		for len(data) > 0 {
			if left > 0 {
				n := min(left, len(data))
				data, left = data[n:], left-n
				continue
			}
			n := min(wire.FrameOverhead-len(head), len(data))
			head, data = append(head, data[:n]...), data[n:]
			if len(head) < wire.FrameOverhead {
				return
			}
			left = int(binary.BigEndian.Uint32(head)) - 1
			if wire.Lane(head[wire.FrameOverhead-1]>>6) == wire.LaneCtl { // the kind has the other bits
				sent.Add(1)
			}
			head = head[:0]
		}
	}
}

// processorTime is what this process has used.
func processorTime(t *testing.T) time.Duration {
	var used syscall.Rusage
	require.NoError(t, syscall.Getrusage(syscall.RUSAGE_SELF, &used))
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

// works has node i serve and call what it does as this grows, until the run ends.
func (s *story) works(i int, grows string) {
	clusters, serves, calls := max(1, len(s.nodes)/scaleCluster), true, i%scaleCallers == 0
	switch grows {
	case "members":
		clusters = 1
	case "callers":
		clusters, serves, calls = 1, i <= scaleCluster, true
	}
	echo := patterns.HandlerFunc(func(_ context.Context, r *patterns.Request) (patterns.Message, error) {
		return patterns.Message{Body: r.Body}, nil
	})
	if serves {
		if _, err := s.node(i).Serve(context.Background(), fmt.Sprint("c", i%clusters), echo, patterns.Limits{}); err != nil {
			s.t.Errorf("node %d can't serve: %v", i, err)
			return
		}
	}
	if !calls {
		return
	}
	time.Sleep(time.Duration(i) * time.Second / time.Duration(len(s.nodes)))
	for s.n.Elapsed() < scaleJoin+scaleSpan {
		_, _ = s.node(i).Request(context.Background(), fmt.Sprint("c", (i+7)%clusters), patterns.Message{Body: make([]byte, 100)})
		time.Sleep(time.Second)
	}
}

func (m *shares) add(now node.Status, before uint64) {
	sent := float64(now.SentBytes[overlay.LaneCtl]-before) / scaleSpan.Seconds()
	m.control = append(m.control, sent)
	m.perPeer = append(m.perPeer, sent/float64(max(1, len(now.Links))))
	m.links = append(m.links, float64(len(now.Links)))
	m.leases = append(m.leases, float64(now.Anchors.Leases))
	m.watches = append(m.watches, float64(now.Anchors.Watches))
}

func (m *shares) report(b *testing.B) {
	b.ReportMetric(m.cpu*1e6, "cpu-µs/s/node")
	b.ReportMetric(m.memory/1024, "KB/node")
	for _, f := range []struct {
		unit string
		of   []float64
	}{
		{"control-B/s", m.control},
		{"control-frames/s", m.frames},
		{"control-B/s/peer", m.perPeer},
		{"links", m.links},
		{"leases", m.leases},
		{"watches", m.watches},
	} {
		slices.Sort(f.of)
		b.ReportMetric(mean(f.of), f.unit+"-mean")
		b.ReportMetric(f.of[len(f.of)/2], f.unit+"-p50")
		b.ReportMetric(f.of[len(f.of)*99/100], f.unit+"-p99")
		b.ReportMetric(f.of[len(f.of)-1], f.unit+"-max")
	}
}
