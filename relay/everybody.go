// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package relay

import (
	"context"
	"errors"
	"fmt"

	"github.com/arke-mesh/arke/cluster"
	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/patterns/request"
)

// inquiry is a call that asks everybody: a survey or a broadcast.
type inquiry struct {
	*call
	ctx  context.Context
	all  request.All
	lost []patterns.Missing // replies that did not reach the client
}

// everybody begins an inquiry.
func (s *calls) everybody(k *call, r *wire.Route) {
	defaults := patterns.SurveyOptions{MaxReplies: int(r.MaxReplies), MaxBytes: int(min(r.MaxBytes, 1<<62))}.WithDefaults()
	all := request.All{Cluster: k.ask.Cluster, Pattern: k.ask.Pattern, Tail: k.ask.Tail}
	if all.Pattern == patterns.PatternSurvey {
		all.MaxMembers, all.MaxBytes = defaults.MaxReplies, defaults.MaxBytes
	}
	ctx, cancel := s.c.until(k.ask.Deadline)
	k.cancelWith(cancel)
	q := &inquiry{call: k, ctx: ctx, all: all}
	if err := s.c.work("relay/everybody", func() { defer cancel(); q.run() }); err != nil {
		cancel()
		k.fail(err)
	}
}

func (q *inquiry) run() {
	tally, err := q.of.c.relay.cfg.Node.Everybody(q.ctx, q.all, q.took)
	if err != nil && tally.Members == 0 {
		q.fail(err)
		return
	}
	q.finish(wire.Reply{ID: q.id, From: &wire.From{}}, tally.Tail(q.lost))
}

// took takes in what became of one member; each reply goes to the client as it
// comes.
func (q *inquiry) took(m *cluster.Member, a request.Answer, err error) (took bool, stop error) {
	if q.all.Pattern == patterns.PatternBroadcast {
		return err == nil, nil
	}
	var remote *patterns.RemoteError
	if err != nil && !errors.As(err, &remote) {
		return false, nil
	}
	a.Member = m
	r := replyOf(q.id, a, err)
	r.Flags |= wire.FlagMoreReplies
	if err == nil {
		r.Tail = a.Tail
	}
	if why := q.pass(&r); why != nil {
		q.of.c.relay.count.drop(dropSlowReply)
		q.lost = append(q.lost, patterns.Missing{Member: m.ID.String(), Peer: m.Peer.String(), Err: why})
		return true, q.of.c.ctx.Err()
	}
	return true, nil
}

// pass waits until there is room for the reply, or the survey is over.
func (q *inquiry) pass(r *wire.Reply) error {
	c := q.of.c
	if c.tooLarge(len(r.Tail)) {
		return fmt.Errorf("%w: its reply does not fit", patterns.ErrTooLarge)
	}
	_, err := c.sess.SendWait(q.ctx, wire.LaneRPC, wire.KindReply, r.AppendHead(nil), r.Tail)
	if err != nil {
		return &patterns.DeadlineError{Cause: context.DeadlineExceeded, MaybeRan: true}
	}
	return nil
}
