// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"bytes"
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"

	"github.com/arke-mesh/arke/security"
)

// watcher is the core that knows the members of the clusters this node calls:
// it watches every anchor of every valid id and merges what they say.
type watcher struct {
	*base
	zone string
	home string // what this network is called

	names   map[string]*watchedCluster
	byID    map[security.ClusterID]*epochView
	touched []*watchedCluster
	seen    []sendAction // Seen, once views are published
	seq     uint64
	plans   agenda[*epochView]
	idlers  agenda[*watchedCluster]
}

// watchedCluster is one cluster.
type watchedCluster struct {
	slot
	name       string
	epochViews []*epochView // in the order of the name's epochs: newest first
	view       *View
	check      crossCheck
	census     census           // the members of view
	dialled    map[peer.ID]bool // whose links are kept up, so that a first request need not wait
	touched    bool
}

// lingerTime is how long a watch outlives its last user.
const lingerTime = 30 * time.Second

// start begins to watch name.
func (k *watcher) start(now time.Time, name string, p *pool) {
	w := &watchedCluster{
		name: name, view: &View{pool: p},
		census: newCensus(), dialled: make(map[peer.ID]bool),
	}
	k.names[name] = w
	k.follow(now, w, k.epochs.use(now, name))
}

// idle notes that nobody is interested in name for now.
func (k *watcher) idle(name string, until time.Time) {
	if w := k.names[name]; w != nil {
		k.idlers.cancel(w) // somebody may have been interested since the last time
		k.idlers.plan(w, until)
	}
}

// stop forgets name.
func (k *watcher) stop(now time.Time, name string) {
	w := k.names[name]
	if w == nil {
		return
	}
	k.idlers.cancel(w)
	k.follow(now, w, nil)
	k.dial(now, w, nil)
	k.epochs.leave(name)
	delete(k.names, name)
	w.view.pool.setTiers(nil)
}

// follow makes w's epoch views match the epochs.
func (k *watcher) follow(now time.Time, w *watchedCluster, epochs []*epoch) {
	w.epochViews = followEpochs(w.epochViews, w.ids(k.base, epochs),
		func(s *epochView) security.ClusterID { return s.cid },
		func(e *epoch) *epochView {
			if s := k.byID[e.cid]; s != nil {
				s.of = append(s.of, w)
				return s
			}
			s := &epochView{of: []*watchedCluster{w}, anchorSet: k.finder.follow(now, e.cid), verifier: verifier{
				base: k.base, epoch: e, name: w.name,
			}}
			k.byID[e.cid] = s
			k.advance(now, s)
			return s
		},
		func(s *epochView) {
			if s.of = slices.DeleteFunc(s.of, func(o *watchedCluster) bool { return o == w }); len(s.of) > 0 {
				return
			}
			for _, c := range slices.Clone(s.anchorViews) {
				k.release(s, c)
			}
			k.finder.unfollow(now, s.anchorSet)
			k.plans.cancel(s)
			delete(k.byID, s.cid)
		})
	w.census.all = true
	k.touch(w)
}

// turned notes that other ids are valid for name.
func (k *watcher) turned(now time.Time, name string) {
	if w := k.names[name]; w != nil {
		k.follow(now, w, k.epochs.of(name))
	}
}

// anchorsChanged notes that the anchors of cid are others now.
func (k *watcher) anchorsChanged(now time.Time, cid security.ClusterID) {
	if s := k.byID[cid]; s != nil {
		k.advance(now, s)
		k.touch(s.of...)
	}
}

// peerChanged notes that the state of the link to p changed: it may be an
// anchor, a member's node, or both.
func (k *watcher) peerChanged(now time.Time, p peer.ID) {
	var concerned []*watchedCluster
	for _, w := range k.names {
		if w.mayServe(p) || slices.ContainsFunc(w.epochViews, func(s *epochView) bool { return s.at(p) != nil }) {
			concerned = append(concerned, w)
		}
	}
	slices.SortFunc(concerned, func(a, b *watchedCluster) int { return strings.Compare(a.name, b.name) })
	for _, w := range concerned {
		if w.mayServe(p) {
			w.census.doubted[p] = true // who vouches for its members may be another one now
			k.touch(w)
		}
		for _, s := range w.epochViews {
			if s.at(p) != nil {
				k.advance(now, s)
				k.touch(w)
			}
		}
	}
}

// attached says whether the watch of cid is, or is to be, at p.
func (k *watcher) attached(cid security.ClusterID, p peer.ID) bool {
	s := k.byID[cid]
	return s != nil && s.at(p) != nil
}

// vouches says whether this node itself sees that p lives: then the doubt of one
// anchor, which may lie, takes none of p's members out of rotation.
func (k *watcher) vouches(p peer.ID) bool {
	return k.peers.linkUp(p) && !k.peers.suspect(p) && !k.peers.lost(p)
}

// flagLink shows pickers what our own link to m's node says.
func (k *watcher) flagLink(m *Member) {
	m.load.setFlag(flagLinkDown, k.peers.lost(m.Hop()))
	m.load.setFlag(flagLinkSuspect, k.peers.suspect(m.Hop()))
}

// touch has the views of these made anew by the next flush.
func (k *watcher) touch(ws ...*watchedCluster) {
	for _, w := range ws {
		if !w.touched {
			w.touched = true
			k.touched = append(k.touched, w)
		}
	}
}

// tick does what is planned.
func (k *watcher) tick(now time.Time) {
	for _, w := range k.idlers.due(now) {
		k.out.add(expireAction{w.name})
	}
	for _, s := range k.plans.due(now) {
		k.advance(now, s)
		if s.checked() {
			k.touch(s.of...)
		}
	}
}

// flush makes the views anew of whatever has changed since the last one, and answers
// anchors that want to know when callers see it.
func (k *watcher) flush(now time.Time) {
	for len(k.touched) > 0 {
		w := k.touched[0]
		k.touched = k.touched[1:]
		w.touched = false
		if k.names[w.name] == w {
			k.refresh(now, w)
		}
	}
	k.touched = nil
	for _, s := range k.seen {
		k.out.add(s)
	}
	k.seen = nil
}

// see answers the anchor once callers see what it told; 0 = nobody waits for that.
func (k *watcher) see(s *epochView, c *anchorView, announcement uint64) {
	if announcement > 0 {
		k.seen = append(k.seen, sendAction{c.peer, &seenMsg{s.cid, c.seq, announcement}})
	}
}

// refresh publishes w's view if it is another one now.
func (k *watcher) refresh(now time.Time, w *watchedCluster) {
	w.reach(now, k)
	for _, s := range w.epochViews {
		over, next := s.movers.settle(now, k.finder.settling, s.knows)
		for _, p := range over {
			s.doubt(p)
		}
		k.plans.plan(s, next)
	}
	changes := w.census.merge(k, w)
	w.showAnchors()
	v := &View{pool: w.view.pool, Members: revised(w.view.Members, changes)}
	w.check.remember(now, v.Members)
	empty := len(v.Members) == 0 && believedEmpty(w.epochViews)
	doubted := empty && k.doubts(now, w)
	v.Empty = empty && !doubted
	v.Known = v.Empty || len(v.Members) > 0
	v.Told = !doubted && told(w.epochViews)
	v.Complete = !doubted && complete(w.epochViews, w.view.Complete)
	w.dismiss(k)
	for _, c := range changes {
		if c.old != nil && (c.now == nil || c.now.load != c.old.load) {
			c.old.load.setFlag(flagGone, true)
		}
	}
	for _, s := range w.epochViews {
		s.tidy(len(v.Members))
	}
	if len(changes) == 0 && v.Known == w.view.Known && v.Told == w.view.Told && v.Complete == w.view.Complete {
		return
	}
	v.tiers = newTiers(v.pool, k.self, k.zone, v.Members)
	v.networks = byNetwork(v, k.self, k.zone)
	v.pool.setTiers(v.tiers)
	w.view = v
	if !doubted { // who is asked need not be linked yet
		var near []*Member
		for i := range v.tiers {
			near = append(near, v.tiers[i].one...)
		}
		k.dial(now, w, near)
	}
	k.out.add(publishAction{w.name, v})
}

// showStirs shows those who wait for members whether something is under way.
func (k *watcher) showStirs() {
	for _, w := range k.names {
		if len(w.view.Members) == 0 {
			w.view.pool.stirs.Store(w.stirs(k))
		}
	}
}

// member returns the Member for f: the old one if nothing about it
// has changed, with the same health if it is only described differently.
func (k *watcher) member(w *watchedCluster, old *Member, f *merged) *Member {
	m := old
	if old == nil || old.Incarnation != f.incarnation || !old.describes(f.verified) || !sameWays(old, f) || !samePassed(old, w, f.verified) {
		m = &Member{
			ID: f.member, Peer: f.peer, Incarnation: f.incarnation, Zone: f.zone,
			Network: cmp.Or(f.network, k.home), Imported: f.network != "", Priority: f.priority, Networks: f.networks,
			Capacity: f.capacity, MaxMessage: f.maxMessage, Addrs: f.addrs, Payload: f.payload, Key: f.key,
			Name: f.nodeName, Certificate: f.certificate, Ephemeral: f.ephemeral,
			passed: w.passed(f.verified),
		}
		m.Via, m.ways = f.via()
		if old != nil && old.Incarnation == f.incarnation && old.Capacity == f.capacity && old.rank() == m.rank() {
			m.load = old.load
		} else {
			m.load = newLoad(w.view.pool.ofRank(m.rank()), f.capacity)
		}
	}
	m.load.setFlag(flagSuspect, f.surely || f.suspect && !k.vouches(m.Hop()))
	k.flagLink(m)
	return m
}

func (m *Member) describes(d *verified) bool {
	return m.Key == d.key && m.Imported == (d.network != "") && (!m.Imported || m.Network == d.network) && m.Priority == d.priority && slices.Equal(m.Networks, d.networks) && m.Zone == d.zone && m.Capacity == d.capacity && m.MaxMessage == d.maxMessage && slices.Equal(m.Addrs, d.addrs) &&
		bytes.Equal(m.Payload, d.payload) && bytes.Equal(m.Certificate, d.certificate) && m.Name == d.nodeName && m.Ephemeral == d.ephemeral
}

// dial keeps links up to the nodes of these members, and no others.
func (k *watcher) dial(now time.Time, w *watchedCluster, members []*Member) {
	dialled := make(map[peer.ID]bool, len(members))
	reach := func(p peer.ID, addrs []string) {
		switch {
		case dialled[p]:
		case w.dialled[p]:
			k.peers.learn(now, p, addrs)
		default:
			k.peers.want(now, p, addrs)
		}
		dialled[p] = true
	}
	for _, m := range members {
		if m.Via == nil {
			reach(m.Peer, m.Addrs)
		}
		for _, way := range m.ways {
			reach(way.Peer, way.Addrs)
		}
	}
	var gone []peer.ID
	for p := range w.dialled {
		if !dialled[p] {
			gone = append(gone, p)
		}
	}
	slices.Sort(gone)
	for _, p := range gone {
		k.peers.unwant(p)
	}
	w.dialled = dialled
}
