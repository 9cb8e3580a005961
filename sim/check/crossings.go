// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package check

import (
	"maps"
	"slices"
	"time"

	"github.com/arke-mesh/arke/sim/history"
)

// turnEvery is the length of the pieces of a run that are told apart when somebody asks
// whether requests stayed in their callers' network or went elsewhere, and turnLeast how
// many requests a piece must have.
const (
	turnEvery = 500 * time.Millisecond
	turnLeast = 4
)

// travels is where the requests of one work were served.
type travels struct {
	home, away int
	pieces     map[time.Duration]*piece
	spill      time.Duration // the longest
	back       time.Duration // likewise
	outages    int
}

// piece counts where requests were served that were sent in a part of the run.
type piece struct{ home, away int }

// measureCrossings measures where requests were served, and how soon that changed when
// the own members of a network went and came.
func measureCrossings(q *requests, s metrics) {
	if len(q.h.Crossings) == 0 {
		return
	}
	works := make(map[string]*travels)
	away := make(map[journey][]span) // from when to when what was served elsewhere was under way
	for i := range q.h.Requests {
		r := &q.h.Requests[i]
		if r.Many() || r.Lost || !answered(r) || r.Work == probe {
			continue
		}
		elsewhere := slices.ContainsFunc(q.runs[i], func(run int) bool { return crossed(q, r, q.h.Runs[run].Tenure) })
		for _, work := range labels(r.Work) {
			entry(works, work).add(r.Sent, elsewhere)
			if elsewhere {
				k := journey{work, place{q.borders.home(q.lives.at(r.Caller, r.Sent)), r.Cluster}}
				away[k] = append(away[k], span{r.Sent, r.Ended})
			}
		}
	}
	for k, list := range away {
		works[k.work].follow(q.borders.outages(k.place), list)
	}
	for work, t := range works {
		t.measure(s, work)
	}
}

// journey is a work and to where it goes.
type journey struct {
	work string
	place
}

func (t *travels) add(sent time.Duration, elsewhere bool) {
	if t.pieces == nil {
		t.pieces = make(map[time.Duration]*piece)
	}
	p := entry(t.pieces, sent.Truncate(turnEvery))
	if elsewhere {
		t.away, p.away = t.away+1, p.away+1
	} else {
		t.home, p.home = t.home+1, p.home+1
	}
}

// follow finds out how long after the beginning of each outage the first request was
// served elsewhere, and how long after its end the last one that was over before the next.
func (t *travels) follow(outages spans, away []span) {
	for i, o := range outages {
		next := forever
		if i+1 < len(outages) {
			next = outages[i+1].from
		}
		t.outages++
		first := forever
		for _, r := range away {
			if r.from >= o.from && r.from < o.until {
				first = min(first, r.from)
			}
			if r.from >= o.until && r.until < next {
				t.back = max(t.back, minus(r.from, o.until))
			}
		}
		if first < forever {
			t.spill = max(t.spill, minus(first, o.from))
		}
	}
}

// turns counts how often most requests began to be served elsewhere, or at home again.
func (t *travels) turns() int {
	n, elsewhere := 0, false
	for i, at := range slices.Sorted(maps.Keys(t.pieces)) {
		p := t.pieces[at]
		if p.home+p.away < turnLeast {
			continue
		}
		if now := p.away > p.home; now != elsewhere {
			if i > 0 {
				n++
			}
			elsewhere = now
		}
	}
	return n
}

func (t *travels) measure(s metrics, work string) {
	s.count(named("crossed", work), t.away)
	s.share(named("crossed_share", work), t.away, t.home+t.away)
	s.count(named("border_turns", work), t.turns())
	if t.outages > 0 {
		s.duration(named("spill_max", work), t.spill)
		s.duration(named("return_max", work), t.back)
	}
}

// outages are when a network had no live member of its own at an address, within the run.
func (b *borders) outages(at place) spans {
	name, network := split(at.address)
	if network != "" && network != at.network {
		return nil
	}
	var up []span
	for i := range b.h.Tenures {
		if t := &b.h.Tenures[i]; t.Cluster == name && b.from(i) == at.network {
			up = append(up, truth(t))
		}
	}
	if len(up) == 0 {
		return nil
	}
	return merged(merged(up).cut(span{b.h.Start, b.h.End}, nil))
}

func crossingMetrics() []MetricInfo {
	return perWork(slices.Concat([]MetricInfo{
		{Name: "crossed", Unit: Count, Meaning: "requests and pushes that ended well and were handled in another network than their callers'"},
		{Name: "crossed_share", Unit: Percent, Meaning: "the same, of all that ended well"},
		{Name: "border_turns", Unit: Count, Meaning: "how often most of the requests of half a second began to be handled in another network, or in their callers' own again: 2 is once there and back"},
		{Name: "spill_max", Unit: Millis, Meaning: "the longest time from when a network had no live member of its own until a request was sent that another network handled"},
		{Name: "return_max", Unit: Millis, Meaning: "the longest time from when a network had a live member of its own again until the last request was sent that another network handled and that was over before there was none once more"},
		{Name: "tunnels_severed", Unit: Count, Meaning: "tunnels that were open when a node or a gateway was crashed or silenced, and broke"},
	}, quantiles("severed", "time from a crash or silence until a tunnel ended that it broke, one sample for each of its sides that is left")), nil)
}

// measureSevered measures how long the sides of a tunnel wait that lost what was between
// them, or the other side.
func measureSevered(c *disturbance, s metrics) {
	works := make(map[string]*rupture)
	for i := range c.h.Tunnels {
		t := &c.h.Tunnels[i]
		for _, work := range labels(t.Work) {
			entry(works, work).add(c.h, t)
		}
	}
	for work, r := range works {
		s.count(named("tunnels_severed", work), r.tunnels)
		s.quantilesOf(work, "severed", r.waited)
	}
}

// rupture is what broke of the tunnels of one work, and how long their sides waited.
type rupture struct {
	tunnels int
	waited  []time.Duration
}

func (r *rupture) add(h *history.History, t *history.Tunnel) {
	at, broke := breakOf(h, t)
	if !broke {
		return
	}
	r.tunnels++
	if !t.Lost {
		r.waited = append(r.waited, minus(t.Ended, at))
	}
	for _, v := range t.Served {
		if v.Ended >= at && !v.Clean {
			r.waited = append(r.waited, minus(v.Ended, at))
		}
	}
}

// breakOf is the last loss of a node before a tunnel broke that was open then.
func breakOf(h *history.History, t *history.Tunnel) (at time.Duration, broke bool) {
	if t.Opened < 0 || t.Ended < 0 || t.Outcome == "done" {
		return 0, false
	}
	for _, f := range h.Faults {
		if dies(f.Do) && f.At > t.Opened && f.At <= t.Ended && (!broke || f.At > at) {
			at, broke = f.At, true
		}
	}
	return at, broke
}

// hostile says whether a node does harm at some time.
func (l *lives) hostile(node string) bool { return l.first(node).Adversary }

// adversary says whether a peer is one.
func (l *lives) adversary(peer string) bool {
	return slices.ContainsFunc(l.h.Nodes, func(n history.Node) bool { return n.Adversary && n.Peer == peer })
}
