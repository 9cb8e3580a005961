// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package request

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/arke-mesh/arke/cluster"
	"github.com/arke-mesh/arke/internal/after"
	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/overlay"
	"github.com/arke-mesh/arke/patterns"
)

// call is one request of a caller: the shell around a plan. It has no goroutine:
// whoever brings an event, the reader of a link, a timer, the caller, handles it
// to its end, and what others bring meanwhile.
//
// It is used again for another request. Who brings an event says which one it is
// meant for, so that what comes too late does not touch the next one.
type call struct {
	*calls
	*waiter // nil until a goroutine waits

	mu     sync.Mutex
	number uint64               // guarded by mu: of the request, which is that of its first attempt; 0 = none
	events after.InOrder[event] // guarded by mu

	asking
}

// asking is what a call has of one request only.
type asking struct {
	question
	sink  sink
	route *route

	// Owned by who handles events.
	plan     plan
	attempts []*attempt
	first    attempt       // the one that most requests need
	lapse    lapse         // in place if nobody else ends the request
	timer    overlay.Timer // ends a pause
	moment   int64         // the time, if it was asked for since the event came; else 0
	parts    parts         // of one that stands for many
	began    int64         // when it came to be asked; 0 = it never did
	timers   int32         // number of the latest timer
	late     bool          // time is over, and a leaf's relay may still say what became of it
	over     bool          // it has an outcome
	memory   struct {      // so that most requests need no other
		attempts [1]*attempt
		excluded [maxAttempts + 2]cluster.MemberID
		head     [64]byte
		parts    [2][]byte
		room     *sealRoom // of what is sealed, until the link has it
	}

	// The end; immutable once the sink is told.
	reply  *attempt // whose reply is the outcome
	answer Answer
	err    error
}

// question is what a call asks; immutable.
type question struct {
	origin     *wire.Origin    // of a message that is passed on, sealed; else nil
	tunnel     uint64          // the id of the one that is opened; else 0
	client     uint64          // for whom a relay asks; 0 = nobody
	to         *cluster.Member // the only one that is asked; nil = whom the policy picks
	policy     cluster.PickRequest
	pattern    patterns.Pattern
	idempotent bool
	wait       bool // for a first member
	headers    []wire.Header
	body       []byte
	raw        bool // body is a whole tail
	size       int  // bytes of headers and body
	deadline   time.Time
	limits     *patterns.SurveyOptions // of a leaf's survey; else nil
	bytes      *room                   // of replies; nil = no bound
}

// sink is told of a call's end, once. It must not block.
type sink interface{ finished(c *call) }

// partial is a sink that is told of replies that are not the last, too.
type partial interface{ replied(c *call, r *wire.Reply) }

// event is one thing that happened to a call.
type event struct {
	of      uint64 // the request that it is meant for
	what    eventType
	timer   int32 // of eventTimer: its number
	attempt *attempt
	session uint64          // of the link
	receipt overlay.Receipt // of eventSent
	err     error
	reply   *wire.Reply // of eventPart
}

type eventType uint8

const (
	eventStart    eventType = iota // there is a view, or none to be had: err
	eventReply                     // attempt.reply is there
	eventPart                      // reply is there, and more follow
	eventUp                        // a session with the attempt's peer began
	eventDown                      // one has ended
	eventUndialed                  // there is none to be had
	eventSuspect                   // the peer is not heard, or its connection broke
	eventHeard                     // it is heard again
	eventPatience                  // the attempt has waited long enough for that
	eventSent                      // the attempt that stood in line for its lane has left it: receipt or err
	eventTimer                     // the call's timer of that number
	eventStop                      // time is over, or the caller gives up: err
	eventClosed                    // this node closes
)

// init makes c the call of an Ask of that size.
func (c *call) init(k *calls, a *Ask, size int, s sink) {
	c.calls, c.sink = k, s
	c.question = question{
		to: a.To, origin: a.Origin, tunnel: a.Tunnel, client: a.Client, pattern: a.Pattern, size: size,
		idempotent: a.Options.Idempotent && a.To == nil,
		wait:       a.Options.WaitForMember && a.To == nil,
		policy:     cluster.PickRequest{Policy: cluster.Policy(a.Options.Policy), StickyKey: a.Options.StickyKey, Network: a.network, Transit: a.Transit},
	}
	if c.raw = a.Tail != nil; c.raw {
		c.body = a.Tail
	} else {
		c.headers, c.body = wire.ConvertHeaders[wire.Header](a.Message.Headers), a.Message.Body
	}
	c.plan.init(c.idempotent, c.wait)
	c.attempts = c.memory.attempts[:0]
	c.first.id = k.ids.Add(1)
	c.mu.Lock()
	c.number = c.first.id
	c.mu.Unlock()
}

// post has the event handled: now, by the caller, or by who handles another one.
func (c *call) post(ev event) {
	c.mu.Lock()
	if c.number != ev.of {
		c.mu.Unlock() // that request is over
		return
	}
	c.bring(ev)
}

// deliver is post for the reply to an attempt.
func (c *call) deliver(of uint64, a *attempt, r *wire.Reply, now int64) {
	c.mu.Lock()
	if c.number != of {
		c.mu.Unlock()
		return
	}
	a.reply, a.arrived = *r, now
	if b := c.bytes; b != nil && !b.take(replySize(r)) {
		c.drops.Inc(dropReplyLarge)
		a.reply = wire.Reply{ID: r.ID, Outcome: wire.OutcomeTooLarge, Queue: r.Queue, Running: r.Running}
	}
	c.bring(event{what: eventReply, attempt: a})
}

// bring is post for an event that is meant for this request; it releases mu.
func (c *call) bring(ev event) {
	if !c.events.Claim() {
		c.events.Add(ev)
		c.mu.Unlock()
		return
	}
	c.mu.Unlock()
	c.take(ev)
	c.mu.Lock()
	c.events.Finish(&c.mu, c.take)
	released := c.number == 0
	c.mu.Unlock()
	if released {
		c.recycle()
	}
}

// take handles an event, unless the request is over.
func (c *call) take(ev event) {
	if !c.over {
		c.moment = 0
		c.act(c.handle(ev))
	}
}

// release is called once the request is over and nobody needs what became of it. The
// call is for another one when nobody handles events any more.
func (c *call) release() {
	c.mu.Lock()
	busy := c.events.Busy()
	c.number = 0
	c.mu.Unlock()
	if !busy {
		c.recycle()
	}
}

func (c *call) recycle() {
	c.asking = asking{}
	c.calls.spare.Put(c)
}

// act does what the plan wants done.
func (c *call) act(d decision) {
	for d.do == doTry {
		d = c.try()
	}
	switch d.do {
	case doPause:
		c.arm(d.pause)
	case doEnd:
		c.conclude(d.err)
	}
}

// handle takes in one event.
func (c *call) handle(ev event) decision {
	a := ev.attempt
	if a != nil && a.ended {
		return waiting() // given up between the event and now
	}
	switch ev.what {
	case eventStart:
		if ev.err != nil {
			return ending(ev.err)
		}
		c.began = c.now()
		c.route.countRequest(c.client, c.began)
		return trying()
	case eventReply:
		c.moment, a.replied = a.arrived, true
		return a.answered()
	case eventPart:
		if a.many {
			return c.parts.heard(a, ev.reply)
		}
		c.sink.(partial).replied(c, ev.reply)
	case eventSent:
		a.withdraw = nil
		return a.sent(ev.receipt, ev.err)
	case eventTimer:
		if ev.timer == c.timers {
			return c.resume()
		}
	case eventStop:
		c.unqueue()
		return c.stop(ev.err)
	case eventClosed:
		c.unqueue()
		return ending(c.plan.closing())
	default:
		return a.linkEvent(ev)
	}
	return waiting()
}

// try chooses a member and sends, if that is allowed.
func (c *call) try() decision {
	switch {
	case c.closed.Load():
		return ending(c.plan.closing())
	case c.late:
		return c.timedOut()
	case c.to != nil:
		return c.tryOnly(c.to)
	}
	v := c.route.watch.View()
	m := c.pick(v)
	switch {
	case m == nil:
		empty := errors.Is(v.Nobody(), cluster.ErrNoMembers) || (c.policy.Network != "" || c.policy.Transit != nil) && v.HasNone(c.policy.Network, c.policy.Transit)
		return c.plan.nobody(c.now(), empty)
	case !c.plan.permits(m.ID):
		return c.plan.denied()
	case m.MaxMessage > 0 && c.size > m.MaxMessage:
		return c.tooLarge()
	case len(c.attempts) > 0 && !c.plan.onlyUnreached() && !c.route.allowRetry(c.client, c.now()): // what never left costs nobody anything
		c.drops.Inc(dropBudget)
		return c.plan.denied()
	}
	return c.attempt(m)
}

// tryOnly sends to the one member that is asked. Only while it could not be
// reached, and is still listed, is there another attempt.
func (c *call) tryOnly(m *cluster.Member) decision {
	switch {
	case m.MaxMessage > 0 && c.size > m.MaxMessage:
		return c.tooLarge()
	case len(c.attempts) == 0:
		return c.attempt(m)
	case !c.plan.onlyUnreached() || !c.listed(m):
		return c.plan.denied()
	case c.plan.again:
		return c.attempt(m)
	}
	return c.plan.nobody(c.now(), false)
}

// listed says whether m is still a member.
func (c *call) listed(m *cluster.Member) bool {
	v := c.route.watch.View()
	return slices.ContainsFunc(v.Members, func(each *cluster.Member) bool { return each.ID == m.ID })
}

// pick chooses a member. One on a node that this request has just lost is
// passed over: the cluster layer may not know yet.
func (c *call) pick(v *cluster.View) *cluster.Member {
	r := c.policy
	r.Exclude = c.plan.exclude(c.memory.excluded[:0])
	for range len(v.Members) + 1 {
		m := c.cfg.Directory.Pick(v, r)
		if m == nil || c.plan.again || !c.plan.lostPeer(m.Hop()) || c.cfg.Links.Link(m.Hop()).Session() != 0 {
			return m
		}
		r.Exclude = append(r.Exclude, m.ID)
	}
	return nil
}

// another chooses a member that was not asked yet, nil if there is none that may
// be.
func (c *call) another() *cluster.Member {
	m := c.pick(c.route.watch.View())
	if m == nil || !c.plan.permits(m.ID) || m.MaxMessage > 0 && c.size > m.MaxMessage {
		return nil
	}
	return m
}

// now is the engine's clock, asked once for each event: it costs more than most
// of what a request does.
func (c *call) now() int64 {
	if c.moment == 0 {
		c.moment = c.env.now()
	}
	return c.moment
}

// arm starts the timer of a pause, in place of an earlier one.
func (c *call) arm(pause time.Duration) {
	if c.timer != nil {
		c.timer.Stop()
	}
	c.timers++
	n, of := c.timers, c.first.id
	c.timer = c.cfg.Clock.AfterFunc("request.pause", pause, func() { c.post(event{of: of, what: eventTimer, timer: n}) })
}

// stop ends it, as time is over or the caller gives up. What a leaf's relay has, it ends
// at the same time, and knows whether a handler may have run: that is waited for.
func (c *call) stop(cause error) decision {
	if c.cfg.Leaf == nil || c.late || !errors.Is(cause, context.DeadlineExceeded) || !c.plan.mayHaveRun() {
		return ending(c.plan.over(cause))
	}
	c.late = true
	return decision{do: doPause, pause: graceOf(c.pattern)}
}

func (c *call) timedOut() decision { return ending(c.plan.over(context.DeadlineExceeded)) }

// resume ends a pause: an attempt that still waits for its link has waited
// long enough, and who was waited for may have come.
func (c *call) resume() decision {
	if c.late {
		return c.timedOut()
	}
	for _, a := range c.attempts {
		switch {
		case a.ended:
		case a.connecting:
			a.settle(wire.OutcomeFailed) // it hangs, which its link will not say for long
			return a.failed(failedUnreached)
		case !c.plan.trials[a.number].doubtful:
			return waiting()
		}
	}
	return trying()
}

// tooLarge ends it: the message is beyond a limit, and was not sent.
func (c *call) tooLarge() decision {
	c.drops.Inc(dropTooLarge)
	return ending(patterns.ErrTooLarge)
}

// conclude closes the books: whoever still works for this call is told that
// nobody waits any more, and the caller that it has an outcome.
func (c *call) conclude(err error) {
	c.over, c.err = true, err
	if c.lapse.call != nil {
		c.lapses.remove(&c.lapse)
	}
	if c.timer != nil {
		c.timer.Stop()
	}
	c.unqueue()
	for _, a := range c.attempts {
		a.abandon()
	}
	c.route.ledger.tell(c, err)
	c.putRoute(c.route, c.now())
	switch {
	case c.cfg.Leaf == nil:
		c.answer.Attempts = len(c.attempts)
	case c.reply == nil && c.plan.mayHaveRun():
		c.answer.Attempts = 1 // its relay has not said how many
	}
	c.sink.finished(c)
}
