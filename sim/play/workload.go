// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package play

import (
	"fmt"
	"time"

	"github.com/arke-mesh/arke/sim/history"
	"github.com/arke-mesh/arke/sim/scenario"
)

// Indexes of works that no scenario lists; they are the upper bits of request
// ids.
const (
	workFlood = 1 << 16 // plus the action's number
	workProbe = 1 << 20 // plus the pair's number
)

// stream is one workload under way: a request each interval, by one caller
// after the other.
type stream struct {
	p        *player
	index    int
	name     string
	callers  []*crewNode
	spec     scenario.Work
	begin    time.Duration
	end      time.Duration
	interval time.Duration
}

// work plans a workload whose times count from zero.
func (p *player) work(index int, w scenario.Work, zero time.Duration) {
	s := &stream{p: p, index: index, name: w.Name, spec: w, begin: zero + w.Start.D(), end: p.safety}
	if s.name == "" {
		s.name = fmt.Sprint("work", index+1)
	}
	if w.Stop > 0 {
		s.end = min(s.end, zero+w.Stop.D())
	}
	for _, name := range w.From {
		s.callers = append(s.callers, p.crew.by[name])
	}
	if w.Rate <= 0 || len(s.callers) == 0 {
		return
	}
	s.interval = max(time.Microsecond, time.Duration(float64(time.Second)/w.Rate))
	s.plan(0)
}

// plan plans request k.
func (s *stream) plan(k int) {
	at := s.begin + time.Duration(k)*s.interval
	if at >= s.end {
		return
	}
	s.p.at(at, s.name, func() {
		s.plan(k + 1)
		s.send(k)
	})
}

func (s *stream) send(k int) {
	caller := s.callers[k%len(s.callers)]
	l := caller.alive()
	if l == nil {
		return
	}
	id := uint64(s.index+1)<<32 | uint64(k)
	switch s.spec.Kind {
	case "publish":
		s.p.publish(l, history.Publication{ID: id, Work: s.name, Publisher: caller.name, Topic: topicOf(s.spec, k/len(s.callers))}, s.spec)
	case "tunnel":
		s.p.travel(l, history.Tunnel{ID: id, Work: s.name, Caller: caller.name, Cluster: s.spec.To}, s.spec)
	default:
		kind := s.spec.Kind
		if kind == "request" {
			kind = ""
		}
		s.p.send(l, history.Request{
			ID: id, Kind: kind, Work: s.name, Caller: caller.name, Cluster: s.spec.To, Idempotent: s.spec.Idempotent,
		}, s.spec)
	}
}

// custom says whether a cluster's handlers are the program's own.
func (c *crew) custom(cluster string) bool {
	for _, job := range c.p.scenario.Clusters {
		if job.Name == cluster {
			return job.Handler.Kind == "go"
		}
	}
	return false
}

// probe has every caller ask its clusters, and every publisher publish on its
// first topic, until the liveness phase ends: an idempotent request, or a
// publication, from time to time.
func (p *player) probe() {
	end := p.safety + p.scenario.Settle.D() - probeWithin
	next := workProbe
	begin := func(node string, w scenario.Work) {
		s := &stream{
			p: p, index: next, name: "probe", callers: []*crewNode{p.crew.by[node]}, begin: p.level.Now(), end: end, interval: probeEvery, spec: w,
		}
		s.plan(0)
		next++
	}
	for _, o := range p.pairs {
		begin(o.node, scenario.Work{To: o.cluster, Idempotent: true, Deadline: scenario.Duration(probeWithin)})
	}
	for _, w := range p.scenario.Workload {
		if w.Kind != "publish" {
			continue
		}
		for _, name := range w.From {
			begin(name, scenario.Work{Kind: "publish", To: topicOf(w, 0), Deadline: scenario.Duration(probeWithin)})
		}
	}
}
