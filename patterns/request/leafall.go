// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package request

import (
	"context"

	"github.com/libp2p/go-libp2p/core/peer"

	"github.com/arke-mesh/arke/cluster"
	"github.com/arke-mesh/arke/internal/fifo"
	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/patterns"
)

// inquiry is a leaf's question to everybody: one call, which its relay answers in
// parts, and at the end with who is missing.
type inquiry struct {
	*calls
	each EachFunc
	call call

	news
	parts fifo.Queue[*wire.Reply] // guarded by mu: replies that each has not seen
	over  bool                    // guarded by mu: call has ended
}

// run is askAll of a leaf. ctx has a deadline.
func (f *inquiry) run(ctx context.Context, a *All, q *Ask, size int) (Tally, error) {
	k, c := f.calls, &f.call
	c.init(k, q, size, f)
	if a.Pattern == patterns.PatternSurvey {
		c.limits = &patterns.SurveyOptions{MaxReplies: a.MaxMembers, MaxBytes: a.MaxBytes}
	}
	c.deadline, _ = ctx.Deadline()
	c.route = k.routeTo(q.Cluster)
	k.lapses.add(c)
	defer c.post(event{of: c.first.id, what: eventStop, err: context.Canceled}) // also if each panics
	c.post(event{of: c.first.id, what: eventStart})
	cancelled := ctx.Done()
	for {
		part, over := f.take()
		switch {
		case part != nil:
			if stop := f.report(q.Cluster, part); stop != nil {
				return Tally{}, stop
			}
			continue
		case over:
			return f.end()
		}
		select {
		case <-f.waiter.ended:
		case <-cancelled:
			cancelled = nil
			if ctx.Err() == context.Canceled { // who is late the relay says at the deadline
				c.post(event{of: c.first.id, what: eventStop, err: context.Canceled})
			}
		}
	}
}

// replied implements partial.
func (f *inquiry) replied(c *call, r *wire.Reply) { f.tell(c, func() { f.parts.Push(r) }) }

// finished implements sink.
func (f *inquiry) finished(c *call) { f.tell(c, func() { f.over = true }) }

// take returns what came next: a part, the end, or nothing, for which it is to be
// waited then.
func (f *inquiry) take() (part *wire.Reply, over bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.parts.Len() > 0 {
		return f.parts.Pop(), false
	}
	f.waiting = !f.over
	return nil, f.over
}

// report has each see a reply.
func (f *inquiry) report(name string, r *wire.Reply) error {
	m := memberOf(r.From)
	message, err := messageOf(r.Tail)
	if err == nil && r.Outcome != wire.OutcomeReply {
		err = failureOf(r, message).Err(name)
		message = patterns.Message{}
	}
	_, stop := f.each(m, Answer{Message: message, Member: m, Attempts: 1}, err)
	return stop
}

// memberOf is who gave a relay's reply, with an ID and a Peer.
func memberOf(f *wire.From) *cluster.Member {
	if f == nil {
		return &cluster.Member{}
	}
	m := &cluster.Member{ID: cluster.MemberID(f.Member), Peer: peer.ID(f.Peer)}
	if f.Peer == "" || f.Peer[0] < ' ' { // nobody, or an id as it is
		return m
	}
	if id, err := peer.Decode(f.Peer); err == nil { // its text
		m.Peer = id
	}
	return m
}

// end makes the tally of what the relay says at the end.
func (f *inquiry) end() (Tally, error) {
	c := &f.call
	if c.err != nil {
		return Tally{}, c.err
	}
	sum, err := lastOf(c)
	if err != nil {
		f.drops.Inc(dropReplyBad)
		return Tally{}, patterns.ErrInterrupted
	}
	t := Tally{Complete: sum.Complete, Members: int(sum.Members), Nodes: int(sum.Nodes)}
	t.Missing = missingOf(c.route.name, &sum)
	return t, nil
}
