// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package check

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/arke-mesh/arke/sim/history"
)

// probe is the name of the work that the liveness phase adds.
const probe = "probe"

// asked names a request for people, behind what it is.
func asked(r *history.Request) string {
	return fmt.Sprintf("%d of %s to %s", r.ID, r.Caller, r.Cluster)
}

// requests knows who asked for what, and what was handled for it. It never
// changes after newRequests. A request is named by its index in
// History.Requests, a handler's run by its index in History.Runs.
type requests struct {
	*borders
	rules *Rules

	runs   [][]int            // request → its runs, in order of the history
	strays []int              // runs of requests that nobody made, or without a registration
	rough  map[[2]string]bool // caller, node of a member: History.Rough
}

func newRequests(b *borders, r *Rules) *requests {
	h := b.h
	q := &requests{borders: b, rules: r, runs: make([][]int, len(h.Requests)), rough: make(map[[2]string]bool)}
	byID := make(map[uint64]int, len(h.Requests))
	for i := range h.Requests {
		byID[h.Requests[i].ID] = i
	}
	for i := range h.Runs {
		run := &h.Runs[i]
		request, ok := byID[run.Request]
		if !ok || run.Tenure < 0 || run.Tenure >= len(h.Tenures) {
			q.strays = append(q.strays, i)
			continue
		}
		q.runs[request] = append(q.runs[request], i)
	}
	for _, pair := range h.Rough {
		q.rough[pair] = true
	}
	return q
}

// reliable are the runs of a request that prove something: all of them, or those in the
// caller's own network if a gateway betrays it.
func (q *requests) reliable(request int) []int {
	r := &q.h.Requests[request]
	if len(q.h.Crossings) == 0 || !q.borders.betrayed(r) {
		return q.runs[request]
	}
	return slices.DeleteFunc(slices.Clone(q.runs[request]), func(run int) bool { return crossed(q, r, q.h.Runs[run].Tenure) })
}

// foreign says whether a request's outcome, or an answer, by that member may be the
// invention of a gateway that betrays its caller: it is nobody's who is registered in the
// caller's own network.
func (q *requests) foreign(r *history.Request, member string) bool {
	if len(q.h.Crossings) == 0 || !q.borders.betrayed(r) {
		return false
	}
	tenure, registered := q.members.named[member]
	return !registered || crossed(q, r, tenure)
}

// pending says that a request had no outcome yet when the run ended, rightly.
func (q *requests) pending(r *history.Request) bool {
	return r.Ended < 0 && r.Outcomes == 0 && q.latest(r) >= q.h.End
}

// latest is when a request must have ended.
func (q *requests) latest(r *history.Request) time.Duration {
	return q.calm.latest(r.Caller, r.Sent, r.Deadline)
}

// checkComplete: a survey or a broadcast that is called complete names nobody
// as missing, and every member that was registered long enough before it began
// for everybody to know, stayed, and could be reached, has answered it or got
// it.
func checkComplete(q *requests, d *violations) {
	for i := range q.h.Requests {
		r := &q.h.Requests[i]
		if !r.Many() || r.Outcome != "complete" || r.Lost {
			continue
		}
		if len(r.Missing) > 0 {
			d.add(r.Ended, "%s %s is called complete and names %d missing", r.Kind, asked(r), len(r.Missing))
		}
		for _, tenure := range stableMembers(q, r) {
			if crossed(q, r, tenure) && q.borders.betrayed(r) {
				continue
			}
			if !wasReached(q, i, tenure) {
				d.add(r.Ended, "%s %s is called complete, without the member on %s, which was one all the time", r.Kind, asked(r), q.h.Tenures[tenure].Node)
			}
		}
	}
}

// stableMembers lists the members that were registered for the bound Known before the
// request and until it ended, and that nothing disturbed, nor the caller. A
// member whose node was alone when it registered counts from when another node
// has shown it, and one of another network while the caller shows that this one lends.
func stableMembers(q *requests, r *history.Request) []int {
	var out []int
	since := minus(r.Sent, q.rules.Known)
	life := q.lives.at(r.Caller, r.Sent)
	for _, i := range q.borders.everybody(life, r.Cluster) {
		t := &q.h.Tenures[i]
		s := truth(t)
		if q.borders.own(life, r.Cluster, i) {
			if shown, seen := q.members.seen[t.Member]; !seen || shown > since {
				continue
			}
		} else if !q.borders.visible(r.Caller, r.Cluster, i, span{since, plus(r.Sent, 1)}) {
			continue
		}
		if s.from <= since && s.until > r.Ended && !q.borders.parted(r, i, span{since, plus(r.Ended, 1)}) {
			out = append(out, i)
		}
	}
	return out
}

// wasReached says whether a member answered a survey, or has a broadcast.
func wasReached(q *requests, request, tenure int) bool {
	r := &q.h.Requests[request]
	if r.Kind == "survey" {
		return slices.ContainsFunc(r.Answers, func(a history.Answer) bool { return a.Member == q.h.Tenures[tenure].Member })
	}
	return q.members.lostNode(tenure, r.Sent) ||
		slices.ContainsFunc(q.runs[request], func(run int) bool { return q.h.Runs[run].Tenure == tenure })
}

// checkOutcome: every request has exactly one outcome, at the latest so soon
// after its deadline. Of a caller whose own node was hit only the one outcome
// is demanded.
func checkOutcome(q *requests, d *violations) {
	for i := range q.h.Requests {
		r := &q.h.Requests[i]
		switch {
		case q.pending(r):
		case r.Outcomes > 1:
			d.add(r.Ended, "request %s ended %d times", asked(r), r.Outcomes)
		case r.Outcomes < 1 || r.Ended < 0:
			d.add(r.Deadline, "request %s, sent at %v, never ended", asked(r), r.Sent)
		case !r.Lost && r.Ended > q.latest(r):
			d.add(r.Ended, "request %s ended (%s) %v after its deadline", asked(r), r.Outcome, minus(r.Ended, r.Deadline))
		}
	}
}

// strained is the tolerance of Rules.Begin where link time can't be measured
// well: it is wrong by half of the best round trip so far at most, and what is
// sent again because it was lost, or waits before a bottleneck, makes that long.
const strained = 2 * time.Second

// checkExpired: a handler is told its request's deadline, which travels in link
// time, and none begins after it.
func checkExpired(q *requests, d *violations) {
	for i := range q.runs {
		r, runs := &q.h.Requests[i], q.reliable(i)
		if r.Kind == "push" || r.Kind == "broadcast" {
			continue // who sent it was told that it is accepted: from then on it has no deadline
		}
		for _, n := range runs {
			run := &q.h.Runs[n]
			node := q.h.Tenures[run.Tenure].Node
			latest := plus(r.Deadline, q.rules.Begin)
			if run.Began > latest || run.Expires > latest {
				latest = plus(r.Deadline, linkTimeError(q, r, run))
			}
			switch {
			case run.Began > latest:
				d.add(run.Began, "request %s was begun on %s %v after its deadline", asked(r), node, minus(run.Began, r.Deadline))
			case run.Expires >= 0 && run.Began > plus(run.Expires, q.rules.Outcome):
				d.add(run.Began, "request %s was begun on %s %v after the deadline that it was told", asked(r), node, minus(run.Began, run.Expires))
			case run.Expires < 0:
				d.add(run.Began, "request %s was begun on %s without a deadline", asked(r), node)
			case run.Expires > latest:
				d.add(run.Began, "request %s was begun on %s with a deadline that is %v too late", asked(r), node, minus(run.Expires, r.Deadline))
			}
		}
	}
}

// linkTimeError is how wrong link time may be between a caller and a member.
func linkTimeError(q *requests, r *history.Request, run *history.Run) time.Duration {
	member := q.h.Tenures[run.Tenure].Node
	s := span{r.Sent, max(r.Sent, run.Began)}
	if q.borders.parted(r, run.Tenure, s) || q.calm.skewed(r.Caller, s) || q.calm.skewed(member, s) || q.rough[[2]string{r.Caller, member}] {
		return max(q.rules.Begin, strained)
	}
	return q.rules.Begin
}

// checkTwice: a subscription gets a publication once at most, and of a queue of
// subscriptions only one gets it. This holds whatever happens.
func checkTwice(x *topics, d *violations) {
	for s, list := range x.got {
		seen := make(map[uint64]bool, len(list))
		for _, i := range list {
			if g := &x.h.Deliveries[i]; seen[g.Publication] {
				sub := &x.h.Subscriptions[s]
				d.add(g.At, "%s got publication %d twice", listening(sub), g.Publication)
			}
			seen[x.h.Deliveries[i].Publication] = true
		}
	}
	for _, q := range x.queueList() {
		first := make(map[uint64]int)
		for _, i := range gotBy(x, x.queues[q]) {
			g := &x.h.Deliveries[i]
			if s, again := first[g.Publication]; again && s != g.Subscription {
				d.add(g.At, "of queue %s of %s both %s and %s got publication %d",
					q.name, q.pattern, x.h.Subscriptions[s].Node, x.h.Subscriptions[g.Subscription].Node, g.Publication)
			}
			first[g.Publication] = g.Subscription
		}
	}
}

// gotBy lists what several subscriptions got, by time.
func gotBy(x *topics, subscriptions []int) []int {
	var all []int
	for _, s := range subscriptions {
		all = append(all, x.got[s]...)
	}
	slices.SortStableFunc(all, func(a, b int) int { return cmp.Compare(x.h.Deliveries[a].At, x.h.Deliveries[b].At) })
	return all
}

// checkAstray: what a subscription gets was published, by who is said to have
// done it, on a topic that it asked for, and before.
func checkAstray(x *topics, d *violations) {
	for _, i := range x.strays {
		d.add(x.h.Deliveries[i].At, "publication %d was delivered, and nobody made it", x.h.Deliveries[i].Publication)
	}
	for s, list := range x.got {
		sub := &x.h.Subscriptions[s]
		for _, i := range list {
			g := &x.h.Deliveries[i]
			p := &x.h.Publications[x.published[g.Publication]]
			complain := ""
			switch {
			case !x.matches(sub, p):
				complain = "which does not match"
			case sub.NoEcho && sub.Node == p.Publisher:
				complain = "which it published itself"
			case g.At < p.Sent:
				complain = "before it was published"
			case g.At < sub.Asked || sub.Until >= 0 && g.At > plus(sub.Until, x.rules.Member):
				complain = "when it was no subscription"
			case g.Wrong != "":
				complain = "as " + g.Wrong
			}
			if complain != "" {
				d.add(g.At, "%s got publication %d on %s of %s, %s", listening(sub), g.Publication, p.Topic, p.Publisher, complain)
			}
		}
	}
}

// checkOnce: each attempt of a request runs at most once, and only idempotent
// requests are attempted again after a handler may have run; what goes to many
// runs at most once on each. This holds for callers whose own node was hit, too.
func checkOnce(q *requests, d *violations) {
	for i, runs := range q.runs {
		if text := tooOften(q, i); text != "" {
			var at time.Duration
			for _, run := range runs {
				at = max(at, q.h.Runs[run].Began)
			}
			r := &q.h.Requests[i]
			d.add(at, "request %s was handled %s", asked(r), text)
		}
	}
}

// tooOften says how a request was handled too often, or "".
func tooOften(q *requests, request int) string {
	r, runs := &q.h.Requests[request], q.reliable(request)
	if len(runs) < 2 {
		return ""
	}
	if !r.Idempotent && !r.Many() {
		return fmt.Sprintf("%d times, and is not idempotent", len(runs))
	}
	seen := make(map[int]bool, len(runs))
	for _, run := range runs {
		tenure := q.h.Runs[run].Tenure
		// Who was lost while it handled it may be asked again when nobody else
		// is left, which makes another attempt of it.
		node, while := q.h.Tenures[tenure].Node, span{r.Sent, q.h.Runs[run].Began}
		if seen[tenure] && (r.Many() || !q.borders.parted(r, tenure, while) && !q.borders.bereft(r, tenure, while)) {
			return fmt.Sprintf("twice by the member on %s, and nothing parted it from its caller", node)
		}
		seen[tenure] = true
	}
	// The caller's side does not know its attempts if it was hit or never ended, nor
	// a client all that a relay had made when it died.
	if relay := q.members.lives.relay(r.Caller, r.Sent); relay >= 0 && q.h.Nodes[relay].Until >= 0 && q.h.Nodes[relay].Until < r.Ended {
		return ""
	}
	if !r.Many() && !r.Lost && r.Ended >= 0 && r.Attempts > 0 && len(runs) > allowed(q, request) {
		return fmt.Sprintf("%d times in %d attempts", len(runs), r.Attempts)
	}
	return ""
}

// perBorder is how many attempts a gateway makes for one request: as many as any caller.
const perBorder = 3

// allowed is how many runs the attempts of a request can have come to.
func allowed(q *requests, request int) int {
	r := &q.h.Requests[request]
	life := q.lives.at(r.Caller, r.Sent)
	if slices.ContainsFunc(q.runs[request], func(run int) bool { return q.borders.abroad(life, r.Cluster, q.h.Runs[run].Tenure) }) {
		return r.Attempts * perBorder
	}
	return r.Attempts
}

// checkClaim: no handler ran if the outcome says so. Callers whose own node was
// hit got their outcome from their own end, which knows nothing.
func checkClaim(q *requests, d *violations) {
	for i := range q.h.Requests {
		r := &q.h.Requests[i]
		if r.Lost || len(q.runs[i]) == 0 || !claimsNoRun(r) {
			continue
		}
		runs := q.reliable(i)
		if len(runs) == 0 {
			continue
		}
		run := &q.h.Runs[runs[0]]
		d.add(max(r.Ended, run.Began), "request %s ended (%s), which says that no handler ran; one did on %s at %v",
			asked(r), r.Outcome, q.h.Tenures[run.Tenure].Node, run.Began)
	}
}

func claimsNoRun(r *history.Request) bool {
	switch r.Outcome {
	case "no_members", "overloaded", "unreachable", "unauthorized", "too_large", "closed":
		return true
	case "deadline", "cancelled":
		return !r.MaybeRan
	default:
		return false
	}
}

// checkBelongs: a reply is the one to its request: the player compares bodies,
// and here it must be that a handler began before the reply came, on the
// member that is said to have given it. Nothing is handled that nobody asked.
func checkBelongs(q *requests, d *violations) {
	for _, run := range q.strays {
		d.add(q.h.Runs[run].Began, "request %d was handled, and nobody made it", q.h.Runs[run].Request)
	}
	for i := range q.h.Requests {
		r := &q.h.Requests[i]
		switch {
		case q.foreign(r, r.Member):
		case r.Outcome == "wrong_reply":
			d.add(r.Ended, "request %s got the reply of another: %s", asked(r), r.Detail)
		case r.Kind != "" && r.Kind != "request": // pushes may be handled later; for those to many see checkSpread
		case answered(r) && !answerer(q, i, r):
			d.add(r.Ended, "request %s ended (%s), and no handler of the member that answered had begun", asked(r), r.Outcome)
		}
	}
}

// answerer says whether a handler ran that can have given the answer.
func answerer(q *requests, request int, r *history.Request) bool {
	life := q.lives.at(r.Caller, r.Sent)
	_, registered := q.members.named[r.Member]
	for _, i := range q.runs[request] {
		run := &q.h.Runs[i]
		member := q.h.Tenures[run.Tenure].Member
		lent := !registered && q.borders.abroad(life, r.Cluster, run.Tenure)
		if run.Began <= r.Ended && (r.Member == "" || member == "" || lent || q.members.sameSeat(r.Member, run.Tenure)) {
			return true
		}
	}
	return false
}

// checkAccepted: a push that was accepted is handled, once as checkOnce says,
// and to the end, unless the node that had it was lost. Draining does not lose
// it.
func checkAccepted(q *requests, d *violations) {
	for i := range q.h.Requests {
		r := &q.h.Requests[i]
		if r.Kind != "push" || r.Outcome != "accepted" {
			continue
		}
		if len(q.runs[i]) == 0 {
			if !lostPush(q, r) && !q.foreign(r, r.Member) {
				d.add(r.Ended, "push %s was accepted by %s and never handled", asked(r), q.members.seat(r.Member))
			}
			continue
		}
		for _, n := range q.runs[i] {
			if run := &q.h.Runs[n]; run.Ended < 0 && !q.members.lostNode(run.Tenure, run.Began) {
				d.add(run.Began, "push %s was begun on %s and never finished", asked(r), q.h.Tenures[run.Tenure].Node)
			}
		}
	}
}

// lostPush says whether a push may have been lost with its member's node. If
// nobody knows which one that was, any of the cluster will do.
func lostPush(q *requests, r *history.Request) bool {
	if tenure, ok := q.members.named[r.Member]; ok {
		return q.members.lostNode(tenure, r.Sent)
	}
	return slices.ContainsFunc(q.borders.everybody(q.lives.at(r.Caller, r.Sent), r.Cluster), func(tenure int) bool {
		return q.members.lostNode(tenure, r.Sent)
	})
}

// checkProgress: once everything is healed and had time to settle, every probe
// to a cluster that has a member is answered.
func checkProgress(q *requests, d *violations) {
	settled := plus(q.h.Safety, q.rules.Settle)
	for i := range q.h.Requests {
		r := &q.h.Requests[i]
		if r.Work != probe || r.Lost || answered(r) || r.Sent < settled || q.pending(r) {
			continue
		}
		if wasServed(q, r) {
			d.add(r.Sent, "probe %s, sent %v after the faults, was not answered: %s %s", asked(r), minus(r.Sent, q.h.Safety), r.Outcome, r.Detail)
		}
	}
}

// wasServed says whether a member that the caller can know was live from the time
// that the request was sent until it ended; one of another network, and the gateway that
// lends it, for long enough before.
func wasServed(q *requests, r *history.Request) bool {
	life := q.lives.at(r.Caller, r.Sent)
	while := span{r.Sent, plus(max(r.Sent, r.Ended), 1)}
	for _, i := range q.borders.everybody(life, r.Cluster) {
		s := truth(&q.h.Tenures[i])
		if s.from > while.from || s.until < while.until {
			continue
		}
		settling := span{minus(while.from, q.rules.Settle), while.until}
		if q.borders.own(life, r.Cluster, i) {
			if q.calm.met(life, q.lives.at(q.h.Tenures[i].Node, q.h.Tenures[i].Asked), r.Sent) <= settling.from {
				return true
			}
		} else if s.from <= settling.from && q.borders.linked(life, r.Cluster, i, settling) {
			return true
		}
	}
	return false
}

// crossed says whether who handled a request was lent to its caller.
func crossed(q *requests, r *history.Request, tenure int) bool {
	return q.borders.abroad(q.lives.at(r.Caller, r.Sent), r.Cluster, tenure)
}

// checkMember: whoever handles a request serves its cluster then, and holds the
// caller's keys, or is lent to its network, unless both are strangers.
func checkMember(q *requests, d *violations) {
	for i, runs := range q.runs {
		r := &q.h.Requests[i]
		caller := q.lives.at(r.Caller, r.Sent)
		name, _ := split(r.Cluster)
		for _, n := range runs {
			run := &q.h.Runs[n]
			t := &q.h.Tenures[run.Tenure]
			switch {
			case q.calm.strangers(r.Caller, t.Node, run.Began): // what strangers do among themselves is theirs
			case crossed(q, r, run.Tenure):
				if !serves(t, run.Began, q.rules.Member) {
					d.add(run.Began, "request %s was handled on %s, in the network %s, which was no member then", asked(r), t.Node, q.borders.from(run.Tenure))
				}
			case t.Cluster != name:
				d.add(run.Began, "request %s was handled by a member of %s on %s", asked(r), t.Cluster, t.Node)
			case !serves(t, run.Began, q.rules.Member):
				d.add(run.Began, "request %s was handled on %s, which was no member then", asked(r), t.Node)
			case caller >= 0 && q.lives.at(t.Node, t.Asked) >= 0 && !q.borders.own(caller, r.Cluster, run.Tenure):
				d.add(run.Began, "request %s was handled on %s, which holds other keys, or is in another network that does not lend it", asked(r), t.Node)
			}
		}
	}
}

// serves says whether requests may reach the member at that time.
func serves(t *history.Tenure, at, tolerance time.Duration) bool {
	return plus(at, tolerance) >= t.Asked && (t.Until < 0 || minus(at, tolerance) <= t.Until)
}
