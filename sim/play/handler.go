// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package play

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/sim/history"
	"github.com/arke-mesh/arke/sim/scenario"
)

// job is what one member does: it records each run and does what the scenario
// says.
type job struct {
	p    *player
	node *crewNode
	life *life
	post *post
	spec scenario.Handler
	user patterns.Service // of kind go
}

func newHandler(p *player, l *life, t *post) (patterns.Handler, error) {
	c := t.job
	j := &job{p: p, node: t.node, life: l, post: t, spec: c.Handler}
	if c.Handler.Kind != "go" {
		return patterns.Service{Request: j.answer, Push: j.take, Broadcast: j.take, Tunnel: j.tunnel}, nil
	}
	user := p.options.Handlers[c.Handler.Name]
	if user == nil {
		return nil, fmt.Errorf("play: cluster %q wants the Go handler %q, which the program that runs this has not got",
			c.Name, c.Handler.Name)
	}
	j.user = patterns.ServiceOf(user)
	return j.recorded(), nil
}

// recorded is the user's service with its runs recorded.
func (j *job) recorded() patterns.Service {
	u := j.user
	take := func(by func(context.Context, *patterns.Request)) func(context.Context, *patterns.Request) {
		if by == nil {
			return nil
		}
		return func(ctx context.Context, r *patterns.Request) {
			defer j.begin(r)()
			by(ctx, r)
		}
	}
	s := patterns.Service{Push: take(u.Push), Broadcast: take(u.Broadcast)}
	if u.Request != nil {
		s.Request = func(ctx context.Context, r *patterns.Request) (patterns.Message, error) {
			defer j.begin(r)()
			return u.Request(ctx, r)
		}
	}
	if u.Tunnel != nil {
		s.Tunnel = func(ctx context.Context, t patterns.Tunnel) (err error) {
			v := j.serving(t)
			defer func() { j.p.record.tunnels.left(v, j.p.level.Now(), err == nil) }()
			return u.Tunnel(ctx, t)
		}
	}
	return s
}

// begin records a run; the result records its end.
func (j *job) begin(r *patterns.Request) func() {
	expires := time.Duration(-1)
	if !r.Deadline.IsZero() {
		expires = j.p.level.Now() + r.Deadline.Sub(j.life.Now())
	}
	run := add(j.p.record, &j.p.record.h.Runs, history.Run{Request: idOf(r.Body), Tenure: j.post.now(), Began: j.p.level.Now(), Ended: -1, Expires: expires})
	return func() {
		now := j.p.level.Now()
		j.p.record.note(func(h *history.History) { h.Runs[run].Ended = now })
	}
}

// answer takes requests and surveys.
func (j *job) answer(_ context.Context, r *patterns.Request) (patterns.Message, error) {
	defer j.begin(r)()
	id := idOf(r.Body)
	time.Sleep(j.takes(id))
	if err := j.refuses(id); err != nil {
		return patterns.Message{}, err
	}
	return patterns.Message{Body: r.Body}, nil
}

// take takes pushes and broadcasts.
func (j *job) take(_ context.Context, r *patterns.Request) {
	defer j.begin(r)()
	time.Sleep(j.takes(idOf(r.Body)))
}

// refuses is the error with which a failing handler answers, or nil.
func (j *job) refuses(id uint64) error {
	if j.spec.Kind != "failing" || j.spec.Every <= 0 || mixed(id)%uint64(j.spec.Every) != 0 {
		return nil
	}
	return &patterns.RemoteError{Code: patterns.Code(cmp.Or(j.spec.Code, 500)), Message: "this one fails"}
}

// takes is how long the work takes; it depends on the request only, so that
// runs can be compared.
func (j *job) takes(id uint64) time.Duration {
	d := j.spec.Work.D()
	if jitter := uint64(j.spec.Jitter); jitter > 0 {
		d += time.Duration(mixed(id) % (jitter + 1))
	}
	j.node.mu.Lock()
	factor := j.node.factor
	j.node.mu.Unlock()
	if factor > 1 {
		d = max(d, handlerGrain) * time.Duration(factor)
	}
	return d
}

// mixed spreads ids: the finaliser of SplitMix64.
func mixed(x uint64) uint64 {
	x ^= x >> 30
	x *= 0xbf58476d1ce4e5b9
	x ^= x >> 27
	x *= 0x94d049bb133111eb
	return x ^ x>>31
}

// body makes a request's body.
func body(id uint64, size int) []byte {
	b := make([]byte, max(8, size))
	binary.BigEndian.PutUint64(b, id)
	return b
}

func idOf(b []byte) uint64 {
	if len(b) < 8 {
		return 0
	}
	return binary.BigEndian.Uint64(b)
}

// outcomeOf names how a request ended, in the words of package history: those of
// patterns.Outcome, but that a handler's error is "refused", and what a request
// should not end with is "other".
func outcomeOf(err error) (name string, maybeRan bool, detail string) {
	switch f := patterns.FailureOf(err); f.Outcome {
	case patterns.OutcomeReply:
		return "reply", true, ""
	case patterns.OutcomeRemoteError:
		return "refused", true, ""
	case patterns.OutcomeTooMany, patterns.OutcomeWouldBlock, patterns.OutcomeTopic, patterns.OutcomeOther:
		return "other", true, err.Error()
	default:
		return f.Outcome.String(), f.MaybeRan, ""
	}
}

// tunnel has one tunnel: it sends back what comes, until the caller has sent
// everything. A slow handler takes its time for each message.
func (j *job) tunnel(ctx context.Context, t patterns.Tunnel) (err error) {
	v := j.serving(t)
	id := v.tunnel
	defer func() { j.p.record.tunnels.left(v, j.p.level.Now(), err == nil) }()
	if err := j.refuses(id); err != nil {
		return err
	}
	for {
		body, err := t.Receive(ctx)
		if errors.Is(err, io.EOF) {
			j.p.record.tunnels.end(id, forth)
			j.p.record.tunnels.closed(id, back)
			return nil
		}
		if err != nil {
			return err
		}
		j.p.record.tunnels.received(id, forth, body, j.p.level.Now())
		time.Sleep(j.takes(id))
		j.p.record.tunnels.tries(id, back)
		if err := t.Send(ctx, body); err != nil {
			return err
		}
		j.p.record.tunnels.sentOne(id, back)
	}
}

// serving records that a handler has a tunnel.
func (j *job) serving(t patterns.Tunnel) serving {
	info := t.Info()
	return j.p.record.tunnels.serving(idOf(info.Open.Body), j.post.now(), j.p.level.Now(), info.Peer)
}
