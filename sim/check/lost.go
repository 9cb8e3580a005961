// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package check

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/arke-mesh/arke/sim/history"
)

// Lost is one message that did not come to what it is for, or a tunnel that did not end
// well, and that nobody is excused for.
type Lost struct {
	At      time.Duration `json:"at"`   // when it was sent, nanoseconds since the run began
	Kind    string        `json:"kind"` // request, push, survey, broadcast, tunnel, publication
	ID      uint64        `json:"id"`   // as a trace and the handlers' bodies have it
	Work    string        `json:"work"`
	From    string        `json:"from"` // node
	To      string        `json:"to"`   // cluster, or topic and subscriber
	Outcome string        `json:"outcome"`
	Path    string        `json:"path"` // what is known of its way, for people
}

// keptLost is how many of them a verdict names.
const keptLost = 100

// String names it for people, without its time.
func (l Lost) String() string {
	return fmt.Sprintf("%s %d of %s to %s (%s): %s; %s", l.Kind, l.ID, l.From, l.To, l.Work, l.Outcome, l.Path)
}

// lostOf lists what was lost, the earliest first, at most so many; all is how many there
// are.
func lostOf(f *facts) (list []Lost, all int) {
	found := slices.Concat(lostRequests(f.requests), lostTunnels(f.members), lostPublications(f.topics))
	slices.SortStableFunc(found, func(a, b trail) int {
		return cmp.Or(cmp.Compare(a.At, b.At), cmp.Compare(a.ID, b.ID), cmp.Compare(a.To, b.To))
	})
	for _, t := range found[:min(len(found), keptLost)] {
		t.Path = t.path()
		list = append(list, t.Lost)
	}
	return list, len(found)
}

// trail is something lost, whose path takes time to find out.
type trail struct {
	Lost
	path func() string
}

func lostRequests(q *requests) (all []trail) {
	for i := range q.h.Requests {
		r := &q.h.Requests[i]
		if r.Lost || answered(r) || q.pending(r) {
			continue
		}
		l := Lost{At: r.Sent, Kind: cmp.Or(r.Kind, "request"), ID: r.ID, Work: r.Work, From: r.Caller, To: r.Cluster, Outcome: Outcome(r)}
		all = append(all, trail{l, func() string { return pathOf(q, i) }})
	}
	return all
}

// pathOf says what is known of a request's way.
func pathOf(q *requests, request int) string {
	r := &q.h.Requests[request]
	parts := []string{fmt.Sprintf("%d attempts", r.Attempts)}
	if r.Attempts == 1 {
		parts[0] = "1 attempt"
	}
	if r.Ended >= 0 {
		parts = append(parts, fmt.Sprintf("ended after %v", minus(r.Ended, r.Sent)))
	}
	if r.Detail != "" {
		parts = append(parts, r.Detail)
	}
	if r.Member != "" {
		parts = append(parts, "told by "+q.members.seat(r.Member))
	}
	for i := range q.h.Hops {
		if h := &q.h.Hops[i]; h.Request == r.ID {
			parts = append(parts, fmt.Sprintf("%s → %s at %v", h.From, h.To, h.At))
		}
	}
	for _, n := range q.runs[request] {
		run := &q.h.Runs[n]
		text := fmt.Sprintf("a handler began on %s at %v", q.h.Tenures[run.Tenure].Node, run.Began)
		if run.Ended < 0 {
			text += " and did not return"
		}
		parts = append(parts, text)
	}
	if len(q.runs[request]) == 0 {
		parts = append(parts, "no handler began")
	}
	return shortened(parts)
}

// shownParts is how many parts of a way are told.
const shownParts = 8

func shortened(parts []string) string {
	if n := len(parts) - shownParts; n > 0 {
		parts = append(parts[:shownParts:shownParts], fmt.Sprintf("and %d more", n))
	}
	return strings.Join(parts, ", ")
}

func lostTunnels(m *registrations) (all []trail) {
	for i := range m.h.Tunnels {
		t := &m.h.Tunnels[i]
		if t.Lost || t.Outcome == "done" || t.Ended < 0 && t.Deadline >= m.h.End {
			continue
		}
		l := Lost{At: t.Sent, Kind: "tunnel", ID: t.ID, Work: t.Work, From: t.Caller, To: t.Cluster, Outcome: cmp.Or(t.Outcome, None)}
		all = append(all, trail{l, func() string { return passed(m, t) }})
	}
	return all
}

// passed says what is known of a tunnel.
func passed(m *registrations, t *history.Tunnel) string {
	parts := []string{"never opened"}
	if t.Opened >= 0 {
		parts[0] = fmt.Sprintf("opened at %v to %s", t.Opened, m.seat(t.Member))
	}
	if t.Ended >= 0 {
		parts = append(parts, fmt.Sprintf("ended at %v", t.Ended))
	}
	if t.Detail != "" {
		parts = append(parts, t.Detail)
	}
	for _, flow := range []struct {
		name string
		*history.Flow
	}{{"to the member", &t.Forth}, {"back", &t.Back}} {
		if flow.Tried > 0 {
			parts = append(parts, fmt.Sprintf("%d of %d messages came %s", flow.Received, flow.Tried, flow.name))
		}
	}
	return shortened(parts)
}

// lostPublications are those that were not published, and those that did not come to a
// subscription, or to a queue of them, to which they were due.
func lostPublications(x *topics) (all []trail) {
	for i := range x.h.Publications {
		p := &x.h.Publications[i]
		if !p.Lost && p.Outcome != "published" && (p.Ended >= 0 || p.Deadline < x.h.End) {
			all = append(all, publicationLost(p, p.Topic, cmp.Or(p.Outcome, None), func() string { return cmp.Or(p.Detail, "it did not leave") }))
		}
	}
	for i := range x.h.Subscriptions {
		if s := &x.h.Subscriptions[i]; s.Queue == "" && s.From >= 0 {
			all = append(all, missing(x, []int{i}, s.Name+" on "+s.Node)...)
		}
	}
	for _, q := range x.queueList() {
		all = append(all, missing(x, x.queues[q], "queue "+q.name)...)
	}
	return all
}

func publicationLost(p *history.Publication, to, outcome string, path func() string) trail {
	return trail{Lost{At: p.Sent, Kind: "publication", ID: p.ID, Work: p.Work, From: p.Publisher, To: to, Outcome: outcome}, path}
}

// missing lists what was due to a subscription, or to a queue, and did not come.
func missing(x *topics, subscriptions []int, who string) (all []trail) {
	for i := range x.h.Publications {
		if owed, came := x.owed(subscriptions, i); owed != must || came {
			continue
		}
		p := &x.h.Publications[i]
		all = append(all, publicationLost(p, p.Topic+", "+who, "missing", func() string { return wayOf(x, p, x.h.Subscriptions[subscriptions[0]].Node) }))
	}
	return all
}

// wayOf says how many copies of a publication were sent, and which of them to a node.
func wayOf(x *topics, p *history.Publication, node string) string {
	n, last := 0, ""
	for i := range x.h.Copies {
		c := &x.h.Copies[i]
		if c.Publication != p.ID {
			continue
		}
		if n++; c.To == x.lives.carrier(node) {
			last = fmt.Sprintf(", one from %s to %s at %v", c.From, c.To, c.At)
		}
	}
	if n == 0 {
		return "no copy of it was heard"
	}
	return fmt.Sprintf("%d copies were sent%s", n, cmp.Or(last, ", none to "+x.lives.carrier(node)))
}
