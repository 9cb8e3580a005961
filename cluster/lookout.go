// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"slices"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"

	"github.com/arke-mesh/arke/security"
)

// lookout is the core that knows the members of the clusters this node calls:
// it watches every anchor of every valid id and merges what they say.
type lookout struct {
	self     peer.ID
	zone     string
	dice     *dice
	out      *outbox
	reach    *reach
	finder   *finder
	calendar *calendar
	verify   func(id security.ClusterID, key, proof []byte, p peer.ID) error

	names    map[string]*watched
	sights   map[security.ClusterID]*sight
	touched  []*watched
	seq      uint64
	rejected counters // leases that were not believed, by reason
	alarm    alarm
}

// watched is one cluster.
type watched struct {
	name     string
	sights   []*sight // in the order of the name's stamps: newest first
	view     *View
	members  map[leaseKey]*Member // those of view
	dialled  map[peer.ID]bool     // whose links are kept up, so that a first request need not wait
	touched  bool
	lingerAt time.Time // when the last interest will have ended for long enough; zero = somebody is interested
}

// lingerTime is how long a watch outlives its last user.
const lingerTime = 30 * time.Second

// start begins to watch name.
func (k *lookout) start(now time.Time, name string, p *pool) {
	w := &watched{
		name: name, view: &View{pool: p},
		members: make(map[leaseKey]*Member), dialled: make(map[peer.ID]bool),
	}
	k.names[name] = w
	k.follow(now, w, k.calendar.use(now, name))
}

// idle notes that nobody is interested in name for now.
func (k *lookout) idle(name string, until time.Time) {
	if w := k.names[name]; w != nil {
		w.lingerAt = until
		k.alarm.plan(until)
	}
}

// stop forgets name.
func (k *lookout) stop(now time.Time, name string) {
	w := k.names[name]
	if w == nil {
		return
	}
	k.follow(now, w, nil)
	k.dial(now, w, nil)
	k.calendar.leave(name)
	delete(k.names, name)
	w.view.pool.setLoads(nil)
}

// follow makes w's sights match the stamps.
func (k *lookout) follow(now time.Time, w *watched, stamps []stamp) {
	old := w.sights
	w.sights = nil
	for _, st := range stamps {
		i := slices.IndexFunc(old, func(s *sight) bool { return s.cid == st.cid })
		if i >= 0 {
			w.sights = append(w.sights, old[i])
			old = slices.Delete(old, i, i+1)
			continue
		}
		s := newSight(st, w, k.finder.use(now, st.cid))
		k.finder.connect(now, s.ring, true)
		k.finder.seek(now, s.ring, true)
		w.sights = append(w.sights, s)
		k.sights[st.cid] = s
		k.advance(now, s)
	}
	for _, s := range old {
		for _, c := range slices.Clone(s.sources) {
			k.release(s, c)
		}
		k.finder.seek(now, s.ring, false)
		k.finder.connect(now, s.ring, false)
		k.finder.leave(s.ring)
		delete(k.sights, s.cid)
	}
	k.touch(w)
}

// turned takes in that other ids are valid for name.
func (k *lookout) turned(now time.Time, name string) {
	if w := k.names[name]; w != nil {
		k.follow(now, w, k.calendar.stamps(name))
	}
}

// ringChanged takes in that the anchors of cid are others now.
func (k *lookout) ringChanged(now time.Time, cid security.ClusterID) {
	if s := k.sights[cid]; s != nil {
		k.advance(now, s)
		k.touch(s.of)
	}
}

// peerChanged takes in that the state of the link to p changed: it may be an
// anchor, a member's node, or both.
func (k *lookout) peerChanged(now time.Time, p peer.ID) {
	for _, w := range k.sorted() {
		for _, s := range w.sights {
			if s.source(p) != nil {
				k.advance(now, s)
				k.touch(w)
			}
		}
		for _, m := range w.view.Members {
			if m.Peer == p {
				k.flagLink(m)
			}
		}
	}
}

// attached says whether the watch of cid is, or is to be, at p.
func (k *lookout) attached(cid security.ClusterID, p peer.ID) bool {
	s := k.sights[cid]
	return s != nil && s.source(p) != nil
}

// flagLink shows pickers what our own link to m's node says.
func (k *lookout) flagLink(m *Member) {
	m.load.setFlag(flagLinkDown, k.reach.lost(m.Peer))
	m.load.setFlag(flagLinkSuspect, k.reach.suspect(m.Peer))
}

// touch has w's view made anew by the next flush.
func (k *lookout) touch(w *watched) {
	if !w.touched {
		w.touched = true
		k.touched = append(k.touched, w)
	}
}

// tick does what is planned.
func (k *lookout) tick(now time.Time) {
	if !k.alarm.rings(now) {
		return
	}
	for _, w := range k.sorted() {
		switch {
		case due(w.lingerAt, now):
			w.lingerAt = time.Time{}
			k.out.add(expireAction{w.name})
		case !w.lingerAt.IsZero():
			k.alarm.plan(w.lingerAt)
		}
		for _, s := range w.sights {
			k.advance(now, s)
		}
	}
}

// sorted lists what is watched in an order that does not depend on the map.
func (k *lookout) sorted() []*watched {
	out := make([]*watched, 0, len(k.names))
	for _, w := range k.names {
		out = append(out, w)
	}
	slices.SortFunc(out, func(a, b *watched) int {
		if a.name < b.name {
			return -1
		}
		return 1
	})
	return out
}
