// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package check

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/arke-mesh/arke/sim/history"
)

// None is how a request ended that never did.
const None = "none"

// Outcome is how a request ended.
func Outcome(r *history.Request) string {
	if r.Ended < 0 || r.Outcomes == 0 || r.Outcome == "" {
		return None
	}
	return r.Outcome
}

// Good says whether an outcome is what was wanted: a reply, a queue that has
// the message, or everybody.
func Good(outcome string) bool {
	return outcome == "reply" || outcome == "accepted" || outcome == "complete"
}

// answers says whether a request that ended so came to what it is for: an
// answer, a queue that has it, or somebody who was asked.
func answers(outcome string) bool {
	return Good(outcome) || outcome == "refused" || outcome == "partial"
}

// answered says whether a request came to what it is for.
func answered(r *history.Request) bool { return answers(Outcome(r)) }

// Tally is how requests came out: all of them, or those of one work.
type Tally struct {
	Requests     int             // without those that are excused
	Excused      int             // whose caller's own node was stopped, lost or paused meanwhile
	Outcomes     map[string]int  // how many requests ended so
	Retried      int             // requests that needed more than one attempt
	Attempts     int             // of the request that needed most
	Late         time.Duration   // how long after its deadline a request ended, at most
	Calm, Faulty []time.Duration // how long those took that ended well, in calm and in troubled times
}

// Add counts a request.
func (t *Tally) Add(r *history.Request, calmly Calm) {
	if t.Outcomes == nil {
		t.Outcomes = make(map[string]int)
	}
	if r.Lost {
		t.Excused++
		return
	}
	t.Requests++
	outcome := Outcome(r)
	t.Outcomes[outcome]++
	t.Attempts = max(t.Attempts, r.Attempts)
	if r.Attempts > 1 {
		t.Retried++
	}
	if r.Ended >= 0 {
		t.Late = max(t.Late, minus(r.Ended, r.Deadline))
	}
	switch took := minus(r.Ended, r.Sent); {
	case !Good(outcome):
	case calmly.Between(r.Sent, max(r.Sent, r.Ended)):
		t.Calm = append(t.Calm, took)
	default:
		t.Faulty = append(t.Faulty, took)
	}
}

// tally is what else is measured of requests.
type tally struct {
	Tally
	handled, duplicated int
	empty               int // that were falsely told that there is no member
	probes              Tally
}

func measureRequests(q *requests, s metrics) {
	all, calmly := map[string]*tally{"": {}}, NewCalm(q.h, *q.rules)
	for i := range q.h.Requests {
		r := &q.h.Requests[i]
		switch {
		case q.pending(r):
		case r.Work == probe:
			all[""].probes.Add(r, calmly)
		default:
			for _, work := range labels(r.Work) {
				t := entry(all, work)
				t.Add(r, calmly)
				t.handled += len(q.runs[i])
				if tooOften(q, i) != "" {
					t.duplicated++
				}
			}
		}
	}
	for _, i := range falselyEmpty(q) {
		work := q.h.Requests[i].Work
		if work == probe {
			work = ""
		}
		for _, name := range labels(work) {
			entry(all, name).empty++
		}
	}
	for work, t := range all {
		t.measure(s, work)
	}
}

// metricOf is the count in which requests are that ended so.
func metricOf(outcome string) string {
	switch outcome {
	case "reply":
		return "replies"
	case None:
		return "unanswered"
	case "refused", "accepted", "complete", "partial", "no_members", "overloaded", "unreachable", "interrupted",
		"deadline", "cancelled", "unauthorized", "too_large", "closed", "wrong_reply":
		return outcome
	default:
		return "other"
	}
}

// lost counts the requests that did not come to what they are for.
func (t *Tally) lost() int {
	n := 0
	for outcome, requests := range t.Outcomes {
		if !answers(outcome) {
			n += requests
		}
	}
	return n
}

func (t *tally) measure(s metrics, work string) {
	counts := map[string]int{
		"requests": t.Requests + t.Excused, "excused": t.Excused, "lost": t.lost(), "retried": t.Retried, "handled": t.handled,
		"duplicated": t.duplicated, "false_empty": t.empty, "probes": t.probes.Requests, "probes_lost": t.probes.lost(),
	}
	for outcome, n := range t.Outcomes {
		counts[metricOf(outcome)] += n
	}
	for _, m := range requestMetrics() {
		if m.Unit == Count && (work == "" || m.PerWork) {
			s.count(named(m.Name, work), counts[m.Name])
		}
	}
	s.count(named("attempts_max", work), t.Attempts)
	s.duration(named("late_max", work), t.Late)
	s.share(named("success", work), counts["replies"]+counts["refused"]+counts["accepted"]+counts["complete"], t.Requests)
	s.quantilesOf(work, "latency", slices.Concat(t.Calm, t.Faulty))
	s.quantilesOf(work, "latency_calm", t.Calm)
	s.quantilesOf(work, "latency_fault", t.Faulty)
}

// evenness is by how much the busiest of a group is busier than the mean, of the
// worst group.
type evenness struct {
	worst   float64
	samples int
}

// add takes what each of a group got. One alone, and nothing, say nothing.
func (e *evenness) add(got []int) {
	sum := 0
	for _, n := range got {
		sum += n
	}
	if len(got) > 1 && sum > 0 {
		e.worst = max(e.worst, float64(slices.Max(got))*float64(len(got))/float64(sum))
		e.samples += len(got)
	}
}

func (e *evenness) measure(s metrics, name string) { s.sampled(name, e.worst, Ratio, e.samples) }

// measureShares finds out how evenly the requests of a cluster were spread.
func measureShares(q *requests, s metrics) {
	began := begun(q)
	slow := make(map[string]bool)
	best, members := -1.0, 0
	for _, fault := range q.h.Faults {
		if fault.Do != "slow" || Undoes(fault) {
			continue
		}
		for _, node := range fault.Nodes {
			slow[node] = true
			for _, t := range q.members.byNode[node] {
				part, whole := handled(q.members, began, t, span{fault.At, Over(q.h, fault)})
				if whole > 0 {
					best = max(best, 100*float64(part)/float64(whole))
					members++
				}
			}
		}
	}
	s.sampled("slow_share", best, Percent, members)
	measureBalance(q.members, s, began, slow)
}

// begun is when handlers began, by tenure, in order.
func begun(q *requests) [][]time.Duration {
	out := make([][]time.Duration, len(q.h.Tenures))
	for i, runs := range q.runs {
		if q.h.Requests[i].Work == probe {
			continue
		}
		for _, n := range runs {
			run := &q.h.Runs[n]
			out[run.Tenure] = append(out[run.Tenure], run.Began)
		}
	}
	for _, list := range out {
		slices.Sort(list)
	}
	return out
}

func within(sorted []time.Duration, s span) int {
	from, _ := slices.BinarySearch(sorted, s.from)
	until, _ := slices.BinarySearch(sorted, s.until)
	return max(0, until-from)
}

// handled counts what one member and what its whole cluster handled in s.
func handled(m *registrations, began [][]time.Duration, tenure int, s span) (part, whole int) {
	part = within(began[tenure], s.meet(truth(&m.h.Tenures[tenure])))
	for _, t := range m.of[m.h.Tenures[tenure].Cluster] {
		whole += within(began[t], s)
	}
	return part, whole
}

func measureBalance(m *registrations, s metrics, began [][]time.Duration, slow map[string]bool) {
	var e evenness
	for _, cluster := range slices.Sorted(maps.Keys(m.of)) {
		var handled []int
		for _, t := range m.of[cluster] {
			if live := truth(&m.h.Tenures[t]); live.from > m.h.Start || live.until < m.h.Safety || slow[m.h.Tenures[t].Node] {
				continue
			}
			handled = append(handled, within(began[t], span{m.h.Start, m.h.Safety}))
		}
		e.add(handled)
	}
	e.measure(s, "balance")
}

// caller of a cluster.
type caller struct{ node, cluster string }

// trouble is the requests of one caller that needed more than one attempt or
// were lost, by the time they were sent.
type trouble struct {
	requests []int
	longest  time.Duration // that one of them took
}

// measureReroute finds out how long a removed member cost its callers
// something: of the requests that were under way when it was lost, or sent
// before the caller noticed, the last one in trouble.
func measureReroute(q *requests, detected func(fault int, observer string) (time.Duration, bool), s metrics) {
	m := &reroute{requests: q, detected: detected, bereaved: bereaved(q)}
	m.measure(s, "")
	for _, work := range m.works() {
		m.measure(s, work)
	}
}

// reroute measures the requests of one work after another.
type reroute struct {
	*requests
	detected func(fault int, observer string) (time.Duration, bool)
	bereaved []map[string]bool // fault → the clusters that lost a member by it
}

func (m *reroute) measure(s metrics, work string) {
	troubles := m.troubles(work)
	affected := make(map[int]bool)
	var ended, sent []time.Duration
	for fault, clusters := range m.bereaved {
		if len(clusters) == 0 {
			continue
		}
		at := m.h.Faults[fault].At
		last := make(map[string]span) // caller's node → its last request that was sent, its last one that ended
		for c, t := range troubles {
			if !clusters[c.cluster] {
				continue
			}
			noticed, ok := m.detected(fault, c.node)
			if !ok {
				noticed = plus(at, m.rules.Zombie)
			}
			m.follow(t, at, noticed, func(request int) {
				affected[request] = true
				l := last[c.node]
				last[c.node] = span{max(l.from, minus(m.h.Requests[request].Sent, at)), max(l.until, minus(m.ended(request), at))}
			})
		}
		for _, l := range last {
			sent, ended = append(sent, l.from), append(ended, l.until)
		}
	}
	s.count(named("affected", work), len(affected))
	s.quantilesOf(work, "reroute", ended)
	s.quantilesOf(work, "misrouted", sent)
}

// follow calls hit for the requests in trouble that had not ended at one time
// and were sent before another.
func (m *reroute) follow(t *trouble, at, noticed time.Duration, hit func(request int)) {
	i, _ := slices.BinarySearchFunc(t.requests, minus(at, t.longest), func(request int, when time.Duration) int {
		return cmp.Compare(m.h.Requests[request].Sent, when)
	})
	for _, request := range t.requests[i:] {
		r := &m.h.Requests[request]
		if r.Sent > noticed {
			return
		}
		if m.ended(request) > at {
			hit(request)
		}
	}
}

// ended is when a request ended; the run's end if it never did.
func (m *reroute) ended(request int) time.Duration {
	r := &m.h.Requests[request]
	if r.Ended < 0 {
		return max(r.Sent, m.h.End)
	}
	return max(r.Sent, r.Ended)
}

// works lists the names of the works, in order.
func (m *reroute) works() []string {
	names := make(map[string]bool)
	for i := range m.h.Requests {
		if name := m.h.Requests[i].Work; name != probe && name != "" {
			names[name] = true
		}
	}
	return slices.Sorted(maps.Keys(names))
}

// troubles finds those of one work, or of all.
func (m *reroute) troubles(work string) map[caller]*trouble {
	out := make(map[caller]*trouble)
	for i := range m.h.Requests {
		r := &m.h.Requests[i]
		if r.Lost || r.Work == probe || m.pending(r) || (r.Attempts <= 1 && answered(r)) {
			continue
		}
		if work != "" && r.Work != work {
			continue
		}
		k := caller{r.Caller, r.Cluster}
		t := entry(out, k)
		t.requests = append(t.requests, i)
		t.longest = max(t.longest, minus(m.ended(i), r.Sent))
	}
	for _, t := range out {
		slices.SortStableFunc(t.requests, func(a, b int) int {
			return cmp.Compare(m.h.Requests[a].Sent, m.h.Requests[b].Sent)
		})
	}
	return out
}

// bereaved is, by fault, the clusters that lost a member by it.
func bereaved(q *requests) []map[string]bool {
	out := make([]map[string]bool, len(q.h.Faults))
	for i, fault := range q.calm.endedBy {
		if fault < 0 {
			continue
		}
		if out[fault] == nil {
			out[fault] = make(map[string]bool)
		}
		out[fault][q.h.Tenures[i].Cluster] = true
	}
	return out
}

// goodputWindow is the least length of a window in which goodput is measured, and
// goodputRuns how many times as long as a handler takes it is at least.
const (
	goodputWindow = time.Second
	goodputRuns   = 10
)

func goodputMetrics() []MetricInfo {
	return perWork([]MetricInfo{{
		Name: "goodput_min", Unit: Percent,
		Meaning: "of what the members of the cluster can do, or of what was asked of them if that is less, what came of it in time: replies, answers to surveys, and handled pushes and broadcasts whose handler began before the deadline, of all works on this cluster; in the worst window while the work lasted. A window is a second, or ten times what a handler takes; the first one does not count. Only for handlers of kind slow",
	}}, nil)
}

// goodput is what was asked of one cluster, and what came of it in time.
type goodput struct {
	asked []asking
	good  []time.Duration
}

// asking is a message of a work.
type asking struct {
	at      time.Duration
	members bool // it goes to each of them
	work    string
}

// measureGoodput finds out how much of what members can do was of use.
func measureGoodput(q *requests, s metrics) {
	of := make(map[string]*goodput)
	for i := range q.h.Requests {
		r := &q.h.Requests[i]
		if r.Work == probe {
			continue
		}
		g := entry(of, r.Cluster)
		g.asked = append(g.asked, asking{r.Sent, r.Many(), r.Work})
		switch {
		case r.Kind == "survey":
			for _, a := range r.Answers {
				g.add(a.At)
			}
		case r.Kind == "push" || r.Kind == "broadcast":
			for _, n := range q.runs[i] {
				if run := &q.h.Runs[n]; run.Began <= r.Deadline {
					g.add(run.Ended)
				}
			}
		case Outcome(r) == "reply":
			g.add(r.Ended)
		}
	}
	worst, windows := make(map[string]float64), make(map[string]int)
	for cluster, g := range of {
		g.measure(q.members, cluster, func(work string, share float64) {
			for _, name := range labels(work) {
				if n := windows[name]; n == 0 || share < worst[name] {
					worst[name] = share
				}
				windows[name]++
			}
		})
	}
	for name, share := range worst {
		s.sampled(named("goodput_min", name), share, Percent, windows[name])
	}
}

// add counts what came of a message, if it did.
func (g *goodput) add(at time.Duration) {
	if at >= 0 {
		g.good = append(g.good, at)
	}
}

// measure calls found for each window of each work on a cluster.
func (g *goodput) measure(m *registrations, cluster string, found func(work string, share float64)) {
	slices.Sort(g.good)
	slices.SortStableFunc(g.asked, func(a, b asking) int { return cmp.Compare(a.at, b.at) })
	length := goodputWindow
	for _, t := range m.of[cluster] {
		length = max(length, goodputRuns*min(m.h.Tenures[t].Work, time.Hour))
	}
	lasts := make(map[string]span)
	for _, a := range g.asked {
		l, ok := lasts[a.work]
		if !ok {
			l.from = a.at
		}
		lasts[a.work] = span{l.from, a.at}
	}
	for work, l := range lasts {
		for from := plus(l.from, length); minus(l.until, from) >= length*9/10; from = plus(from, length) {
			w := span{from, plus(from, length)}
			if next := g.asked[g.first(from)].at; minus(next, from) >= length {
				from = plus(from, minus(next, from)/length*length-length)
				continue
			}
			if can := min(g.demand(m, cluster, w), able(m, cluster, w)); can > 0 {
				found(work, min(100, 100*float64(within(g.good, w))/can))
			}
		}
	}
}

// demand is what was asked within a window, of all members together.
func (g *goodput) demand(m *registrations, cluster string, w span) (sum float64) {
	for _, a := range g.asked[g.first(w.from):] {
		switch {
		case a.at >= w.until:
			return sum
		case a.members:
			for _, t := range m.of[cluster] {
				if live := truth(&m.h.Tenures[t]); live.from <= a.at && a.at < live.until {
					sum++
				}
			}
		default:
			sum++
		}
	}
	return sum
}

// first finds the first message from a time on.
func (g *goodput) first(from time.Duration) int {
	i, _ := slices.BinarySearchFunc(g.asked, from, func(a asking, at time.Duration) int { return cmp.Compare(a.at, at) })
	return i
}

// able is what the members of a cluster can do within a window.
func able(m *registrations, cluster string, w span) (sum float64) {
	for _, t := range m.of[cluster] {
		if v := &m.h.Tenures[t]; v.Work > 0 {
			live := w.meet(truth(v))
			sum += float64(v.Places) * float64(max(0, live.until-live.from)) / float64(v.Work)
		}
	}
	return sum
}
