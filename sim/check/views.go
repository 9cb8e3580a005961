// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package check

import (
	"cmp"
	"slices"
	"time"

	"github.com/arke-mesh/arke/sim/history"
)

// viewMeasures is everything that is found out from what observers saw. It
// sees each view once, because there are as many as observers times members.
type viewMeasures struct {
	calm      *disturbance
	current   *observation
	observers int
	correct   int // of them, those on nodes that are correct

	arrival   arrival
	detection detection
	agreement agreement
	zombies   zombies
	doubt     doubt
	forgotten forgotten
}

func newViewMeasures(c *disturbance) *viewMeasures {
	return &viewMeasures{
		calm:      c,
		detection: detection{seen: make(map[witness]time.Duration)},
		agreement: newAgreement(c),
		forgotten: forgotten{members: make(map[int]bool)},
	}
}

func (m *viewMeasures) see(s *memberView) {
	if s.observation != m.current {
		m.current = s.observation
		m.observers++
		if s.node.Correct {
			m.correct++
		}
	}
	m.arrival.see(m.calm, s)
	m.detection.see(m.calm, s)
	m.agreement.see(m.calm, s)
	m.zombies.see(m.calm, s)
	m.doubt.see(m.calm, s)
	m.forgotten.see(m.calm, s)
}

// detected is when an observer knew of the removal of a node, if it ever had
// seen its member.
func (m *viewMeasures) detected(fault int, observer string) (time.Duration, bool) {
	t, ok := m.detection.seen[witness{fault, observer}]
	return t, ok
}

func (m *viewMeasures) measure(s metrics) {
	s.count("observers", m.observers)
	s.quantiles("seen", m.arrival.samples)
	s.count("detections", len(m.detection.samples))
	s.quantiles("detection", m.detection.samples)
	s.quantiles("convergence", m.agreement.samples())
	if m.observers > 0 {
		s.duration("zombie_max", m.zombies.longest)
		s.count("false_suspicions", m.doubt.suspicions)
		s.count("false_evictions", m.doubt.evictions)
	}
	if m.correct > 0 {
		s.duration("convergence_last", m.agreement.last)
		s.count("members_lost_for_good", len(m.forgotten.members))
	}
}

// finding is a view that a checker objects to.
type finding struct {
	observer string
	cluster  string
	member   string
	node     string // the member's, "" if unknown
	when     span
}

func (s *memberView) finding(when span) finding {
	out := finding{observer: s.node.Name, cluster: s.cluster, member: s.member, when: when}
	if s.of != nil {
		out.node = s.of.Node
	}
	return out
}

// where is the member's node, or the observer's own if it is not known.
func (s *memberView) where() string {
	if s.of != nil {
		return s.of.Node
	}
	return s.node.Name
}

// maxFindings bounds what one checker keeps; more are only counted.
const maxFindings = 10_000

// whom names the member for people.
func (f finding) whom() string {
	if f.node == "" {
		return "member " + f.member + ", which nobody registered with these keys"
	}
	return "member " + f.member + " on " + f.node
}

// ViewHistory is how right the views of one cluster were over time.
type ViewHistory struct {
	Cluster   string
	Observers int        // lives of nodes that watched it
	Members   int        // registrations that were acknowledged
	Steps     []ViewStep // one for each time at which something changes, in order
}

// ViewStep holds from its time until the next step's. A view is right if it
// takes every live member to be alive, and no dead one.
type ViewStep struct {
	At          time.Duration
	Watching    int // observers that watch the cluster
	Right       int // of them, those whose view is right
	Missing     int // live members that a view does not take to be alive, summed over all views
	Dead        int // dead members that a view takes to be alive, summed over all views
	Suspect     int // entries in this state, summed over all views
	Ejected     int // as above
	Unreachable int // as above
}

// ViewHistories follows the views of every cluster that somebody watched, by
// the same rules by which Judge finds wrong ones. Clusters are sorted by name.
func ViewHistories(h *history.History) []ViewHistory {
	l := newLives(h)
	m := newRegistrations(l)
	var sweeps []*viewSweep
	of := make(map[string]*viewSweep)
	(&observers{h, l, m}).each(func(s *memberView) {
		w := of[s.cluster]
		if w == nil {
			w = &viewSweep{cluster: s.cluster, end: h.End}
			of[s.cluster], sweeps = w, append(sweeps, w)
		}
		w.see(s, l.during(s.life).until)
	})
	slices.SortFunc(sweeps, func(a, b *viewSweep) int { return cmp.Compare(a.cluster, b.cluster) })
	out := make([]ViewHistory, 0, len(sweeps))
	for _, w := range sweeps {
		w.finish()
		out = append(out, ViewHistory{w.cluster, w.observers, len(m.of[w.cluster]), w.steps()})
	}
	return out
}

// viewSweep collects what changes in the views of one cluster, and when.
type viewSweep struct {
	cluster   string
	end       time.Duration // of the run: what lasts until then has no end
	observers int
	current   *observation
	wrong     []span // while the current observer's view was wrong
	changes   []ViewStep
}

func (w *viewSweep) see(s *memberView, until time.Duration) {
	if s.observation != w.current {
		w.finish()
		w.current = s.observation
		w.observers++
	}
	for _, m := range s.missing {
		w.add(m, ViewStep{Missing: 1})
	}
	for _, z := range s.zombie {
		w.add(z, ViewStep{Dead: 1})
	}
	w.wrong = append(append(w.wrong, s.missing...), s.zombie...)
	for i, v := range s.changes {
		if i+1 < len(s.changes) {
			w.state(v.State, span{v.At, s.changes[i+1].At})
		} else {
			w.state(v.State, span{v.At, until})
		}
	}
}

func (w *viewSweep) state(state string, when span) {
	switch state {
	case "suspect":
		w.add(when, ViewStep{Suspect: 1})
	case "ejected":
		w.add(when, ViewStep{Ejected: 1})
	case "unreachable":
		w.add(when, ViewStep{Unreachable: 1})
	}
}

// finish counts the current observer: right while it watches, but for when it
// is wrong.
func (w *viewSweep) finish() {
	if w.current == nil {
		return
	}
	for _, s := range w.current.when {
		w.add(s, ViewStep{Watching: 1, Right: 1})
	}
	for _, s := range merged(w.wrong) {
		w.add(s, ViewStep{Right: -1})
	}
	w.current, w.wrong = nil, w.wrong[:0]
}

// add counts d during when.
func (w *viewSweep) add(when span, d ViewStep) {
	if when.empty() {
		return
	}
	d.At = when.from
	w.changes = append(w.changes, d)
	if when.until < w.end {
		w.changes = append(w.changes, ViewStep{
			At: when.until, Watching: -d.Watching, Right: -d.Right, Missing: -d.Missing, Dead: -d.Dead,
			Suspect: -d.Suspect, Ejected: -d.Ejected, Unreachable: -d.Unreachable,
		})
	}
}

// steps sums the changes up.
func (w *viewSweep) steps() []ViewStep {
	slices.SortStableFunc(w.changes, func(a, b ViewStep) int { return cmp.Compare(a.At, b.At) })
	var out []ViewStep
	var now ViewStep
	for i, c := range w.changes {
		now = ViewStep{
			c.At, now.Watching + c.Watching, now.Right + c.Right, now.Missing + c.Missing, now.Dead + c.Dead,
			now.Suspect + c.Suspect, now.Ejected + c.Ejected, now.Unreachable + c.Unreachable,
		}
		if i+1 == len(w.changes) || w.changes[i+1].At > c.At {
			out = append(out, now)
		}
	}
	return out
}

// checkConverge: after the last fault every correct observer takes
// exactly the live members to be alive within the bound, and at the
// end.
func checkConverge(m *viewMeasures, d *violations) {
	for _, w := range m.agreement.wrongs {
		truth := "live"
		if w.zombie {
			truth = "dead"
		}
		d.add(w.when.from, "%s, observing %s, was wrong about the %s %s, until %v, %v after the last fault",
			w.observer, w.cluster, truth, w.whom(), w.when.until, minus(w.when.until, m.calm.last))
	}
	d.total += m.agreement.total - len(m.agreement.wrongs)
}

// witness is an observer of a fault.
type witness struct {
	fault    int
	observer string
}

// detection measures how long the dead are taken for live.
type detection struct {
	samples []time.Duration
	seen    map[witness]time.Duration // when the observer knew, for every fault that removed a member
}

func (d *detection) see(c *disturbance, s *memberView) {
	if s.tenure < 0 || c.endedBy[s.tenure] < 0 {
		return
	}
	fault := c.endedBy[s.tenure]
	w := witness{fault, s.node.Name}
	at := c.h.Faults[fault].At
	d.seen[w] = max(d.seen[w], at)
	for _, z := range s.zombie {
		if z.from != s.truth.until {
			continue
		}
		d.seen[w] = max(d.seen[w], z.until)
		if !dies(c.h.Faults[fault].Do) || c.grace[s.node.Name].touches(span{at, z.until}) || c.linkHit(s.node.Name, s.of.Node, true, span{at, z.until}) {
			continue
		}
		// What the end of the observer or of its watch cut short says nothing; the
		// end of the run says that it took at least so long.
		if s.noticed(z) || z.until >= c.h.End {
			d.samples = append(d.samples, minus(z.until, at))
		}
	}
}

// arrival measures how long it takes until observers know a new member.
type arrival struct{ samples []time.Duration }

func (a *arrival) see(c *disturbance, s *memberView) {
	if s.tenure < 0 || s.truth.from < c.h.Start || !s.when.covers(s.truth.from) {
		return
	}
	for i := range s.changes {
		v := &s.changes[i]
		if v.State != "live" {
			continue
		}
		known := max(v.At, s.truth.from)
		if known < s.truth.until && !c.pair(s.node.Name, s.of.Node, span{s.truth.from, known}) {
			a.samples = append(a.samples, minus(known, s.truth.from))
		}
		return
	}
}

// doubt counts what observers wrongly believe of healthy members.
type doubt struct {
	suspicions int
	evictions  int
}

func (d *doubt) see(c *disturbance, s *memberView) {
	if s.tenure < 0 {
		return
	}
	var before string
	for i := range s.changes {
		v := &s.changes[i]
		wrong := v.At >= s.truth.from && v.At < s.truth.until && s.when.covers(v.At) &&
			!c.pair(s.node.Name, s.of.Node, span{v.At, plus(v.At, time.Nanosecond)})
		switch {
		case !wrong:
		case doubts(v) && before != "suspect" && before != "unreachable":
			d.suspicions++
		case v.State == "" && before != "":
			d.evictions++
		}
		before = v.State
	}
}

func doubts(v *history.View) bool { return v.State == "suspect" || v.State == "unreachable" }

// zombies measures how long undisturbed observers take the dead to be alive.
type zombies struct {
	longest time.Duration
	total   int
	found   []finding
	scratch []span
}

func (z *zombies) see(c *disturbance, s *memberView) {
	for _, shown := range s.zombie {
		z.scratch = c.excused(s.node.Name, s.where(), shown, z.scratch[:0])
		for _, part := range z.scratch {
			z.longest = max(z.longest, part.length())
			if part.length() <= c.rules.Zombie {
				continue
			}
			z.total++
			if len(z.found) < maxFindings {
				z.found = append(z.found, s.finding(part))
			}
		}
	}
}

// checkZombie: no observer takes a dead member to be alive for longer than
// the bound, not counting while it was disturbed and the convergence bound after.
func checkZombie(m *viewMeasures, d *violations) {
	for _, w := range m.zombies.found {
		d.add(w.when.from, "%s, observing %s, took the dead %s to be alive for %v",
			w.observer, w.cluster, w.whom(), w.when.length())
	}
	d.total += m.zombies.total - len(m.zombies.found)
}

// forgotten finds live members that correct observers never see again.
type forgotten struct {
	members map[int]bool // tenures
	total   int
	found   []finding
}

func (g *forgotten) see(c *disturbance, s *memberView) {
	if !s.node.Correct || s.tenure < 0 || s.truth.until <= c.h.End {
		return
	}
	watched := s.when[len(s.when)-1]
	news := max(c.lastOf(s.node.Name, s.of.Node), s.truth.from, watched.from, s.met(c, c.h.End))
	if watched.until < c.h.End || plus(news, c.rules.Converge) > c.h.End {
		return // nothing can be said, or not yet
	}
	since := watched.from
	if n := len(s.changes); n > 0 {
		if s.changes[n-1].State != "" {
			return
		}
		since = s.changes[n-1].At
	}
	g.members[s.tenure] = true
	g.total++
	if len(g.found) < maxFindings {
		g.found = append(g.found, s.finding(span{since, c.h.End}))
	}
}

// checkForgotten: a live member that a correct observer does not see at the
// end, long after the last fault, is lost for good.
func checkForgotten(m *viewMeasures, d *violations) {
	for _, w := range m.forgotten.found {
		d.add(w.when.from, "%s, observing %s, has lost the live %s for good",
			w.observer, w.cluster, w.whom())
	}
	d.total += m.forgotten.total - len(m.forgotten.found)
}

// checkEmpty: as long as no fault hit anything, no caller is told that a
// cluster has no members while it has one. After faults such answers are only
// counted: an anchor may have to be found first.
func checkEmpty(q *requests, d *violations) {
	for _, i := range falselyEmpty(q) {
		r := &q.h.Requests[i]
		if q.calm.quiet(r.Caller, r.Ended) {
			d.add(r.Ended, "request %d of %s was told that %s has no members, and nothing had gone wrong", r.ID, r.Caller, r.Cluster)
		}
	}
}

// falselyEmpty lists the requests that were told that there are no members
// although one was registered long enough, reachable and healthy.
func falselyEmpty(q *requests) []int {
	var out []int
	for i := range q.h.Requests {
		r := &q.h.Requests[i]
		if r.Outcome == "no_members" && !r.Lost && hadMember(q, r) {
			out = append(out, i)
		}
	}
	return out
}

func hadMember(q *requests, r *history.Request) bool {
	since := minus(r.Sent, q.rules.Known)
	while := span{since, max(r.Sent, r.Ended) + time.Nanosecond}
	life := q.lives.at(r.Caller, r.Sent)
	for _, i := range q.borders.everybody(life, r.Cluster) {
		s := truth(&q.h.Tenures[i])
		known := q.borders.own(life, r.Cluster, i) || q.borders.visible(r.Caller, r.Cluster, i, while) && q.borders.linked(life, r.Cluster, i, while)
		if s.from <= since && s.until >= while.until && known && !q.borders.parted(r, i, while) {
			return true
		}
	}
	return false
}
