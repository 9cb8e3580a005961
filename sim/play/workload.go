// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package play

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
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

// retryBits is where an id says which try of the program it is.
const retryBits = 28

// stream is one workload under way: a request each interval, by one caller
// after the other.
type stream struct {
	p        sender
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
	s := &stream{p: sender{p}, index: index, name: cmp.Or(w.Name, fmt.Sprint("work", index+1)), spec: w, begin: zero + w.Start.D(), end: p.safety}
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
		s.p.publish(l, history.Publication{ID: id, Work: s.name, Publisher: caller.name, Network: caller.carrier().network, Topic: topicOf(s.spec, k/len(s.callers))}, s.spec)
	case "tunnel":
		s.p.travel(l, history.Tunnel{ID: id, Work: s.name, Caller: caller.name, Cluster: s.spec.To}, s.spec)
	default:
		kind := s.spec.Kind
		if kind == "request" {
			kind = ""
		}
		for try := range s.spec.Retries + 1 {
			outcome := s.p.send(l, history.Request{
				ID: id | uint64(try)<<retryBits, Kind: kind, Work: s.name, Caller: caller.name, Cluster: s.spec.To, Idempotent: s.spec.Idempotent,
			}, s.spec)
			if l = caller.alive(); l == nil || outcome != "overloaded" && outcome != "deadline" {
				return
			}
		}
	}
}

// custom says whether a cluster's handlers are the program's own.
func (c *crew) custom(cluster string) bool {
	job, ok := c.job(cluster)
	return ok && job.Handler.Kind == "go"
}

// probe has every caller ask its clusters, and every publisher publish on its
// first topic, until the liveness phase ends: an idempotent request, or a
// publication, from time to time.
func (p *player) probe() {
	end := p.safety + p.scenario.Settle.D() - probeWithin
	next := workProbe
	begin := func(node string, w scenario.Work) {
		s := &stream{
			p: sender{p}, index: next, name: "probe", callers: []*crewNode{p.crew.by[node]}, begin: p.level.Now(), end: end, interval: probeEvery, spec: w,
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

// sender is what a player does for its workloads.
type sender struct{ *player }

// send sends one request, push, survey or broadcast, waits for its outcome and returns it.
func (p sender) send(l *life, r history.Request, w scenario.Work) string {
	wait := orWait(w)
	r.Sent = p.level.Now()
	r.Deadline, r.Ended = r.Sent+wait, -1
	index := add(p.record, &p.record.h.Requests, r)
	ctx, cancel := l.Within(wait)
	defer cancel()
	sent := body(r.ID, orSize(w))
	var err error
	switch r.Kind {
	case "survey":
		err = p.survey(ctx, l, &r, sent)
	case "broadcast":
		err = p.broadcast(ctx, l, &r, sent)
	default:
		err = p.one(ctx, l, &r, sent)
	}
	if err != nil {
		r.Outcome, r.MaybeRan, r.Detail = outcomeOf(err)
	}
	r.Ended = p.level.Now()
	p.record.note(func(h *history.History) {
		r.Outcomes = h.Requests[index].Outcomes + 1
		h.Requests[index] = r
	})
	p.level.Note(r.Caller, fmt.Sprintf("%x %s %d %s", r.ID, r.Outcome, r.Attempts, r.Member))
	return r.Outcome
}

// one sends what goes to one member.
func (p sender) one(ctx context.Context, l *life, r *history.Request, sent []byte) (err error) {
	var how patterns.RequestReport
	options := []patterns.RequestOption{patterns.Report(&how)}
	if r.Idempotent {
		options = append(options, patterns.Idempotent())
	}
	defer func() { r.Attempts, r.Member = how.Attempts, how.Member }()
	if r.Kind == "push" {
		r.Outcome, r.MaybeRan = "accepted", true
		return l.Push(ctx, r.Cluster, patterns.Message{Body: sent}, options...)
	}
	reply, err := l.Request(ctx, r.Cluster, patterns.Message{Body: sent}, options...)
	r.Outcome, r.MaybeRan = "reply", true
	if err == nil && !p.crew.custom(r.Cluster) && !bytes.Equal(reply.Body, sent) {
		r.Outcome = "wrong_reply"
	}
	return err
}

func (p sender) survey(ctx context.Context, l *life, r *history.Request, sent []byte) error {
	var mu sync.Mutex
	custom := p.crew.custom(r.Cluster)
	var answers []history.Answer
	result, err := l.Survey(ctx, r.Cluster, patterns.Message{Body: sent}, func(a patterns.SurveyReply) error {
		mu.Lock()
		defer mu.Unlock()
		answers = append(answers, history.Answer{
			Member: a.Member, At: p.level.Now(), Wrong: a.Err == nil && !custom && !bytes.Equal(a.Message.Body, sent),
		})
		return nil
	}, patterns.SurveyOptions{})
	mu.Lock()
	defer mu.Unlock()
	r.Answers, r.Taken, r.Missing = answers, result.Replies, missing(result.Missing)
	r.Outcome, r.MaybeRan = wholeness(result.Complete), true
	return err
}

func (p sender) broadcast(ctx context.Context, l *life, r *history.Request, sent []byte) error {
	result, err := l.Broadcast(ctx, r.Cluster, patterns.Message{Body: sent})
	r.Taken, r.Nodes, r.Missing = result.Members, result.Nodes, missing(result.Missing)
	r.Outcome, r.MaybeRan = wholeness(result.Complete), true
	return err
}

func wholeness(complete bool) string {
	if complete {
		return "complete"
	}
	return "partial"
}

func missing(list []patterns.Missing) []history.Missing {
	var out []history.Missing
	for _, m := range list {
		outcome, _, _ := outcomeOf(m.Err)
		out = append(out, history.Missing{Member: m.Member, Outcome: outcome})
	}
	return out
}

// publish publishes one message.
func (p sender) publish(l *life, h history.Publication, w scenario.Work) {
	wait := orWait(w)
	h.Peer, h.Size, h.Sent, h.Ended = l.Peer(), max(8, orSize(w)), p.level.Now(), -1
	h.Deadline = h.Sent + wait
	p.record.publishing(h)
	ctx, cancel := l.Within(wait)
	defer cancel()
	err := l.Publish(ctx, h.Topic, patterns.Message{Body: body(h.ID, h.Size)})
	outcome, _, detail := outcomeOf(err)
	if err == nil {
		outcome = "published"
	}
	p.record.published(h.ID, p.level.Now(), outcome, detail)
	p.level.Note(h.Publisher, fmt.Sprintf("%x %s", h.ID, outcome))
}

// publishes says whether anything is published at all.
func publishes(s scenario.Scenario) bool {
	is := func(w scenario.Work) bool { return w.Kind == "publish" }
	return slices.ContainsFunc(s.Workload, is) ||
		slices.ContainsFunc(s.Timeline, func(a scenario.Action) bool { return a.Work != nil && is(*a.Work) })
}

// topicOf is the topic of publication k of a work.
func topicOf(w scenario.Work, k int) string {
	if w.Topics == 0 {
		return w.To
	}
	return fmt.Sprintf("%s.%d", w.To, k%w.Topics+1)
}

// journey is a tunnel from the caller's side.
type journey struct {
	p       *player
	spec    scenario.Work
	record  history.Tunnel
	tunnel  patterns.Tunnel
	ctx     context.Context //nolint:containedctx // bounds all of the tunnel, on two goroutines
	sent    chan struct{}   // closed when everything is sent, or can't be
	sendErr error           // set before sent is closed
}

// travel opens a tunnel, sends what the work says, receives what comes back,
// and waits for the end.
func (p sender) travel(l *life, t history.Tunnel, w scenario.Work) {
	wait := orWait(w)
	t.Sent, t.Size, t.Messages = p.level.Now(), orSize(w), cmp.Or(w.Messages, defaultMessages)
	t.Deadline, t.Opened, t.Ended, t.Own = t.Sent+wait, -1, -1, p.crew.custom(t.Cluster)
	p.record.tunnels.opening(t)
	ctx, cancel := l.Within(wait)
	defer cancel()
	j := &journey{p: p.player, spec: w, record: t, ctx: ctx, sent: make(chan struct{})}
	at := time.Duration(-1)
	tunnel, err := l.OpenTunnel(ctx, t.Cluster, patterns.Message{Body: body(t.ID, 8)})
	if err == nil {
		j.tunnel = tunnel
		p.record.tunnels.opened(t.ID, tunnel.Info().Member, p.level.Now())
		p.at(p.level.Now(), fmt.Sprintf("%s %x", t.Work, t.ID), func() { j.send(0) })
		if err = j.receive(); err != nil { // then sending is over, too
			_ = tunnel.Reset(patterns.CodeUnknown, "the caller gives up")
			at = p.level.Now()
		}
		<-j.sent
		err = j.finish(err)
	}
	if at < 0 {
		at = p.level.Now()
	}
	outcome, detail := ending(err)
	p.record.tunnels.arrived(t.ID, outcome, detail, at)
	p.level.Note(t.Caller, fmt.Sprintf("%x %s", t.ID, outcome))
}

// send sends from message n on, at the pace of the work.
func (j *journey) send(n int) {
	id := j.record.ID
	for ; n < j.record.Messages; n++ {
		j.p.record.tunnels.tries(id, forth)
		if err := j.tunnel.Send(j.ctx, content(id, n, j.record.Size)); err != nil {
			j.sendErr = err
			close(j.sent)
			return
		}
		j.p.record.tunnels.sentOne(id, forth)
		if every := j.spec.Every.D(); every > 0 && n+1 < j.record.Messages {
			j.p.at(j.p.level.Now()+every, fmt.Sprintf("%s %x", j.record.Work, id), func() { j.send(n + 1) })
			return
		}
	}
	if j.sendErr = j.tunnel.CloseSend(); j.sendErr == nil {
		j.p.record.tunnels.closed(id, forth)
	}
	close(j.sent)
}

// receive takes what comes back until it ends.
func (j *journey) receive() error {
	for {
		body, err := j.tunnel.Receive(j.ctx)
		switch {
		case errors.Is(err, io.EOF):
			j.p.record.tunnels.end(j.record.ID, back)
			return nil
		case err != nil:
			return err
		}
		j.p.record.tunnels.received(j.record.ID, back, body, j.p.level.Now())
	}
}

// finish waits for the end of both directions and says how it was.
func (j *journey) finish(err error) error {
	if err == nil {
		err = j.sendErr
	}
	if err != nil {
		_ = j.tunnel.Reset(patterns.CodeUnknown, "the caller gives up")
	}
	_ = j.tunnel.Close()
	if err != nil {
		return err
	}
	select {
	case <-j.tunnel.Done():
		return j.tunnel.Err()
	case <-j.ctx.Done():
		return &patterns.DeadlineError{Cause: context.Cause(j.ctx), MaybeRan: true}
	}
}

// ending names how a tunnel ended.
func ending(err error) (outcome, detail string) {
	var reset *patterns.TunnelError
	switch {
	case err == nil:
		return "done", ""
	case errors.As(err, &reset):
		return "reset", reset.Message
	}
	outcome, _, detail = outcomeOf(err)
	return outcome, detail
}

// content is message n of a tunnel: no two are alike.
func content(id uint64, n, size int) []byte {
	b := make([]byte, size)
	x := mixed(id<<20 ^ uint64(n+1))
	for i := range b {
		if i%8 == 0 {
			x = mixed(x + 0x9e3779b97f4a7c15)
		}
		b[i] = byte(x >> (8 * (i % 8)))
	}
	return b
}

// orWait is the deadline of a work.
func orWait(w scenario.Work) time.Duration {
	if w.Deadline <= 0 {
		return defaultWait
	}
	return w.Deadline.D()
}

// orSize is the size of a work's bodies.
func orSize(w scenario.Work) int { return cmp.Or(int(w.Size), defaultBody) }
