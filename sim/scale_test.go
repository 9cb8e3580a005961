// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package sim_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/arke-mesh/arke/internal/node"
	"github.com/arke-mesh/arke/overlay"
	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/sim"
)

// BenchmarkScale measures what being part of a network costs a node: each of
// them serves one of many clusters, ten members each, and every tenth asks
// another one once a second. They all join at once, through one; what a node sends on lane ctl is
// counted over three seconds when the network stands, and so are its links, and
// the leases and watches that it holds as an anchor.
func BenchmarkScale(b *testing.B) {
	b.Run(fmt.Sprint(*crowdSize), func(b *testing.B) {
		for b.Loop() {
			var s shares
			sim.Run(&testing.T{}, sim.Config{Seed: 1}, s.measure(*crowdSize))
			s.report(b)
		}
	})
}

// shares are figures of one node each.
type shares struct {
	control, perPeer, links, leases, watches []float64
}

const (
	scaleCluster = 10 // members of each
	scaleCallers = 10 // one of so many nodes calls
	scaleJoin    = 6 * time.Second
	scaleSpan    = 3 * time.Second
)

// measure is the run: join, settle, count.
func (m *shares) measure(count int) func(*testing.T, *sim.Network) {
	return func(t *testing.T, n *sim.Network) {
		s := newStory(t, n, count)
		s.start(0)
		for i := 1; i < count; i++ {
			n.Go(name(i), func() { s.start(i); s.works(i) })
		}
		n.Run(scaleJoin)
		before := make([]uint64, count)
		for i := range count {
			before[i] = s.node(i).Status().SentBytes[overlay.LaneCtl]
		}
		n.Run(scaleJoin + scaleSpan)
		for i := range count {
			m.add(s.node(i).Status(), before[i])
		}
	}
}

// works has node i serve its cluster, and every tenth ask another one until the
// run ends.
func (s *story) works(i int) {
	clusters := max(1, len(s.nodes)/scaleCluster)
	echo := patterns.HandlerFunc(func(_ context.Context, r *patterns.Request) (patterns.Message, error) {
		return patterns.Message{Body: r.Body}, nil
	})
	if _, err := s.node(i).Serve(context.Background(), fmt.Sprint("c", i%clusters), echo, patterns.Limits{}); err != nil {
		s.t.Errorf("node %d can't serve: %v", i, err)
		return
	}
	if i%scaleCallers != 0 {
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
	for _, f := range []struct {
		unit string
		of   []float64
	}{
		{"control-B/s", m.control},
		{"control-B/s/peer", m.perPeer},
		{"links", m.links},
		{"leases", m.leases},
		{"watches", m.watches},
	} {
		slices.Sort(f.of)
		sum := 0.0
		for _, v := range f.of {
			sum += v
		}
		b.ReportMetric(sum/float64(len(f.of)), f.unit+"-mean")
		b.ReportMetric(f.of[len(f.of)/2], f.unit+"-p50")
		b.ReportMetric(f.of[len(f.of)*99/100], f.unit+"-p99")
		b.ReportMetric(f.of[len(f.of)-1], f.unit+"-max")
	}
}
