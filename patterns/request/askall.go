// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package request

import (
	"cmp"
	"context"
	"slices"
	"sync/atomic"

	"github.com/arke-mesh/arke/cluster"
	"github.com/arke-mesh/arke/overlay"
	"github.com/arke-mesh/arke/patterns"
)

// All is one message for every member of a cluster.
type All struct {
	Cluster string
	Pattern patterns.Pattern
	// Message is the caller's, who must not change it before AskAll returns.
	Message patterns.Message
	// MaxMembers is how many are asked, those with the lowest ids; the others
	// are missing with ErrTooLarge. 0 = all.
	MaxMembers int
	// MaxBytes bounds the bodies and headers of all replies together, whether
	// they were looked at or not; who replies beyond it is missing with
	// ErrTooLarge. 0 = no bound.
	MaxBytes int
}

// Tally is how an All ended.
type Tally struct {
	Missing  []patterns.Missing // in the order of their ids
	Complete bool               // nobody is missing, and the list of members was whole
}

// EachFunc takes in what became of one member, with the contracts of Ask; took
// says that the member is not missing. An error ends everything.
type EachFunc func(m *cluster.Member, a Answer, err error) (took bool, stop error)

// AskAll asks each member of the cluster once, as Ask with To does, all at the
// same time, and calls each as they answer or fail: one at a time, on the
// caller's goroutine. Nobody is waited for longer than until ctx ends, or for
// 5 s if it has no deadline: who is late is missing. It returns the error of
// each, or an error of Ask if nobody was asked.
func (e *Engine) AskAll(ctx context.Context, a All, each EachFunc) (Tally, error) {
	q := Ask{Cluster: a.Cluster, Pattern: a.Pattern, Message: a.Message}
	if err := e.check(ctx, q); err != nil {
		return Tally{}, err
	}
	if _, limited := ctx.Deadline(); !limited {
		var cancel context.CancelFunc
		ctx, cancel = overlay.WithTimeout(ctx, e.cfg.Clock, "request.deadline", DefaultTimeout)
		defer cancel()
	}
	f := &fan{engine: e, each: each, bytes: room{limited: a.MaxBytes > 0}}
	f.bytes.left.Store(int64(a.MaxBytes))
	f.box.init()
	e.takeTurn("request.all", q.fingerprint())
	f.route = e.route(a.Cluster)
	defer func() { e.putRoute(f.route, e.now()) }()
	v, err := e.view(ctx, f.route, completeTime, isComplete)
	if err != nil {
		return Tally{}, err
	}
	return f.run(ctx, v, q, a.MaxMembers)
}

// fan is a bundle of calls, one for each member, on one goroutine: the
// caller's.
type fan struct {
	engine *Engine
	each   EachFunc
	route  *route
	box    mailbox // of all calls
	bytes  room

	calls []call
	open  int         // calls without an outcome
	ended []fanResult // outcomes that each has not seen
	tally Tally
}

// fanResult is the outcome of one call of a fan.
type fanResult struct {
	call *call
	err  error
}

func (f *fan) run(ctx context.Context, v *cluster.View, q Ask, limit int) (Tally, error) {
	members := v.Members
	if limit > 0 && limit < len(members) {
		for _, m := range members[limit:] {
			f.engine.drops.Inc(dropUnasked)
			f.miss(m, patterns.ErrTooLarge)
		}
		members = members[:limit]
	}
	defer f.finish(ctx)
	err := f.ask(ctx, members, q)
	for err == nil && (f.open > 0 || len(f.ended) > 0) {
		if err = f.report(ctx); err == nil && f.open > 0 {
			f.await(ctx)
		}
	}
	slices.SortFunc(f.tally.Missing, func(a, b patterns.Missing) int {
		return cmp.Or(cmp.Compare(a.Member, b.Member), cmp.Compare(a.Peer, b.Peer))
	})
	f.tally.Complete = v.Complete && len(f.tally.Missing) == 0 && err == nil
	return f.tally, err
}

// finish tells those who still work that nobody waits; also if each panics.
func (f *fan) finish(ctx context.Context) {
	for i := range f.calls {
		f.calls[i].finish(ctx)
	}
}

// ask sends to everybody before anybody's answer is looked at. It returns an
// error if nobody could be asked.
func (f *fan) ask(ctx context.Context, members []*cluster.Member, q Ask) error {
	f.calls = make([]call, len(members))
	f.open = len(members)
	deadline, _ := ctx.Deadline()
	now := f.engine.now()
	asked := false
	for i, m := range members {
		c := &f.calls[i]
		q.To = m
		c.init(f.engine, q, &f.box)
		c.route, c.deadline, c.moment = f.route, deadline, now
		if f.bytes.limited {
			c.bytes = &f.bytes
		}
		f.route.countRequest(now)
		f.step(c, trying())
		asked = asked || len(c.attempts) > 0
	}
	if !asked {
		return f.ended[0].err
	}
	return nil
}

// await takes in one event, or that time is over.
func (f *fan) await(ctx context.Context) {
	ev, ok := f.box.take()
	if ok {
		c := ev.call
		if ev.attempt != nil {
			c = ev.attempt.call
		}
		if !c.over {
			c.moment = 0
			f.step(c, c.handle(ev))
		}
		return
	}
	select {
	case <-f.box.ready:
	case <-ctx.Done():
		f.engine.takeTurn("request.over", f.calls[0].first.id)
		for i := range f.calls {
			if c := &f.calls[i]; !c.over {
				c.moment = 0
				f.step(c, c.timeOver(ctx.Err()))
			}
		}
	}
}

// step does what a call's plan wants done.
func (f *fan) step(c *call, d decision) {
	for d.do == doTry {
		d = c.try()
	}
	switch d.do {
	case doPause:
		c.arm(d.pause)
	case doEnd:
		c.over = true
		f.open--
		f.ended = append(f.ended, fanResult{c, d.err})
	}
}

// report has each see the outcomes that there are.
func (f *fan) report(ctx context.Context) error {
	for len(f.ended) > 0 {
		r := f.ended[0]
		f.ended = f.ended[1:]
		r.call.finish(ctx)
		took, stop := f.each(r.call.to, r.call.result(), r.err)
		r.call.forget()
		f.engine.takeTurn("request.each", r.call.first.id)
		if stop != nil {
			return stop
		}
		if !took {
			f.miss(r.call.to, r.err)
		}
	}
	return nil
}

func (f *fan) miss(m *cluster.Member, err error) {
	f.tally.Missing = append(f.tally.Missing, patterns.Missing{Member: m.ID.String(), Peer: m.Peer.String(), Err: err})
}

// room is how many bytes of replies may still come. It is used up where they
// arrive, so that what waits to be looked at is bounded, too.
type room struct {
	limited bool
	left    atomic.Int64
}

// take uses up n bytes if there are so many.
func (r *room) take(n int) bool {
	if r.left.Add(-int64(n)) >= 0 {
		return true
	}
	r.left.Add(int64(n))
	return false
}
