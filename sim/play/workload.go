// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package play

import (
	"bytes"
	"fmt"
	"time"

	"github.com/arke-mesh/arke/patterns"
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
	s.p.request(l, history.Request{
		ID: uint64(s.index+1)<<32 | uint64(k), Work: s.name, Caller: caller.name, Cluster: s.spec.To, Idempotent: s.spec.Idempotent,
	}, s.spec)
}

// request sends one request and waits for its outcome.
func (p *player) request(l *life, r history.Request, w scenario.Work) {
	wait := w.Deadline.D()
	if wait <= 0 {
		wait = defaultWait
	}
	size := int(w.Size)
	if size == 0 {
		size = defaultBody
	}
	r.Sent = p.level.Now()
	r.Deadline = r.Sent + wait
	p.record.sent(r)
	ctx, cancel := l.Within(wait)
	defer cancel()
	var how patterns.Outcome
	options := []patterns.RequestOption{patterns.Report(&how)}
	if r.Idempotent {
		options = append(options, patterns.Idempotent())
	}
	sent := body(r.ID, size)
	reply, err := l.Request(ctx, r.Cluster, patterns.Message{Body: sent}, options...)
	r.Outcome, r.MaybeRan, r.Detail = outcomeOf(err)
	if err == nil && !p.crew.custom(r.Cluster) && !bytes.Equal(reply.Body, sent) {
		r.Outcome = "wrong_reply"
	}
	r.Ended, r.Attempts, r.Member = p.level.Now(), how.Attempts, how.Member
	p.record.outcome(r)
	p.level.Note(r.Caller, fmt.Sprintf("%x %s %d %s", r.ID, r.Outcome, r.Attempts, r.Member))
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

// probe has every caller ask its clusters until the liveness phase ends: one
// that is idempotent, from time to time.
func (p *player) probe() {
	end := p.safety + p.scenario.Settle.D() - probeWithin
	for i, o := range p.pairs {
		caller := p.crew.by[o.node]
		s := &stream{
			p: p, index: workProbe + i, name: "probe", callers: []*crewNode{caller}, begin: p.level.Now(), end: end, interval: probeEvery,
			spec: scenario.Work{To: o.cluster, Idempotent: true, Deadline: scenario.Duration(probeWithin)},
		}
		s.plan(0)
	}
}
