// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package request

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/arke-mesh/arke/cluster"
	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/patterns"
)

// standsForMany says that the one member that is asked is lent by a gateway, and the
// message is for everybody: then the gateway asks all of its network, passes their
// replies on as they come, and ends with a summary, as a relay does for a leaf.
func (q *question) standsForMany() bool {
	return q.to != nil && q.to.Imported && q.to.Via == nil && q.origin == nil && (q.pattern == patterns.PatternSurvey || q.pattern == patterns.PatternBroadcast)
}

// hasParts says whether there are many replies: standsForMany, or a leaf's survey.
func hasParts(c *call) bool {
	_, everybody := c.sink.(*inquiry)
	return c.standsForMany() || everybody && c.pattern == patterns.PatternSurvey
}

// parts is what has come of many replies.
type parts struct {
	count int
	last  *wire.Reply // the one that says who is missing; nil = it has not come
}

// maxParts is how many replies of one network are taken: as many as its gateway asks for.
// One that lies could send any number, each of which is remembered.
const maxParts = 4096

// heard takes in one of many replies. Large ones travel on another lane, so that the last
// one may overtake them.
func (p *parts) heard(a *attempt, r *wire.Reply) decision {
	c := a.call
	switch {
	case r.Flags&wire.FlagMoreReplies == 0 && p.last == nil:
		p.last = r
	case r.Flags&wire.FlagMoreReplies != 0 && c.cfg.Leaf != nil: // opened and counted by the relay
		p.count++
		c.sink.(partial).replied(c, r)
	case r.Flags&wire.FlagMoreReplies != 0:
		if p.count++; p.count > maxParts {
			c.drops.Inc(dropReplyLarge)
			break
		}
		c.sink.(partial).replied(c, p.open(a, r))
	}
	if p.last == nil || p.last.Outcome == wire.OutcomeReply && p.due(a) > p.count {
		return waiting()
	}
	a.reply, a.arrived, a.replied = *p.last, c.now(), true
	return a.answered()
}

// open unseals a reply, and counts it.
func (p *parts) open(a *attempt, r *wire.Reply) *wire.Reply {
	c, size := a.call, replySize(r)
	tail, ok := a.open(r)
	r.Tail = tail
	switch {
	case !ok:
		c.drops.Inc(dropReplyBad)
		r.Outcome, r.Tail = wire.OutcomeCancelled, nil
	case c.bytes != nil && !c.bytes.take(size):
		c.drops.Inc(dropReplyLarge)
		r.Outcome, r.Tail = wire.OutcomeTooLarge, nil
	}
	return r
}

// due is how many replies the last one says were sent.
func (p *parts) due(a *attempt) int {
	if a.call.pattern != patterns.PatternSurvey {
		return 0
	}
	tail, ok := a.open(p.last)
	if !ok {
		return 0
	}
	sum, err := summaryOf(tail)
	if err != nil {
		return 0
	}
	return int(sum.Members)
}

// summaryOf reads the tail of the last of many replies.
func summaryOf(tail []byte) (wire.Summary, error) {
	_, body, err := wire.SplitTail(tail)
	if err != nil {
		return wire.Summary{}, err
	}
	return wire.DecodeSummary(body)
}

// lastOf reads the last of many replies to a call.
func lastOf(c *call) (wire.Summary, error) {
	if c.raw {
		return summaryOf(c.answer.Tail)
	}
	return wire.DecodeSummary(c.answer.Message.Body)
}

// failureOf is how something ended as a reply says it, which has that message.
func failureOf(r *wire.Reply, m patterns.Message) patterns.Failure {
	return patterns.Failure{Outcome: r.Outcome, MaybeRan: r.Flags&wire.FlagMaybeRan != 0, Code: r.Code, Text: string(m.Body)}
}

// part is one of many replies to a message for everybody.
type part struct {
	of    *call
	reply *wire.Reply
}

// replied implements partial.
func (f *fan) replied(c *call, r *wire.Reply) { f.tell(c, func() { f.parts.Push(part{c, r}) }) }

// reportPart has each see what a member behind a gateway has replied.
func (f *fan) reportPart(p part) error {
	m := memberOf(p.reply.From)
	m.Peer, m.Network, m.Imported = p.of.to.Peer, p.of.to.Network, true // of its node nothing is told
	answer := Answer{Member: m, Attempts: 1}
	message, err := messageOf(p.reply.Tail)
	if p.of.raw {
		answer.Tail, err = p.reply.Tail, nil
	}
	switch {
	case p.reply.Outcome != wire.OutcomeReply:
		answer.Tail = nil
		err = failureOf(p.reply, message).Err(p.of.route.name)
	case err == nil:
		answer.Message = message
	}
	if f.lent++; f.limit > 0 && f.lent > f.limit {
		f.drops.Inc(dropReplyLarge)
		f.miss(m, patterns.ErrTooLarge)
		return nil
	}
	took, stop := f.each(m, answer, err)
	if took {
		f.tally.Members++
	} else {
		f.miss(m, err)
	}
	return stop
}

// tallyMany takes in the end of a member that stands for many.
func (f *fan) tallyMany(c *call) {
	sum, err := lastOf(c)
	if c.err != nil {
		err = c.err
	}
	if err != nil { // nobody knows who is missing there
		f.miss(c.to, fmt.Errorf("all members in the network %s: %w", c.to.Network, err))
		return
	}
	f.partial = f.partial || !sum.Complete
	if c.pattern == patterns.PatternBroadcast {
		f.tally.Members += int(sum.Members)
		f.tally.Nodes += int(sum.Nodes)
	}
	missing := missingOf(c.route.name, &sum)
	for i := range missing {
		missing[i].Peer = c.to.Peer.String()
	}
	f.tally.Missing = append(f.tally.Missing, missing...)
}

// Tail is the end of the last of many replies, which says who is missing: as far as is
// known here, and those who have answered but whose replies were lost on their way.
func (t *Tally) Tail(lost []patterns.Missing) []byte {
	sum := wire.Summary{Members: uint32(t.Members - len(lost)), Nodes: uint32(t.Nodes), Complete: t.Complete && len(lost) == 0}
	missing := slices.Concat(t.Missing, lost)
	slices.SortStableFunc(missing, func(a, b patterns.Missing) int { return strings.Compare(a.Member, b.Member) })
	for _, m := range missing {
		id, _ := strconv.ParseUint(m.Member, 16, 64) // it is one
		f := patterns.FailureOf(m.Err)
		x := wire.Missing{Member: id, Peer: m.Peer, Outcome: f.Outcome, Code: f.Code, Text: f.Text}
		if f.MaybeRan {
			x.Flags = wire.FlagMaybeRan
		}
		sum.Missing = append(sum.Missing, x)
	}
	return wire.AppendTail(nil, nil, sum.AppendTo(nil))
}

// missingOf lists who is missing by a summary.
func missingOf(name string, sum *wire.Summary) (out []patterns.Missing) {
	for i := range sum.Missing {
		x := &sum.Missing[i]
		id := cluster.MemberID(x.Member).String()
		why := patterns.Failure{Outcome: x.Outcome, MaybeRan: x.Flags&wire.FlagMaybeRan != 0, Code: x.Code, Text: x.Text}
		out = append(out, patterns.Missing{Member: id, Peer: x.Peer, Err: why.Err(name)})
	}
	return out
}
