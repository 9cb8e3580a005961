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

// sight is how one observer saw one member of one cluster. What it points to is
// valid only until the next one.
type sight struct {
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
func (w *observers) each(see func(*sight)) {
	views := w.viewsByObserver()
	s := &sight{}
	for _, o := range w.observations() {
		node := &w.h.Nodes[o.life]
		s.observation, s.node = &o, node
		shown := w.shown(views[viewKey{node.Name, o.cluster}], o.life)
		for _, tenure := range w.members.of[o.cluster] {
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
			dead, known := w.stranger(o.cluster, changes[0].Peer)
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
		if v.At <= until && w.lives.at(v.Node, v.At) == life {
			out[v.Member] = append(out[v.Member], v)
		}
	}
	return out
}

// stranger is since when a member that has no tenure with these keys must not
// be seen. It is unknown while a registration of its node may have succeeded
// without being acknowledged.
func (w *observers) stranger(cluster, peer string) (since time.Duration, known bool) {
	for i := range w.h.Tenures {
		t := &w.h.Tenures[i]
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
func (s *sight) fill(changes []history.View) {
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

func (s *sight) addZombie(shown span) {
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

// noticed is when a zombie span ended because the observer changed its mind:
// not because it died, ceased to watch, or the run was over.
func (s *sight) noticed(z span) bool {
	return slices.ContainsFunc(s.changes, func(v history.View) bool { return v.At == z.until })
}
