// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package request

import (
	"bytes"
	"errors"
	"time"

	"github.com/arke-mesh/arke/cluster"
	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/overlay"
	"github.com/arke-mesh/arke/patterns"
)

// attempt is one request to one member: it has a request id of its own, and a
// member's handler sees it at most once.
type attempt struct {
	// Immutable.
	id     uint64
	number int // in the plan
	call   *call
	member *cluster.Member
	remote *remote

	// Owned by the caller's goroutine.
	began    int64       // when it was sent last
	left     uint64      // the session it was sent on
	withdraw func() bool // while it stands in line for room in the lane; else nil
	ended    bool

	// Written once, before eventSent: how it left the line.
	queued    uint64 // the session
	queuedErr error

	// Guarded by the shard of pending.
	session    uint64 // of the link that it left on; 0 = not sent yet
	connecting bool   // waits for the link
	doubted    bool

	// Guarded likewise; written once, when the reply takes the attempt out.
	reply   wire.Reply
	arrived int64
}

// attempt begins an attempt at m.
func (c *call) attempt(m *cluster.Member) decision {
	e := c.engine
	a := &c.first
	if n := len(c.plan.trials); n > 0 {
		a = &attempt{}
		e.retried.Add(1)
	}
	a.id = e.ids.Add(1)
	a.call, a.member, a.remote = c, m, e.remote(m.Peer)
	a.number = c.plan.begin(m.ID, m.Peer)
	c.attempts = append(c.attempts, a)
	e.cfg.Directory.Begin(m)
	a.remote.hold()
	e.pending.add(a)
	if e.closed.Load() {
		return c.end(c.plan.closing())
	}
	return c.transmit(a)
}

// transmit sends the request, or begins to establish the link for it.
func (c *call) transmit(a *attempt) decision {
	a.began = c.now()
	head, body := c.encode(a)
	c.parts[0], c.parts[1] = head, body
	lane := c.lane(len(head) + len(body))
	session, err := a.remote.link.Send(lane, wire.KindRequest, c.parts[:]...)
	if errors.Is(err, overlay.ErrLaneFull) && c.to != nil {
		return c.queue(a, lane, head, body)
	}
	return c.sent(a, session, err)
}

// sent takes in that a request has left, or why it has not.
func (c *call) sent(a *attempt, session uint64, err error) decision {
	switch {
	case err == nil:
		return c.left(a, session)
	case errors.Is(err, overlay.ErrLinkDown):
		return c.connect(a)
	case errors.Is(err, overlay.ErrLaneFull):
		c.engine.drops.Inc(dropLaneFull)
		return c.lost(a, failedFull)
	case errors.Is(err, overlay.ErrTooLarge):
		return c.tooLarge()
	}
	return c.end(c.plan.closing())
}

// queue has a request stand in line for room in its lane, because nobody else
// can be asked instead: eventSent will tell. The message is the caller's, who
// has to leave it as it is until the call has finished.
func (c *call) queue(a *attempt, lane overlay.Lane, head, body []byte) decision {
	e := c.engine
	withdraw, err := a.remote.link.SendLater(lane, wire.KindRequest, func(session uint64, err error) {
		a.queued, a.queuedErr = session, err
		e.post(a, event{what: eventSent, attempt: a})
	}, bytes.Clone(head), body)
	if err != nil {
		return c.sent(a, 0, err)
	}
	a.withdraw = withdraw
	return waiting()
}

// unqueue takes back what still stands in line. What has just left has left.
func (c *call) unqueue() {
	for _, a := range c.attempts {
		if a.withdraw != nil && !a.ended && !a.withdraw() {
			c.plan.sent(a.number)
		}
		a.withdraw = nil
	}
}

// lane is where a message of that size travels.
func (c *call) lane(size int) overlay.Lane {
	switch {
	case size > wire.MaxPayload:
		return overlay.LaneBulk
	case c.pattern == patterns.PatternBroadcast:
		return overlay.LanePub
	}
	return overlay.LaneRPC
}

// left notes that the request has left on a session.
func (c *call) left(a *attempt, session uint64) decision {
	e := c.engine
	e.sent.Add(1)
	a.left = session
	c.plan.sent(a.number)
	e.pending.update(a.id, func(a *attempt) { a.session, a.connecting = session, false })
	// What happened to the link between Send and now was not for us yet.
	if a.remote.link.Session() != session {
		e.fail(a.id, failedLink)
	} else if c.idempotent && a.remote.link.Suspect() {
		e.doubt(a)
	}
	return waiting()
}

// connect waits for the link: eventUp or eventFailed will tell.
func (c *call) connect(a *attempt) decision {
	e := c.engine
	e.pending.update(a.id, func(a *attempt) { a.connecting = true })
	a.remote.link.Open(a.member.Addrs)
	if a.remote.link.Session() != 0 {
		e.up(a) // Open had nothing to do any more, so that no event may come
	}
	return decision{do: doPause, pause: connectTime}
}

// lost ends an attempt that failed before anybody else could know of it.
func (c *call) lost(a *attempt, f failure) decision {
	c.engine.pending.take(a.id)
	return c.failed(a, f)
}

// failed takes in the end of an attempt.
func (c *call) failed(a *attempt, f failure) decision {
	outcome := cluster.OutcomeFailed
	switch f {
	case failedFull, failedLeaving, failedLate:
		outcome = cluster.OutcomeOverloaded
	case failedUnreached, failedLink:
		// The link's own state takes the member out of rotation, and brings it
		// back at the first byte; to eject it besides would keep it out longer.
		outcome = cluster.OutcomeCancelled
	}
	c.settle(a, outcome)
	return c.plan.ended(a.number, f)
}

// settle closes the books on an attempt: each Begin has its Done.
func (c *call) settle(a *attempt, o cluster.Outcome) {
	if a.ended {
		return
	}
	a.ended = true
	r := cluster.Result{Outcome: o, Latency: time.Duration(c.now() - a.began)}
	if o == cluster.OutcomeOK && c.pattern != patterns.PatternRequest && c.pattern != patterns.PatternSurvey {
		r.Outcome = cluster.OutcomeAccepted
	}
	if a.arrived != 0 {
		r.Latency = time.Duration(a.arrived - a.began)
		r.Queue, r.Running = int(a.reply.Queue), int(a.reply.Running)
		r.Service = time.Duration(a.reply.ServiceMicros) * time.Microsecond
	}
	c.engine.cfg.Directory.Done(a.member, r)
	c.engine.putRemote(a.remote, c.now())
}

// fail ends an attempt that is still under way.
func (e *Engine) fail(id uint64, f failure) {
	if a := e.pending.take(id); a != nil {
		e.post(a, event{what: eventFailed, failure: f, attempt: a})
	}
}

// up tells an attempt that waits for its link that it stands.
func (e *Engine) up(a *attempt) {
	told := false
	e.pending.update(a.id, func(a *attempt) { told, a.connecting = a.connecting, false })
	if told {
		e.post(a, event{what: eventUp, attempt: a})
	}
}

// doubt tells an attempt that its peer does not answer heartbeats.
func (e *Engine) doubt(a *attempt) {
	told := false
	e.pending.update(a.id, func(a *attempt) { told, a.doubted = !a.doubted, true })
	if told {
		e.post(a, event{what: eventDoubt, attempt: a})
	}
}
