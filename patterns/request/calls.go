// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package request

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/arke-mesh/arke/cluster"
	"github.com/arke-mesh/arke/internal/bell"
	"github.com/arke-mesh/arke/internal/turn"
	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/overlay"
	"github.com/arke-mesh/arke/patterns"
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
	spare       sync.Pool // of *call
	lapses      *lapses
	ledgers     ledgers
	alone       alone
}

// waiter is where a goroutine waits for its call to end.
type waiter struct {
	exec  overlay.Exec
	ended chan struct{} // has room for one
	wake  func()
	bell  *bell.Bell // where it waits; nil = at ended
}

// finished implements sink.
func (w *waiter) finished(c *call) {
	w.exec.Wake(overlay.ExecKey{Name: "request.answer", N: c.first.id}, w.wake)
}

func newWaiter(x overlay.Exec) *waiter {
	w := &waiter{exec: x, ended: make(chan struct{}, 1)}
	w.wake = func() {
		b := w.bell // it is not w's any more once w knows
		w.ended <- struct{}{}
		if b != nil {
			b.Ring()
		}
	}
	return w
}

// told is the sink of who does not wait.
type told func(Answer, error)

// finished implements sink.
func (f told) finished(c *call) {
	f(c.answer, c.err)
	c.release()
}

// call returns one that is nobody's.
func (k *calls) call() *call {
	if c, ok := k.spare.Get().(*call); ok {
		return c
	}
	return &call{}
}

// ask is described at Engine.Ask.
func (k *calls) ask(ctx context.Context, a *Ask) (Answer, error) {
	size, err := k.check(a)
	if err != nil {
		k.ledgers.refuse(a, err)
		return Answer{}, err
	}
	if err := ctx.Err(); err != nil {
		return Answer{}, &patterns.DeadlineError{Cause: err}
	}
	k.turns.Call("request.call", a.Cluster, a.Message.Body, a.salt())
	c := k.call()
	if c.waiter == nil {
		c.waiter = newWaiter(k.cfg.Exec)
	}
	c.init(k, a, size, c.waiter)
	var limited bool
	if c.deadline, limited = ctx.Deadline(); !limited {
		c.deadline = k.cfg.Clock.Now().Add(DefaultTimeout)
	}
	c.route = k.routeTo(a.Cluster)
	if c.to == nil && len(c.route.watch.View().Members) == 0 {
		err = k.look(ctx, c.route, c.wait, c.deadline)
	}
	k.alone.enter(c.waiter) // nobody can end the call yet
	if !limited {
		k.lapses.add(c)
	}
	c.post(event{of: c.first.id, what: eventStart, err: err})
	if !c.ends(ctx) {
		k.turns.Take("request.over", c.first.id)
		c.post(event{of: c.first.id, what: eventStop, err: ctx.Err()})
		c.ends(context.Background())
	}
	k.alone.leave(c.waiter)
	answer, err := c.answer, c.err
	c.release()
	return answer, err
}

// begin is described at Engine.Start.
func (k *calls) begin(a *Ask, done func(Answer, error)) (cancel func()) {
	size, err := k.check(a)
	if err != nil {
		k.ledgers.refuse(a, err)
		done(Answer{}, err)
		return func() {}
	}
	c := k.call()
	c.init(k, a, size, told(done))
	if c.deadline = a.Deadline; c.deadline.IsZero() {
		c.deadline = k.cfg.Clock.Now().Add(DefaultTimeout)
	}
	c.route = k.routeTo(a.Cluster)
	of := c.first.id
	giveUp := func() { c.post(event{of: of, what: eventStop, err: context.Canceled}) }
	if c.to != nil || len(c.route.watch.View().Members) > 0 {
		k.lapses.add(c) // from here on c may be over, and somebody else's
		c.post(event{of: of, what: eventStart})
		return giveUp
	}
	stop := c.startLooking(a.Waits)
	return func() {
		giveUp()
		stop()
	}
}

// startLooking has a worker wait for a view that has members.
func (c *call) startLooking(waits Waits) (stop func()) {
	k, of, wait, deadline := c.calls, c.first.id, c.wait, c.deadline
	ctx, stop := context.WithCancel(context.Background())
	r := k.routeTo(c.route.name) // for as long as the worker looks at it
	look := func() {
		err := k.look(ctx, r, wait, deadline)
		stop()
		if waits != nil {
			waits.Give(1)
		}
		k.putRoute(r, k.now())
		c.post(event{of: of, what: eventStart, err: err})
	}
	k.lapses.add(c) // from here on c may be over, and somebody else's
	granted := waits == nil || waits.Take(1)
	if !granted || !k.cfg.Exec.Go(overlay.ExecKey{Name: "request.look", N: of}, look) {
		if granted && waits != nil {
			waits.Give(1)
		}
		stop()
		k.putRoute(r, k.now())
		k.drops.Inc(dropWorkers)
		c.post(event{of: of, what: eventStart, err: patterns.ErrOverloaded})
	}
	return stop
}

// look waits for a view that has members, until deadline at most.
func (k *calls) look(ctx context.Context, r *route, wait bool, deadline time.Time) error {
	ctx, cancel := overlay.WithTimeout(ctx, k.cfg.Clock, "request.view", deadline.Sub(k.cfg.Clock.Now()))
	defer cancel()
	if _, err := r.watch.Wait(ctx, wait); err != nil {
		return viewError(ctx, err)
	}
	return nil
}

// viewError turns what the cluster layer says into an outcome.
func viewError(ctx context.Context, err error) error {
	switch {
	case errors.Is(err, cluster.ErrNoMembers):
		return patterns.ErrNoMembers
	case err == cluster.ErrUnreachable:
		return patterns.ErrUnreachable
	case errors.Is(err, cluster.ErrUnreachable): // and it says why
		return fmt.Errorf("%w: %w", patterns.ErrUnreachable, err)
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
	more := r.Flags&wire.FlagMoreReplies != 0
	u, ok := from.takeAttempt(r.ID, more)
	switch {
	case ok && u.many || ok && more && k.cfg.Leaf != nil:
		part := *r
		u.call.post(event{of: u.of, what: eventPart, attempt: u.attempt, reply: &part})
	case more:
	case ok:
		u.call.deliver(u.of, u.attempt, r, now)
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
	for _, u := range r.allAttempts() {
		e.of, e.attempt = u.of, u.attempt
		u.call.post(e)
	}
}

// close ends all that is under way.
func (k *calls) close() {
	for _, r := range k.peers.table.all() {
		for _, u := range r.allAttempts() {
			u.call.post(event{of: u.of, what: eventClosed})
		}
	}
	k.lapses.close()
	k.alone.close()
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

// routeTo returns the route to a cluster; putRoute it afterwards.
func (k *calls) routeTo(name string) *route {
	r, created := k.routes.get(name, func() *route {
		keys := k.keys(name)
		r := &route{name: name, watch: k.cfg.Directory.Watch(name), keys: keys, seal: k.mustSeal(keys)}
		if k.cfg.Leaf == nil { // a leaf's relay counts
			r.ledger = k.ledgers.get(name)
		}
		return r
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
