// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package play

import (
	"time"

	"github.com/arke-mesh/arke/node"
	"github.com/arke-mesh/arke/sim/history"
)

// sample asks every node from time to time what it uses: each second up to a
// hundred nodes, less often with more.
func (p *player) sample() {
	every := max(time.Second, time.Duration(len(p.crew.nodes))*10*time.Millisecond)
	for _, n := range p.crew.nodes {
		if n.relay != nil {
			continue // what it uses of the network is its relay's
		}
		p.sampleNode(n, p.level.Now(), every)
	}
}

func (p *player) sampleNode(n *crewNode, at, every time.Duration) {
	if at > p.safety+p.scenario.Settle.D() {
		return
	}
	p.at(at, "sample "+n.name, func() {
		if l := n.alive(); l != nil {
			ctx, cancel := l.Within(time.Second)
			status, err := l.Status(ctx)
			cancel()
			if err == nil {
				p.record.sample(sampleOf(p.level.Now(), n.name, status))
			}
		}
		p.sampleNode(n, at+every, every)
	})
}

func sampleOf(at time.Duration, name string, s node.Status) history.Sample {
	out := history.Sample{At: at, Node: name, Sent: s.SentBytes, Queued: s.QueuedBytes, Leases: s.Anchors.Leases}
	for _, l := range s.Links {
		if l.State != "opening" {
			out.Links++
		}
	}
	for _, q := range s.Queues {
		out.Waiting += q.Waiting
		out.Running += q.Running
	}
	return out
}
