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

// interest is for how long after a request its caller certainly watches the
// cluster: watches outlive their last user by 30 s.
const interest = 20 * time.Second

// observation is one life of a node as an observer of one cluster.
type observation struct {
	life    int
	cluster string
	when    spans // while it certainly watched
}

type observer struct {
	life    int
	cluster string
}

// observations lists who observed what: nodes that sent requests to a cluster,
// as long as they did, and nodes that have a view of one without ever sending.
func (w *observers) observations() []observation {
	watched := make(map[observer][]span)
	for i := range w.h.Requests {
		r := &w.h.Requests[i]
		life := w.lives.at(r.Caller, r.Sent)
		if life < 0 || w.h.Nodes[life].Adversary || r.Outcome == "unauthorized" && r.Attempts == 0 {
			continue // its own relay refused the last one: it never got to look
		}
		k, s := observer{life, r.Cluster}, span{r.Sent, plus(r.Sent, interest)}
		list := watched[k]
		if n := len(list); n > 0 && list[n-1].from <= s.from && s.from <= list[n-1].until {
			list[n-1].until = max(list[n-1].until, s.until)
			continue
		}
		watched[k] = append(list, s)
	}
	silent := make(map[observer]time.Duration)
	for _, v := range w.h.Views {
		life := w.lives.at(v.Node, v.At)
		if life < 0 || w.h.Nodes[life].Adversary {
			continue
		}
		k := observer{life, v.Cluster}
		if first, seen := silent[k]; watched[k] == nil && (!seen || v.At < first) {
			silent[k] = v.At
		}
	}
	for k, first := range silent {
		watched[k] = []span{{first, forever}}
	}
	return w.ordered(watched)
}

func (w *observers) ordered(watched map[observer][]span) []observation {
	keys := slices.SortedFunc(maps.Keys(watched), func(a, b observer) int {
		return cmp.Or(cmp.Compare(a.life, b.life), cmp.Compare(a.cluster, b.cluster))
	})
	out := make([]observation, 0, len(keys))
	for _, k := range keys {
		whole := w.lives.during(k.life)
		list := watched[k]
		for i := range list {
			list[i] = list[i].meet(whole)
		}
		if when := merged(list); len(when) > 0 {
			out = append(out, observation{k.life, k.cluster, when})
		}
	}
	return out
}

// memberView is how one observer saw one member of one cluster. What it points to is
// valid only until the next one.
type memberView struct {
	*observation
	node   *history.Node   // the observer
	member string          // id
	tenure int             // of the member; -1 if nobody that the observer could know registered so
	of     *history.Tenure // nil without a tenure
	truth  span            // when it was live

	changes []history.View // in order
	missing []span         // it was live, watched, and not taken to be alive
	zombie  []span         // it was dead, watched, and taken to be alive
}

// observers knows what nodes saw of the members of clusters.
type observers struct {
	h       *history.History
	lives   *lives
	members *registrations
}

// change of what an observer saw, before it is put in order.
type viewKey struct{ node, cluster string }

// each calls see for every observer and every member that it could or did
// see, in a canonical order.
func (w *observers) each(see func(*memberView)) {
	views := w.viewsByObserver()
	s := &memberView{}
	for _, o := range w.observations() {
		node := &w.h.Nodes[o.life]
		s.observation, s.node = &o, node
		shown := w.shown(views[viewKey{node.Name, o.cluster}], o.life)
		name, network := split(o.cluster)
		if network != "" && network != node.Network {
			continue // of what is lent package check has checkLent
		}
		for _, tenure := range w.members.of[name] {
			if !w.members.known(o.life, tenure) {
				continue
			}
			t := &w.h.Tenures[tenure]
			s.tenure, s.of, s.member, s.truth = tenure, t, t.Member, truth(t)
			s.fill(shown[t.Member])
			delete(shown, t.Member)
			see(s)
		}
		for _, member := range slices.Sorted(maps.Keys(shown)) {
			changes := shown[member]
			dead, known := w.stranger(name, changes[0].Peer)
			if !known {
				continue
			}
			s.tenure, s.of, s.member, s.truth = -1, nil, member, span{dead, dead}
			s.fill(changes)
			see(s)
		}
	}
}

// viewsByObserver groups the views of a node, in order of time.
func (w *observers) viewsByObserver() map[viewKey][]int {
	out := make(map[viewKey][]int)
	for i := range w.h.Views {
		k := viewKey{w.h.Views[i].Node, w.h.Views[i].Cluster}
		out[k] = append(out[k], i)
	}
	for _, list := range out {
		slices.SortStableFunc(list, func(a, b int) int { return cmp.Compare(w.h.Views[a].At, w.h.Views[b].At) })
	}
	return out
}

// shown is what one life of an observer saw, by member.
func (w *observers) shown(views []int, life int) map[string][]history.View {
	out := make(map[string][]history.View)
	until := w.lives.during(life).until
	for _, i := range views {
		v := w.h.Views[i]
		if v.Network == "" && v.At <= until && w.lives.at(v.Node, v.At) == life {
			out[v.Member] = append(out[v.Member], v)
		}
	}
	return out
}

// stranger is since when a member that has no tenure with these keys must not
// be seen. It is unknown while a registration of its node may have succeeded
// without being acknowledged.
func (w *observers) stranger(cluster, peer string) (since time.Duration, known bool) {
	for _, t := range w.h.Tenures {
		if t.Cluster != cluster || t.Peer != peer || t.Member != "" {
			continue
		}
		if t.Until < 0 {
			return 0, false
		}
		since = max(since, t.Until)
	}
	return since, true
}

// fill finds out when the observer was wrong.
func (s *memberView) fill(changes []history.View) {
	s.changes, s.missing, s.zombie = changes, s.missing[:0], s.zombie[:0]
	var present spans // taken to be alive
	for i, v := range changes {
		until := forever
		if i+1 < len(changes) {
			until = changes[i+1].At
		}
		if !alive(v.State) {
			continue
		}
		if n := len(present); n > 0 && present[n-1].until == v.At {
			present[n-1].until = until
		} else if v.At < until {
			present = append(present, span{v.At, until})
		}
		s.addZombie(span{max(v.At, s.truth.until), until})
	}
	for _, w := range s.when {
		s.missing = present.cut(w.meet(s.truth), s.missing)
	}
}

func (s *memberView) addZombie(shown span) {
	for _, w := range s.when {
		z := shown.meet(w)
		if z.empty() {
			continue
		}
		if n := len(s.zombie); n > 0 && s.zombie[n-1].until == z.from {
			s.zombie[n-1].until = z.until
			continue
		}
		s.zombie = append(s.zombie, z)
	}
}

// met is since when the observer could know the member's node; at once if that is not
// known.
func (s *memberView) met(c *disturbance, at time.Duration) time.Duration {
	if s.of == nil {
		return 0
	}
	return c.met(s.life, c.lives.at(s.of.Node, s.of.Asked), at)
}

// noticed is when a zombie span ended because the observer changed its mind:
// not because it died, ceased to watch, or the run was over.
func (s *memberView) noticed(z span) bool {
	return slices.ContainsFunc(s.changes, func(v history.View) bool { return v.At == z.until })
}

// agreement measures how long the views of correct observers are wrong.
type agreement struct {
	took   map[turn]time.Duration // until what it made wrong was right
	ends   map[string][]ended     // node → the lasting faults that hit it, by their ends
	last   time.Duration          // from the last fault until the last wrong moment
	total  int
	wrongs []disagreement // that lasted too long
}

// turn is something that makes views wrong, or lets them be right again.
type turn struct {
	what  turnKind
	index int // of the fault or the life
}

type turnKind uint8

const (
	loss   turnKind = iota // of a node, by a fault
	birth                  // of a life
	relief                 // from a fault
)

type ended struct {
	at    time.Duration
	fault int
}

type disagreement struct {
	finding
	zombie bool
}

func newAgreement(c *disturbance) agreement {
	a := agreement{took: make(map[turn]time.Duration), ends: make(map[string][]ended)}
	for i, fault := range c.h.Faults {
		if !disturbs(fault.Do) || !lasts(fault.Do) || Undoes(fault) {
			continue
		}
		for _, node := range c.hit(fault) {
			a.ends[node] = append(a.ends[node], ended{Over(c.h, fault), i})
		}
	}
	for _, list := range a.ends {
		slices.SortFunc(list, func(x, y ended) int {
			return cmp.Or(cmp.Compare(x.at, y.at), cmp.Compare(x.fault, y.fault))
		})
	}
	return a
}

func (a *agreement) samples() []time.Duration { return slices.Collect(maps.Values(a.took)) }

func (a *agreement) note(t turn, d time.Duration) { a.took[t] = max(a.took[t], d) }

func (a *agreement) see(c *disturbance, s *memberView) {
	if !s.node.Correct {
		return
	}
	a.joined(c, s)
	for _, w := range s.missing {
		a.wrong(c, s, w, false)
	}
	for _, w := range s.zombie {
		a.wrong(c, s, w, true)
	}
}

// joined notes when the member of a node that came later was live, which is the
// least that it can have taken until views were right.
func (a *agreement) joined(c *disturbance, s *memberView) {
	if s.tenure < 0 || !s.when.covers(s.truth.from) {
		return
	}
	if life := c.lives.at(s.of.Node, s.of.Asked); c.lives.late(life) {
		a.note(turn{birth, life}, minus(s.truth.from, c.h.Nodes[life].From))
	}
}

func (a *agreement) wrong(c *disturbance, s *memberView, w span, zombie bool) {
	a.attribute(c, s, w, zombie)
	// Whoever begins to watch knows nothing at first, which is not the last
	// fault's doing.
	begins := slices.ContainsFunc(s.when, func(o span) bool { return o.from == w.from })
	if w.until > c.last && (!begins || w.from <= c.last) {
		a.last = max(a.last, minus(w.until, c.last))
	}
	if a.tooLong(c, s, w) {
		a.total++
		if len(a.wrongs) < maxFindings {
			a.wrongs = append(a.wrongs, disagreement{s.finding(w), zombie})
		}
	}
}

// tooLong says whether the bound after the last fault is broken, or the view
// was wrong in the end without anything that had happened lately.
func (a *agreement) tooLong(c *disturbance, s *memberView, w span) bool {
	news := max(c.lastOf(s.node.Name, s.where()), s.met(c, w.until))
	if minus(w.until, max(w.from, news)) > c.rules.Converge {
		return true
	}
	if w.until < c.h.End {
		return false
	}
	for _, t := range [...]time.Duration{s.truth.from, s.truth.until, s.when[len(s.when)-1].from} {
		if t <= c.h.End {
			news = max(news, t)
		}
	}
	return plus(news, c.rules.Converge) < c.h.End
}

// attribute puts a wrong view down to what made it wrong: the loss or the birth
// of the member's node, or faults that ended meanwhile. What another fault held
// up is not counted.
func (a *agreement) attribute(c *disturbance, s *memberView, w span, zombie bool) {
	if s.tenure < 0 {
		return
	}
	observer, member := s.node.Name, s.of.Node
	calm := !c.standing(observer, member, w)
	life, fault := c.lives.at(member, s.of.Asked), c.endedBy[s.tenure]
	switch {
	case calm && zombie && fault >= 0 && w.from == s.truth.until:
		a.note(turn{loss, fault}, minus(w.until, c.h.Faults[fault].At))
	case calm && !zombie && c.lives.late(life) && w.from == s.truth.from:
		a.note(turn{birth, life}, minus(w.until, c.h.Nodes[life].From))
	}
	for _, node := range [...]string{observer, member} {
		list := a.ends[node]
		i, _ := slices.BinarySearchFunc(list, w.from, func(e ended, t time.Duration) int { return cmp.Compare(e.at, t) })
		for ; i < len(list) && list[i].at < w.until; i++ {
			if c.touches(c.h.Faults[list[i].fault], observer, member) && !c.standing(observer, member, span{list[i].at, w.until}) {
				a.note(turn{relief, list[i].fault}, minus(w.until, list[i].at))
			}
		}
	}
}
