// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package request

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"

	"github.com/arke-mesh/arke/cluster"
	"github.com/arke-mesh/arke/patterns"
)

// failure is how an attempt ended that did not decide the request.
type failure uint8

const (
	failedFull      failure = iota + 1 // refused: the member's queue, or the lane to it, is full
	failedLeaving                      // refused: the member is draining
	failedGone                         // refused: no such member
	failedLate                         // thrown away unhandled: its deadline had passed
	failedUnreached                    // never sent
	failedCut                          // refused by a gateway: it can't reach the member's network
	failedLink                         // the link was lost after sending
	failedReply                        // the member can't say what became of it
)

// mayHaveRun says whether a handler may have seen the request.
func (f failure) mayHaveRun() bool { return f == failedLink || f == failedReply }

// permanent says that the same member need not be asked again.
func (f failure) permanent() bool { return f <= failedLate }

// doing is what a request does next.
type doing uint8

const (
	doWait  doing = iota // for whatever happens
	doTry                // choose a member and send
	doPause              // wait, for no longer than pause, then try again
	doEnd                // the outcome is err
)

// decision is what the plan wants done.
type decision struct {
	do    doing
	pause time.Duration
	err   error
}

func waiting() decision { return decision{do: doWait} }

func trying() decision { return decision{do: doTry} }

func ending(err error) decision { return decision{do: doEnd, err: err} }

// trial is one attempt as the plan knows it.
type trial struct {
	member   cluster.MemberID
	peer     peer.ID
	sent     bool
	doubtful bool    // its peer does not answer heartbeats
	failed   failure // 0 = under way
	network  string  // after failedCut: the one that can't be reached
}

// plan decides about one request: whether it is sent, sent again, given up,
// and what its outcome is. It is a pure core: it has no clock and sends
// nothing.
type plan struct {
	idempotent bool
	wait       bool // for a first member

	trials []trial
	room   [maxAttempts]trial // behind trials
	again  bool               // nobody else is left: who was not reached may be tried again
	stuck  bool               // nobody new was left to try …
	since  int64              // … since then, in ns
	rounds int                // looks at the view since then
}

func (p *plan) init(idempotent, wait bool) {
	p.idempotent, p.wait = idempotent, wait
	p.trials = p.room[:0]
}

// exclude appends the members that must not be chosen now. After the first
// attempt it is never empty, which tells the pick that this is no first try:
// then it does not choose who is known to be unreachable. No member has id 0.
func (p *plan) exclude(dst []cluster.MemberID) []cluster.MemberID {
	for i := range p.trials {
		t := &p.trials[i]
		if !p.again || t.failed == 0 || t.failed.permanent() {
			dst = append(dst, t.member)
		}
	}
	if len(p.trials) > 0 && len(dst) == 0 {
		dst = append(dst, 0)
	}
	return dst
}

// permits says whether the bounds allow an attempt at the member.
func (p *plan) permits(m cluster.MemberID) bool {
	if len(p.trials) >= maxAttempts {
		return false
	}
	distinct := 0
	for i := range p.trials {
		if p.trials[i].member == m {
			return true
		}
		if !tried(p.trials[:i], p.trials[i].member) {
			distinct++
		}
	}
	return distinct < maxMembers
}

func tried(trials []trial, m cluster.MemberID) bool {
	return slices.ContainsFunc(trials, func(t trial) bool { return t.member == m })
}

// lostPeer says whether an attempt failed because p could not be reached.
// Another member on the same node is no better choice.
func (p *plan) lostPeer(id peer.ID) bool {
	return slices.ContainsFunc(p.trials, func(t trial) bool {
		return t.peer == id && (t.failed == failedLink || t.failed == failedUnreached)
	})
}

// begin notes a new attempt and returns its number.
func (p *plan) begin(m cluster.MemberID, id peer.ID) int {
	p.again = false
	if !tried(p.trials, m) {
		p.stuck, p.rounds = false, 0
	}
	p.trials = append(p.trials, trial{member: m, peer: id})
	return len(p.trials) - 1
}

// sent notes that attempt i has left.
func (p *plan) sent(i int) { p.trials[i].sent = true }

// ended takes in the end of attempt i. The outcomes table of package patterns
// is this method and outcome.
func (p *plan) ended(i int, f failure) decision {
	p.trials[i].failed = f
	switch {
	case p.healthy():
		return waiting() // another attempt took its place already
	case f.mayHaveRun() && !p.idempotent:
		return p.settle()
	}
	return trying()
}

// doubted takes in that the member of attempt i does not answer heartbeats. It
// may still reply; whoever replies first gives the outcome.
func (p *plan) doubted(i int) decision {
	p.trials[i].doubtful = true
	if !p.idempotent || p.healthy() {
		return waiting()
	}
	return trying()
}

// trusted takes in that the member of attempt i is heard again.
func (p *plan) trusted(i int) { p.trials[i].doubtful = false }

// denied takes in that the budget or the bounds allow no other attempt.
func (p *plan) denied() decision { return p.settle() }

// nobody takes in that no member is left to choose; empty says that the cluster
// is known to have none. The view may be a moment behind: a member that was
// lost may be back, under another id, in a moment.
func (p *plan) nobody(now int64, empty bool) decision {
	if !p.stuck {
		p.stuck, p.since = true, now
	}
	p.again = true
	switch {
	case len(p.trials) >= maxAttempts || p.onlyFull():
		return p.settle()
	case p.wait:
	case p.onlyCut():
		return p.settle()
	case empty && !p.mayHaveRun():
		if p.failedWith(failedFull) {
			return ending(patterns.ErrOverloaded)
		}
		return ending(patterns.ErrNoMembers)
	case empty || time.Duration(now-p.since) >= viewPatience:
		return p.settle()
	}
	pause := min(firstPause<<min(p.rounds, 10), lastPause)
	p.rounds++
	return decision{do: doPause, pause: pause}
}

// settle waits for an attempt that is still under way, else gives up.
func (p *plan) settle() decision {
	if p.underWay() {
		return waiting()
	}
	return ending(p.outcome())
}

// outcome is what the failures add up to when nobody is left to try.
func (p *plan) outcome() error {
	switch {
	case p.mayHaveRun():
		return patterns.ErrInterrupted
	case p.failedWith(failedFull):
		return patterns.ErrOverloaded
	case p.failedWith(failedLate):
		return &patterns.DeadlineError{Cause: context.DeadlineExceeded}
	}
	for i := range p.trials {
		if t := &p.trials[i]; t.failed == failedCut {
			return fmt.Errorf("%w: no gateway reaches the network %s", patterns.ErrUnreachable, t.network)
		}
	}
	return patterns.ErrUnreachable
}

// over is the outcome when time is over or the caller gives up.
func (p *plan) over(cause error) error {
	return &patterns.DeadlineError{Cause: cause, MaybeRan: p.mayHaveRun()}
}

// closing is the outcome when this node closes.
func (p *plan) closing() error {
	if p.mayHaveRun() {
		return patterns.ErrInterrupted
	}
	return patterns.ErrClosed
}

// mayHaveRun says whether a handler may have seen the request.
func (p *plan) mayHaveRun() bool {
	return slices.ContainsFunc(p.trials, func(t trial) bool {
		return t.failed.mayHaveRun() || t.failed == 0 && t.sent
	})
}

func (p *plan) underWay() bool {
	return slices.ContainsFunc(p.trials, func(t trial) bool { return t.failed == 0 })
}

// healthy says whether an attempt is under way that nobody doubts.
func (p *plan) healthy() bool {
	return slices.ContainsFunc(p.trials, func(t trial) bool { return t.failed == 0 && !t.doubtful })
}

func (p *plan) failedWith(f failure) bool {
	return slices.ContainsFunc(p.trials, func(t trial) bool { return t.failed == f })
}

// onlyUnreached says that nothing has ever left.
func (p *plan) onlyUnreached() bool {
	return !slices.ContainsFunc(p.trials, func(t trial) bool { return t.failed != failedUnreached })
}

// onlyCut says that gateways have answered that they can't reach the members' network,
// and that nobody else is there any more.
func (p *plan) onlyCut() bool {
	return p.failedWith(failedCut) && !slices.ContainsFunc(p.trials, func(t trial) bool {
		return t.failed != failedCut && t.failed != failedGone && t.failed != failedLeaving
	})
}

func (p *plan) onlyFull() bool {
	return len(p.trials) > 0 && !slices.ContainsFunc(p.trials, func(t trial) bool { return t.failed != failedFull })
}
