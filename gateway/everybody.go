// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package gateway

import (
	"context"
	"errors"
	"time"

	"github.com/arke-mesh/arke/cluster"
	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/overlay"
	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/patterns/request"
)

// summaryTime is how long before its deadline a survey ends here, or after nine tenths of
// the time if that is later: so that its caller hears in time who is missing.
const summaryTime = 100 * time.Millisecond

// inquiry is a survey or a broadcast on its way through the far network.
type inquiry struct {
	*cargo
	ctx   context.Context
	size  int                // bytes of the replies
	lost  []patterns.Missing // replies that could not be passed on
	count int                // of replies that were
}

// everybody asks all members of the far network on a goroutine of its own.
func (c *cargo) everybody() {
	ctx, cancel := context.WithCancel(c.l.of.ctx)
	c.cancelWith(c.l.of.stepwise(overlay.ExecKey{Name: "gateway.cancel", N: c.d.Number}, cancel))
	c.l.of.spawn(overlay.ExecKey{Name: "gateway.everybody", N: c.d.Number}, func() {
		defer cancel()
		if !c.d.Deadline.IsZero() {
			var stop context.CancelFunc
			left := c.d.Deadline.Sub(c.l.of.clock.Now())
			ctx, stop = overlay.WithTimeout(ctx, c.l.of.clock, "gateway.everybody", left-min(left/10, summaryTime))
			defer stop()
		}
		q := &inquiry{cargo: c, ctx: ctx}
		q.run()
	})
}

func (q *inquiry) run() {
	all := request.All{Cluster: q.l.address, Pattern: q.d.Pattern, Tail: q.tail(), Transit: q.passed}
	if all.Pattern == patterns.PatternSurvey {
		o := patterns.SurveyOptions{}.WithDefaults()
		all.MaxMembers, all.MaxBytes = o.MaxReplies, o.MaxBytes
	}
	tally, err := q.l.from.Everybody(q.ctx, all, q.took)
	q.l.border.leave(q.l.of.clock.Now(), q.size)
	nobody := errors.Is(err, patterns.ErrNoMembers)
	switch {
	case nobody && knowsOfNobody(q.l): // then nobody is missing
		tally.Complete = true
	case nobody:
		q.d.Answer(replyOf(request.Answer{}, patterns.ErrUnreachable))
		return
	case err != nil && q.count == 0:
		q.d.Answer(replyOf(request.Answer{}, err))
		return
	}
	for i := range tally.Missing {
		tally.Missing[i].Peer = "" // on which node nobody needs to know there
	}
	q.d.Answer(wire.Reply{Outcome: wire.OutcomeReply, Tail: tally.Tail(q.lost)})
}

// knowsOfNobody says whether a cluster that looks empty is. Of a network that can't be
// reached nobody here can say so; nor of one behind another gateway, as the way there may be
// gone.
func knowsOfNobody(l *loan) bool { return l.native() && !l.reach.broken.Load() }

// took passes one reply on as it comes.
func (q *inquiry) took(m *cluster.Member, a request.Answer, err error) (took bool, stop error) {
	if q.d.Pattern == patterns.PatternBroadcast {
		return err == nil, nil
	}
	var remote *patterns.RemoteError
	if err != nil && !errors.As(err, &remote) {
		return false, nil
	}
	r := replyOf(a, err)
	r.From = &wire.From{Member: uint64(m.ID)} // on which node nobody needs to know there
	q.size += len(r.Tail)
	if q.d.Part(q.ctx, r) != nil {
		late := &patterns.DeadlineError{Cause: context.DeadlineExceeded, MaybeRan: true}
		q.lost = append(q.lost, patterns.Missing{Member: m.ID.String(), Err: late})
		return true, nil
	}
	q.count++
	return true, nil
}
