// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package play

import (
	"bytes"
	"context"
	"fmt"
	"sync"

	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/sim/history"
	"github.com/arke-mesh/arke/sim/scenario"
)

// send sends one request, push, survey or broadcast and waits for its outcome.
func (p *player) send(l *life, r history.Request, w scenario.Work) {
	wait := orWait(w)
	r.Sent = p.level.Now()
	r.Deadline = r.Sent + wait
	p.record.sent(r)
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
	p.record.outcome(r)
	p.level.Note(r.Caller, fmt.Sprintf("%x %s %d %s", r.ID, r.Outcome, r.Attempts, r.Member))
}

// one sends what goes to one member.
func (p *player) one(ctx context.Context, l *life, r *history.Request, sent []byte) (err error) {
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

func (p *player) survey(ctx context.Context, l *life, r *history.Request, sent []byte) error {
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

func (p *player) broadcast(ctx context.Context, l *life, r *history.Request, sent []byte) error {
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
