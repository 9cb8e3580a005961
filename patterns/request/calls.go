// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package request

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"

	"github.com/arke-mesh/arke/cluster"
	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/overlay"
	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/patterns/internal/turn"
)

// calls is the callers' half of an engine: what this node asks of others.
type calls struct {
	*env
	peers  *peers
	upkeep *sweeper
	turns  *turn.Turns
	routes table[string, *route]

	ids         atomic.Uint64 // the last request id
	transmitted atomic.Uint64
	retried     atomic.Uint64
	waiters     sync.Pool // of *waiter
}

// waiter is where a goroutine waits for its call to end.
type waiter struct {
	exec  overlay.Exec
	ended chan struct{} // has room for one
	wake  func()
}

// finished implements sink.
func (w *waiter) finished(c *call) {
	w.exec.Wake(overlay.ExecKey{Name: "request.answer", N: c.first.id}, w.wake)
}

func (k *calls) waiter() *waiter {
	if w, ok := k.waiters.Get().(*waiter); ok {
		return w
	}
	w := &waiter{exec: k.cfg.Exec, ended: make(chan struct{}, 1)}
	w.wake = func() { w.ended <- struct{}{} }
	return w
}

// told is the sink of who does not wait.
type told func(Answer, error)

// finished implements sink.
func (f told) finished(c *call) { f(c.answer, c.err) }

// ask is described at Engine.Ask.
func (k *calls) ask(ctx context.Context, a *Ask) (Answer, error) {
	size, err := k.check(a)
	if err != nil {
		return Answer{}, err
	}
	if err := ctx.Err(); err != nil {
		return Answer{}, &patterns.DeadlineError{Cause: err}
	}
	k.turns.Call("request.call", a.Cluster, a.Message.Body, a.salt())
	w, c := k.waiter(), &call{}
	c.init(k, a, size, w)
	var limited bool
	if c.deadline, limited = ctx.Deadline(); !limited {
		c.deadline = k.cfg.Clock.Now().Add(DefaultTimeout)
	}
	c.route = k.route(a.Cluster)
	if c.to == nil && len(c.route.watch.View().Members) == 0 {
		err = c.look(ctx)
	}
	if !limited {
		c.limit()
	}
	c.post(event{what: eventStart, err: err})
	select {
	case <-w.ended:
	case <-ctx.Done():
		k.turns.Take("request.over", c.first.id)
		c.post(event{what: eventStop, err: ctx.Err()})
		<-w.ended
	}
	k.waiters.Put(w)
	return c.answer, c.err
}

// begin is described at Engine.Start.
func (k *calls) begin(a *Ask, done func(Answer, error)) (cancel func()) {
	size, err := k.check(a)
	if err != nil {
		done(Answer{}, err)
		return func() {}
	}
	c := &call{}
	c.init(k, a, size, told(done))
	if c.deadline = a.Deadline; c.deadline.IsZero() {
		c.deadline = k.cfg.Clock.Now().Add(DefaultTimeout)
	}
	c.route = k.route(a.Cluster)
	c.limit()
	if c.to != nil || len(c.route.watch.View().Members) > 0 {
		c.post(event{what: eventStart})
		return c.giveUp
	}
	return c.startLooking()
}

// giveUp ends a call for its caller.
func (c *call) giveUp() { c.post(event{what: eventStop, err: context.Canceled}) }

// startLooking has a worker wait for a view that has members.
func (c *call) startLooking() (cancel func()) {
	ctx, stop := context.WithCancel(context.Background())
	r := c.calls.route(c.route.name) // for as long as the worker looks at it
	look := func() {
		err := c.look(ctx)
		stop()
		c.putRoute(r, c.env.now())
		c.post(event{what: eventStart, err: err})
	}
	if !c.cfg.Exec.Go(overlay.ExecKey{Name: "request.look", N: c.first.id}, look) {
		stop()
		c.putRoute(r, c.env.now())
		c.drops.Inc(dropWorkers)
		c.post(event{what: eventStart, err: patterns.ErrOverloaded})
	}
	return func() {
		c.giveUp()
		stop()
	}
}

// look waits for a view that has members, until the call's deadline at most.
func (c *call) look(ctx context.Context) error {
	ctx, cancel := overlay.WithTimeout(ctx, c.cfg.Clock, "request.view", c.deadline.Sub(c.cfg.Clock.Now()))
	defer cancel()
	if _, err := c.route.watch.Wait(ctx, c.wait); err != nil {
		return viewError(ctx, err)
	}
	return nil
}

// viewError turns what the cluster layer says into an outcome.
func viewError(ctx context.Context, err error) error {
	switch {
	case errors.Is(err, cluster.ErrNoMembers):
		return patterns.ErrNoMembers
	case errors.Is(err, cluster.ErrUnreachable):
		return patterns.ErrUnreachable
	case errors.Is(err, cluster.ErrClosed):
		return patterns.ErrClosed
	case ctx.Err() != nil:
		return &patterns.DeadlineError{Cause: ctx.Err()}
	}
	return err
}

// handleReply takes a reply in, on the goroutine that reads the link. A reply
// from another peer than was asked is one that nobody waits for.
func (k *calls) handleReply(l Link, body []byte) {
	r, err := wire.DecodeReply(body)
	if err != nil {
		k.drops.Inc(dropMalformed)
		return
	}
	from, ok := k.peers.table.find(l.Peer())
	if !ok {
		k.drops.Inc(dropReplyLate)
		return
	}
	now := k.now()
	k.hear(from, &r, now)
	k.peers.put(from, now)
}

// hear finds whom a reply is for.
func (k *calls) hear(from *remote, r *wire.Reply, now int64) {
	if r.Flags&wire.FlagMoreReplies != 0 {
		if a := from.attempt(r.ID); a != nil && k.cfg.Leaf != nil {
			part := *r
			a.call.post(event{what: eventPart, attempt: a, reply: &part})
		}
		return
	}
	a := from.takeAttempt(r.ID)
	switch {
	case a != nil:
		if b := a.call.bytes; b != nil && !b.take(replySize(r)) {
			k.drops.Inc(dropReplyLarge)
			*r = wire.Reply{ID: r.ID, Outcome: wire.OutcomeTooLarge, Queue: r.Queue, Running: r.Running}
		}
		a.reply, a.arrived = *r, now
		a.call.post(event{what: eventReply, attempt: a})
	case r.Outcome == wire.OutcomeReply || r.Outcome == wire.OutcomeRemoteError:
		k.drops.Inc(dropReplyLate)
	}
}

// replySize is how many bytes of headers and body a reply has.
func replySize(r *wire.Reply) int {
	if r.Flags&wire.FlagSealed != 0 {
		return max(0, len(r.Tail)-sealedOverhead+sealedHead-noHeaders)
	}
	return tailSize(r.Tail)
}

// peerEvent tells the calls under way at a peer what happened to its link.
func (k *calls) peerEvent(r *remote, ev overlay.PeerEvent) {
	e := event{session: ev.Session, err: ev.Err}
	switch ev.Type {
	case overlay.LinkUp:
		e.what = eventUp
	case overlay.LinkDown:
		e.what = eventDown
	case overlay.LinkSuspect:
		e.what = eventSuspect
	case overlay.LinkRecovered:
		e.what = eventHeard
	case overlay.DialFailed:
		e.what = eventUndialed
	}
	for _, e.attempt = range r.allAttempts() {
		e.attempt.call.post(e)
	}
}

// close ends all that is under way.
func (k *calls) close() {
	for _, r := range k.peers.table.all() {
		for _, a := range r.allAttempts() {
			a.call.post(event{what: eventClosed})
		}
	}
}

func (k *calls) status() CallStatus {
	s := CallStatus{Sent: k.transmitted.Load(), Retried: k.retried.Load()}
	for _, r := range k.peers.table.all() {
		s.Pending += len(r.allAttempts())
	}
	return s
}

// salt tells calls apart, together with the cluster and the body.
func (a *Ask) salt() uint64 {
	n := uint64(a.Pattern)
	if a.To != nil {
		n ^= uint64(a.To.ID)
	}
	return n
}

// checkName returns cluster.ErrName for a name that no cluster has.
func checkName(name string) error {
	if name == "" || len(name) > cluster.MaxName {
		return cluster.ErrName
	}
	return nil
}

// room is how many bytes of replies may still come. It is used up where they
// arrive, so that what waits to be looked at is bounded, too.
type room struct{ left atomic.Int64 }

// take uses up n bytes if there are so many.
func (r *room) take(n int) bool {
	if r.left.Add(-int64(n)) >= 0 {
		return true
	}
	r.left.Add(int64(n))
	return false
}

// route returns the route to a cluster; putRoute it afterwards.
func (k *calls) route(name string) *route {
	r, created := k.routes.get(name, func() *route {
		keys := k.keys(name)
		return &route{name: name, watch: k.cfg.Directory.Watch(name), keys: keys, seal: k.mustSeal(keys)}
	})
	if created {
		k.upkeep.arm()
	}
	return r
}

func (k *calls) putRoute(r *route, now int64) {
	k.routes.put(r, now)
	if k.closed.Load() {
		k.routes.sweep(never, 0) // the last one to leave puts the light out
	}
}
