// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package request

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/arke-mesh/arke/cluster"
	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/overlay"
	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/security"
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
	many   bool // it has many replies: see hasParts

	// Of a sealed one; set whenever it is sent.
	agreement *security.Agreement
	rekeyed   bool // it was sent again with the key that the member has told

	// Owned by who handles the call's events.
	began      int64           // when it was sent last
	receipt    overlay.Receipt // of what was sent; zero = nothing yet
	connecting bool            // waits for the link
	withdraw   func() bool     // while it stands in line for room in the lane; else nil
	patience   overlay.Timer   // runs while its peer is not heard, but not given up; else nil
	earlier    int             // a leaf's: sessions that have ended with it
	replied    bool            // the reply may be read
	revealed   bool            // the reply is the member's, opened
	ended      bool

	// Written by who takes the attempt out of its remote, before eventReply.
	reply   wire.Reply
	arrived int64
}

// attempt begins an attempt at m.
func (c *call) attempt(m *cluster.Member) decision {
	a := &c.first
	if n := len(c.plan.trials); n > 0 {
		a = &attempt{id: c.ids.Add(1)}
		c.retried.Add(1)
	}
	a.call, a.member, a.remote, a.many = c, m, c.peers.get(m.Hop()), hasParts(c)
	a.number = c.plan.begin(m.ID, m.Hop())
	c.attempts = append(c.attempts, a)
	c.cfg.Directory.Begin(m)
	a.remote.hold()
	a.remote.addAttempt(a) // before it is sent, so that no event is missed
	if c.closed.Load() {
		return ending(c.plan.closing())
	}
	return a.transmit()
}

// transmit sends the request, or begins to establish the link for it.
func (a *attempt) transmit() decision {
	c := a.call
	a.began = c.now()
	if c.route.seal && c.origin == nil && !agree(a) {
		c.drops.Inc(dropNoEphemeral)
		return a.failed(failedGone)
	}
	head, body := a.encode()
	c.memory.parts[0], c.memory.parts[1] = head, body
	lane := c.lane(len(head) + len(body))
	r, err := a.remote.link.Send(lane, wire.KindRequest, c.memory.parts[:]...)
	if errors.Is(err, overlay.ErrLaneFull) && (c.to != nil || c.cfg.Leaf != nil) {
		c.memory.room = nil
		return a.standInLine(lane, head, body)
	}
	c.rooms.put(c.memory.room)
	c.memory.room = nil
	return a.sent(r, err)
}

// sent takes in that a request has left, or why it has not.
func (a *attempt) sent(r overlay.Receipt, err error) decision {
	c := a.call
	switch {
	case err == nil:
		return a.departed(r)
	case errors.Is(err, overlay.ErrLinkDown):
		return a.connect()
	case errors.Is(err, overlay.ErrLaneFull):
		c.drops.Inc(dropLaneFull)
		return a.failed(failedFull)
	case errors.Is(err, overlay.ErrTooLarge):
		return c.tooLarge()
	}
	return ending(c.plan.closing())
}

// standInLine has a request wait for room in its lane, because nobody else can
// be asked instead: eventSent will tell. The message is the caller's, who has to
// leave it as it is until the call has ended.
func (a *attempt) standInLine(lane overlay.Lane, head, body []byte) decision {
	c := a.call
	of := c.first.id
	withdraw, err := a.remote.link.SendLater(lane, wire.KindRequest, func(r overlay.Receipt, err error) {
		c.post(event{of: of, what: eventSent, attempt: a, receipt: r, err: err})
	}, bytes.Clone(head), body)
	if err != nil {
		return a.sent(overlay.Receipt{}, err)
	}
	a.withdraw = withdraw
	return waiting()
}

// unqueue takes back what still stands in line, or was not written yet. What has
// just left has left.
func (c *call) unqueue() {
	for _, a := range c.attempts {
		if a.ended {
			continue
		}
		if a.withdraw == nil {
			a.unwritten()
		} else if !a.withdraw() {
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

// departed notes that the request has left on a session. What has happened to the
// session meanwhile comes as an event.
func (a *attempt) departed(r overlay.Receipt) decision {
	c := a.call
	c.transmitted.Add(1)
	a.receipt, a.connecting = r, false
	c.plan.sent(a.number)
	if c.idempotent && c.cfg.Leaf == nil && a.remote.link.Suspect() {
		return c.plan.doubted(a.number)
	}
	return waiting()
}

// connect waits for the link: eventUp or eventUndialed will tell. A leaf waits
// for its relay as long as it has time: there is nobody else.
func (a *attempt) connect() decision {
	c := a.call
	a.connecting = true
	a.remote.link.Open(a.member.Addrs)
	switch {
	case a.remote.link.Session() != 0: // since: Open had nothing to do, so that no event may come
		c.post(event{of: c.first.id, what: eventUp, attempt: a})
		return waiting()
	case c.cfg.Leaf != nil:
		return waiting()
	}
	return decision{do: doPause, pause: connectTime}
}

// linkEvent takes in what happened to the attempt's link.
func (a *attempt) linkEvent(ev event) decision {
	c := a.call
	on := a.receipt.Session != 0 && a.receipt.Session == ev.session
	switch {
	case a.connecting && ev.what == eventUp:
		a.connecting = false
		return a.transmit()
	case a.connecting && ev.what == eventUndialed:
		return a.undialed(ev.err)
	case on && ev.what == eventDown:
		return a.interrupted()
	case on && ev.what == eventSuspect:
		return a.suspect()
	case on && ev.what == eventHeard:
		a.stopPatience()
		c.plan.trusted(a.number)
	case ev.what == eventPatience && a.patience != nil:
		a.patience = nil
		return c.plan.doubted(a.number)
	}
	return waiting()
}

// undialed ends an attempt whose link there is no hope for. A leaf has no other.
func (a *attempt) undialed(cause error) decision {
	c := a.call
	if c.cfg.Leaf == nil {
		return a.failed(failedUnreached)
	}
	a.settle(wire.OutcomeCancelled)
	switch {
	case c.plan.mayHaveRun():
		return ending(patterns.ErrInterrupted)
	case cause != nil:
		return ending(fmt.Errorf("%w: %w", patterns.ErrUnreachable, cause))
	}
	return ending(patterns.ErrUnreachable)
}

// interrupted takes in that the session has ended that the attempt was sent on.
func (a *attempt) interrupted() decision {
	c := a.call
	unwritten := a.unwritten()
	switch {
	case c.cfg.Leaf != nil && (unwritten || c.idempotent):
		if !unwritten {
			a.earlier++
		}
		return a.awaitSession()
	case unwritten:
		return a.failed(failedUnreached)
	}
	return a.failed(failedLink)
}

// awaitSession has a leaf's attempt sent again in the next session.
func (a *attempt) awaitSession() decision {
	old := a.receipt.Session
	a.receipt, a.connecting = overlay.Receipt{}, true
	a.call.plan.trials[a.number].sent = a.earlier > 0
	a.remote.addAttempt(a)
	if now := a.remote.link.Session(); now != 0 && now != old {
		a.call.post(event{of: a.call.first.id, what: eventUp, attempt: a})
	}
	return waiting()
}

// suspect takes in that the peer is not heard, or that its connection broke. What
// was not written goes to another member, if there is one; what was, and may be
// repeated, after a moment in which the connection may come back. A leaf, and who
// asks one member only, wait for that: there is nobody else.
func (a *attempt) suspect() decision {
	c := a.call
	if c.to != nil || c.cfg.Leaf != nil {
		return waiting()
	}
	if m := c.another(); m != nil && a.unwritten() {
		return a.moveTo(m)
	}
	if !c.idempotent || a.patience != nil {
		return waiting()
	}
	wait := a.remote.patience()
	if wait <= 0 {
		return c.plan.doubted(a.number)
	}
	of := c.first.id
	a.patience = c.cfg.Clock.AfterFunc("request.patience", wait, func() {
		c.post(event{of: of, what: eventPatience, attempt: a})
	})
	return waiting()
}

// moveTo has another member asked in place of one that was sent nothing. Where
// retries are used up the request goes into the lane again: the connection may
// come back, so that nobody need hear of it.
func (a *attempt) moveTo(m *cluster.Member) decision {
	c := a.call
	if !c.route.allowRetry(c.client, c.now()) {
		return a.transmit()
	}
	if d := a.failed(failedUnreached); d.do != doTry {
		return d
	}
	return c.attempt(m)
}

// unwritten takes back what was sent, and says whether it is certain that nobody
// has seen it or will.
func (a *attempt) unwritten() bool {
	if a.receipt.Session == 0 || !a.remote.link.Withdraw(a.receipt) {
		return false
	}
	a.call.plan.trials[a.number].sent = a.earlier > 0
	return true
}

func (a *attempt) stopPatience() {
	if a.patience != nil {
		a.patience.Stop()
		a.patience = nil
	}
}

// failed takes in the end of an attempt that is not the call's.
func (a *attempt) failed(f failure) decision {
	c := a.call
	outcome := wire.OutcomeFailed
	switch f {
	case failedFull, failedLeaving, failedLate:
		outcome = wire.OutcomeOverloaded
	case failedCut:
		outcome = wire.OutcomeCancelled // that it can't serve now its record says, too
		c.plan.trials[a.number].network = a.member.Network
	case failedUnreached, failedLink:
		// The link's own state takes the member out of rotation, and brings it
		// back at the first byte; to eject it besides would keep it out longer.
		outcome = wire.OutcomeCancelled
	}
	a.settle(outcome)
	return c.plan.ended(a.number, f)
}

// settle closes the books on an attempt: each Begin has its Done.
func (a *attempt) settle(o wire.Outcome) {
	c := a.call
	if a.ended {
		return
	}
	a.ended = true
	a.stopPatience()
	a.remote.removeAttempt(a.id)
	r := cluster.Result{Outcome: o, Latency: time.Duration(c.now() - a.began)}
	r.Accepted = o == wire.OutcomeReply && (a.many || c.pattern != patterns.PatternRequest && c.pattern != patterns.PatternSurvey)
	if a.replied {
		r.Latency = time.Duration(a.arrived - a.began)
		r.Queue, r.Running = int(a.reply.Queue), int(a.reply.Running)
		r.Service = time.Duration(a.reply.ServiceMicros) * time.Microsecond
	}
	c.cfg.Directory.Done(a.member, r)
	c.peers.put(a.remote, c.now())
}

// abandon ends an attempt that has no answer when its call has an outcome.
func (a *attempt) abandon() {
	c := a.call
	if a.ended {
		return
	}
	over := c.now() >= int64(c.deadline.Sub(c.start))
	if c.plan.trials[a.number].sent && !over && a != c.reply {
		var frame [8]byte // a hint, which may get lost
		_, _ = a.remote.link.Send(overlay.LaneRPC, wire.KindCancel, wire.Cancel{ID: a.id}.AppendTo(frame[:0]))
	}
	// What an attempt without an answer tells of its member: nothing, if its peer
	// is not heard either, for that is the link's to say.
	outcome := wire.OutcomeCancelled
	if over && !c.plan.trials[a.number].doubtful && !errors.Is(c.err, context.Canceled) {
		outcome = wire.OutcomeFailed
	}
	a.settle(outcome)
}

// originOf says through which networks the request has come that a gateway carries on.
func originOf(a *attempt) *wire.Origin {
	o := &wire.Origin{Peer: string(a.call.cfg.Links.Self()), Incarnation: a.call.cfg.Incarnation, Serial: a.id}
	for _, id := range a.call.policy.Transit.Passed {
		o.Networks = append(o.Networks, string(id[:]))
	}
	return o
}

// encode returns the request in two parts. They are valid until the next call.
func (a *attempt) encode() (head, body []byte) {
	c := a.call
	member, incarnation := targetOf(a)
	r := wire.Request{
		ID:          a.id,
		Member:      uint64(member),
		Incarnation: incarnation,
		Deadline:    c.cfg.Links.LinkTime(c.deadline),
		Attempt:     uint8(a.number),
		Pattern:     uint8(c.pattern),
	}
	if c.idempotent {
		r.Flags |= wire.FlagIdempotent
	}
	if a.member.Imported && c.policy.Transit != nil {
		r.Origin = originOf(a)
	}
	if c.origin != nil || isFar(a) {
		r.Tunnel = c.tunnel
	}
	switch {
	case c.origin != nil:
		r.Flags |= wire.FlagSealed
		r.Origin = c.origin
		return r.AppendHead(c.memory.head[:0]), c.body
	case c.route.seal:
		r.Flags |= wire.FlagSealed
		return r.AppendHead(c.memory.head[:0]), a.seal()
	case c.cfg.Leaf != nil:
		r.Route, r.Member, r.Incarnation = c.route.block(&c.question), 0, 0
	}
	head = r.AppendHead(c.memory.head[:0])
	if !c.raw {
		head = wire.AppendHeaders(head, c.headers)
	}
	return head, c.body
}
