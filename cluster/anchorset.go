// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"bytes"
	"maps"
	"slices"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"

	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/overlay"
	"github.com/arke-mesh/arke/security"
)

// Times of lookups.
const (
	recheckSoon   = time.Second            // a neighbourhood is looked up again after this and at most as much more, doubled …
	recheckFirst  = 15 * time.Second       // … up to this each time that a lookup finds what the last one found
	recheckSpread = 15 * time.Second       // the most that is added to the longest wait
	recheckEach   = 500 * time.Millisecond // … and never sooner than so much for each neighbourhood, beyond recheckFirst
	lookupDelay   = 300 * time.Millisecond // after a change nearby: others may follow
	farAfter      = 5 * time.Second        // without a change of its routing table a node may know that it is far from an id
	joinDelay     = 20 * time.Millisecond  // the same while no lookup has found anybody: this node is joining
)

// finder is the core that knows the anchors of every cluster id in use here:
// the peers closest to it by our own routing table, by lookups, and by what
// those who anchor it say, without those that can't be reached.
type finder struct {
	peers   *peerTable
	rng     *prng
	out     *outbox
	nearest func(key overlay.Key, k int) []peer.ID // reads the routing table
	sets    byPlace[*anchorSet]
	lookups agenda[*anchorSet]
	seekers int                  // sets that the network is asked about
	changed time.Time            // when the routing table last changed, or the node started
	doubted *anchorSet           // that this node said it is far from, without knowing where its anchors are at home
	doubt   time.Time            // since when
	recent  []linkChange         // of the time that settling takes
	events  []security.ClusterID // whose ring changed; the control core drains it

	settling *settling
}

// linkChange is a peer that came, went, fell silent or spoke again.
type linkChange struct {
	placed
	at time.Time
}

func newFinder(now time.Time, r *peerTable, d *prng, out *outbox, nearest func(overlay.Key, int) []peer.ID) *finder {
	return &finder{
		peers: r, rng: d, out: out, nearest: nearest,
		changed: now, settling: r.waits,
	}
}

// use returns the ring of cid and keeps it until leave; calls are counted.
func (f *finder) use(now time.Time, cid security.ClusterID) *anchorSet {
	g := f.sets.get(cid)
	if g == nil {
		g = &anchorSet{cid: cid, place: placeOfID(cid).Head(), nearby: &nearby{}}
		f.sets.add(g)
		f.read(g)
		f.decide(now, g)
		g.moved(f.unchangedSince(g))
		g.stands(now, f.settling.time(now))
	}
	g.users++
	return g
}

// read asks the routing table for the peers closest to g, and says whether they are others.
func (f *finder) read(g *anchorSet) (changed bool) {
	local := f.nearest(overlay.Key(g.cid), g.width())
	if slices.Equal(local, g.local) {
		return false
	}
	g.nearby = &nearby{local, g.anchors}
	return true
}

// decide decides anew who anchors g, and says whether anything about that has changed. Ids
// next to each other mostly have the same peers nearby, in the same order: those are kept once.
func (f *finder) decide(now time.Time, g *anchorSet) (changed bool) {
	changed = g.decide(now, f.peers)
	i, _ := f.sets.find(g.cid)
	for _, o := range f.sets[max(i-1, 0):min(i+2, len(f.sets))] {
		if o != g && slices.Equal(g.local, o.local) && slices.Equal(g.anchors, o.anchors) {
			g.nearby = o.nearby
			break
		}
	}
	return changed
}

// unchangedSince says for how long a new ring has been what it is: as long as
// neither the table changed, nor a peer nearby came or went that the table does
// not know, nor one that it knows was lost.
func (f *finder) unchangedSince(g *anchorSet) time.Time {
	since := f.changed
	for _, c := range f.recent {
		matters := !slices.Contains(g.local, c.peer) || f.peers.failing(c.peer) || f.peers.silent(c.peer)
		if matters && c.at.After(since) && g.concerns(f.peers, c.placed) {
			since = c.at
		}
	}
	return since
}

func (f *finder) leave(g *anchorSet) {
	if g.users--; g.users == 0 {
		f.lookups.cancel(g)
		f.sets.remove(g)
	}
}

// follow is use, for who keeps links to the anchors and asks the network for
// them until unfollow.
func (f *finder) follow(now time.Time, cid security.ClusterID) *anchorSet {
	g := f.use(now, cid)
	f.connect(now, g, true)
	f.seek(now, g, true)
	return g
}

func (f *finder) unfollow(now time.Time, g *anchorSet) {
	f.seek(now, g, false)
	f.connect(now, g, false)
	f.leave(g)
}

// connect keeps links to the anchors up, or no longer; calls are counted.
func (f *finder) connect(now time.Time, g *anchorSet, on bool) {
	if on {
		if g.links++; g.links == 1 {
			f.reachFor(now, g.near(), nil)
		}
	} else if g.links--; g.links == 0 {
		f.reachFor(now, nil, g.near())
	}
}

// seek has the network asked about the neighbourhood from now on, or no
// longer; calls are counted.
func (f *finder) seek(now time.Time, g *anchorSet, on bool) {
	if on {
		if g.seekers++; g.seekers == 1 {
			f.seekers++
			f.planLookup(g, now)
		}
	} else if g.seekers--; g.seekers == 0 {
		f.seekers--
		f.lookups.cancel(g)
	}
}

// reachFor moves the interest in links. Barred peers are dialled and listened
// to as well, so that they come back.
func (f *finder) reachFor(now time.Time, peers, old []peer.ID) {
	for _, p := range peers {
		f.peers.want(now, p, nil)
		f.peers.hold(p)
	}
	for _, p := range old {
		f.peers.unhold(p)
		f.peers.unwant(p)
	}
}

// update decides anew who anchors g.
func (f *finder) update(now time.Time, g *anchorSet) {
	old := g.near()
	changed := f.decide(now, g)
	if !g.wide && g.lacks(f.peers) {
		g.wide = true
		f.read(g)
		changed = f.decide(now, g) || changed
		if g.seekers > 0 {
			f.planLookup(g, now.Add(f.delay(g)))
		}
	}
	if !changed {
		return
	}
	if g.links > 0 {
		f.reachFor(now, g.near(), old)
	}
	f.events = append(f.events, g.cid)
}

// tableChanged notes that the routing table is another one.
func (f *finder) tableChanged(now time.Time) {
	f.changed = now
	for _, g := range f.sets {
		old := g.local
		if !f.read(g) {
			continue
		}
		f.update(now, g)
		for _, p := range g.local {
			if !slices.Contains(old, p) { // news that it lives, as after a partition
				f.peers.retry(now, p)
			}
		}
		if g.seekers > 0 {
			f.planLookup(g, now.Add(f.delay(g)))
		}
	}
}

// delay is how long a change nearby may be followed by others before the
// network is asked. Who joins knows nobody yet and has no time to lose: until it
// has asked, its members are known to the wrong anchors only.
func (f *finder) delay(g *anchorSet) time.Duration {
	for _, p := range g.heard().found {
		if p != f.peers.self {
			return lookupDelay
		}
	}
	return joinDelay
}

// peerChanged notes that p can be reached again, or no longer.
func (f *finder) peerChanged(now time.Time, p peer.ID) {
	settles := f.settling.time(now)
	f.recent = slices.DeleteFunc(f.recent, func(c linkChange) bool {
		return c.peer == p || !now.Before(c.at.Add(settles))
	})
	who := placed{p, placeOfPeer(p)}
	f.recent = append(f.recent, linkChange{who, now})
	for _, g := range f.sets {
		if !g.concerns(f.peers, who) {
			continue
		}
		if g.more != nil && f.peers.session(p) == 0 {
			g.more.told = slices.DeleteFunc(g.more.told, func(h hearsay) bool { return h.by == p })
		}
		f.update(now, g)
	}
}

// tell notes what p, who anchors cid, takes for its anchors.
func (f *finder) tell(now time.Time, cid security.ClusterID, p peer.ID, anchors []peer.ID) {
	g := f.sets.get(cid)
	if g == nil || p == f.peers.self {
		return
	}
	anchors = anchors[:min(len(anchors), nearestCount)]
	theirs := &nearby{anchors: anchors}
	if slices.Equal(anchors, g.anchors) {
		theirs = g.nearby // the common case, kept once
	}
	i, heard := g.toldBy(p), g.hear()
	switch {
	case i >= 0 && slices.Equal(heard.told[i].anchors, anchors):
		return
	case i >= 0:
		heard.told[i].nearby = theirs
	case len(heard.told) < 2*nearestCount:
		heard.told = append(heard.told, hearsay{p, theirs})
	default:
		return
	}
	f.update(now, g)
}

// lookedUp handles the end of a lookup; what was found before time ran out
// counts.
func (f *finder) lookedUp(now time.Time, cid security.ClusterID, peers []peer.ID) {
	g := f.sets.get(cid)
	if g == nil {
		return
	}
	g.looking = false
	found := peers[:min(len(peers), g.width())]
	heard := g.hear()
	heard.recheck = min(max(2*heard.recheck, recheckSoon), recheckFirst)
	if len(found) > 0 && !slices.Equal(found, heard.found) {
		heard.recheck = recheckSoon
		if heard.found = found; slices.Equal(found, g.local) {
			heard.found = g.local // kept once
		}
		f.update(now, g)
		for _, p := range found {
			f.peers.found(now, p)
		}
	}
	if g.seekers > 0 {
		// While a network forms, routing tables are incomplete far from home:
		// the first lookups are worth little.
		wait := f.stretch(heard.recheck)
		f.planLookup(g, now.Add(wait+spread(f.rng, wait)))
	}
	f.overheard(now, found)
}

// stretch is how long wait becomes so that lookups cost a node no more, however many
// neighbourhoods it asks about.
func (f *finder) stretch(wait time.Duration) time.Duration {
	return max(wait, time.Duration(f.seekers)*recheckEach-recheckFirst)
}

// outside says whether this node has to see where the closest anchors are at home, to
// know whether it is an anchor because it is elsewhere.
func (f *finder) outside(g *anchorSet) bool {
	return f.peers.homes.several() && !slices.Contains(g.anchors[:min(len(g.anchors), anchorCount)], f.peers.self)
}

// far says whether others are so much closer to cid that this node is no anchor of it
// by anybody's view that is worth anything: as many as are asked of the router, all
// of whom can be reached as far as this node knows, which has known the same peers
// for a while.
func (f *finder) far(now time.Time, cid security.ClusterID) bool {
	g := f.use(now, cid)
	defer f.leave(g)
	if now.Before(f.changed.Add(farAfter)) || g.isAnchor(f.peers.self) || len(g.local) < nearestCount || slices.Contains(g.local, f.peers.self) {
		return false
	}
	if slices.ContainsFunc(g.local, func(p peer.ID) bool { return f.peers.failing(p) || f.peers.suspect(p) }) {
		return false
	}
	f.wonder(now, g)
	return true
}

// instead lists whom to ask who was refused because this node is far.
func (f *finder) instead(cid security.ClusterID, refusal wire.Refusal) []peer.ID {
	if refusal != wire.Refusal_FAR {
		return nil
	}
	return f.nearest(overlay.Key(cid), anchorCount)
}

// overheard has neighbourhoods looked up soon that miss one of these peers, which a
// lookup has found elsewhere: so each lookup serves them all. Who has a link is
// missed nowhere.
func (f *finder) overheard(now time.Time, found []peer.ID) {
	for _, p := range found {
		if f.peers.linkUp(p) || f.peers.failing(p) {
			continue
		}
		who := placed{p, placeOfPeer(p)}
		for _, g := range f.sets {
			if g.seekers > 0 && g.heard().recheck > 0 && g.concerns(f.peers, who) && !g.names(p) {
				f.planLookup(g, now.Add(spread(f.rng, recheckFirst)))
			}
		}
	}
}

func (f *finder) planLookup(g *anchorSet, at time.Time) {
	if !g.looking {
		f.lookups.plan(g, at)
	}
}

// tick begins the lookups that are due.
func (f *finder) tick(now time.Time) {
	for _, g := range f.lookups.due(now) {
		g.looking = true
		f.out.add(lookupAction{g.cid, g.width()})
	}
}

// anchorCount is K: how many nodes anchor a cluster.
const anchorCount = 3

// nearestCount is how many peers are asked of the router: some of them may
// turn out to be unreachable.
const nearestCount = 8

// wideCount is how many are asked of it where all those are at home in the networks
// of the anchors: as many as a Kademlia node tells of.
const wideCount = 20

// majority is how many of n are more than half; of none, one.
func majority(n int) int { return n/2 + 1 }

// anchorSet is what is known of the neighbourhood of one cluster id.
type anchorSet struct {
	*nearby
	cid   security.ClusterID
	place uint64     // of cid, its head
	edge  uint64     // how far the last of the closest anchors is away, its head
	since *time.Time // when anchors last changed; nil = so long ago that all about it has settled
	more  *findings  // nil = there are none, as where this node anchors and has no member

	slot          // of the next lookup
	users   int32 // anchor books, registrations and watches of this id
	links   int32 // of these, those that need links to the anchors
	seekers int32 // of these, those for whom the network is asked as well
	alike   bool  // all anchors but the one at home elsewhere are at home in one network
	unsure  bool  // some of barred may yet turn out to be there
	wide    bool  // the router is asked for more peers than usual
	looking bool  // a lookup is under way
}

// nearby are the peers close to cluster ids. Sets share it; nobody changes it.
type nearby struct {
	local   []peer.ID // from our own routing table
	anchors []peer.ID // the closest ones, at most anchorCount, and the closest one at home elsewhere
}

// findings are what is known of a neighbourhood beside the routing table and links.
type findings struct {
	found   []peer.ID     // from the last lookup
	told    []hearsay     // what others take for the anchors
	barred  []peer.ID     // peers that would be anchors, but can't be reached, are silent, or only hearsay so far
	recheck time.Duration // from the last lookup to the next, without what chance adds
}

// heard is what was found; nobody changes it.
func (g *anchorSet) heard() (none findings) {
	if g.more == nil {
		return none
	}
	return *g.more
}

// hear is where to add to what was found.
func (g *anchorSet) hear() *findings {
	if g.more == nil {
		g.more = &findings{}
	}
	return g.more
}

// none says that nothing was found.
func (f findings) none() bool {
	return len(f.found) == 0 && len(f.told) == 0 && len(f.barred) == 0 && f.recheck == 0
}

// hearsay is what one peer takes for the anchors.
type hearsay struct {
	by peer.ID
	*nearby
}

// set has anchor sets kept byPlace.
func (g *anchorSet) set() *anchorSet { return g }

// names says whether p has been found for g.
func (g *anchorSet) names(p peer.ID) bool {
	heard := g.heard()
	return slices.Contains(g.local, p) || slices.Contains(heard.found, p) || slices.Contains(heard.barred, p)
}

// toldBy is the index of what p told, or -1.
func (g *anchorSet) toldBy(p peer.ID) int {
	return slices.IndexFunc(g.heard().told, func(h hearsay) bool { return h.by == p })
}

// decide recomputes who anchors the cluster, and says whether anything about
// that has changed. Anchors are chosen by what this node knows itself: its
// table, its lookups, its links. Whom others name is dialled, and counts once
// there is a link: if nodes passed on hearsay as their own knowledge, the name
// of a dead peer would go round for ever. A silent peer is none while it is
// silent: nobody need wait until its link is given up. One that was only just missed
// still is: mostly its connection broke, the next one goes on where that ended, and
// whoever takes its place for this moment knows nothing yet.
func (g *anchorSet) decide(now time.Time, r *peerTable) bool {
	heard := g.heard()
	all := slices.Concat(g.local, heard.found)
	for _, h := range heard.told {
		all = append(all, h.anchors...)
	}
	usable := 0
	for p := range r.linked.near(placeOfID(g.cid)) { // those beyond can't be anchors
		all = append(all, p)
		if !r.silent(p) {
			usable++
		}
		if usable == anchorCount {
			break
		}
	}
	var anchors, barred, beyond []peer.ID
	unsure := false
	for _, p := range byDistance(g.cid, all) {
		known := slices.Contains(g.local, p) || slices.Contains(heard.found, p)
		switch {
		case len(anchors) == anchorCount:
			beyond = append(beyond, p)
		case !r.silent(p) && (r.session(p) != 0 || (known && !r.failing(p))):
			anchors = append(anchors, p)
		case len(barred) < nearestCount:
			barred = append(barred, p)
			unsure = unsure || !r.failing(p)
		}
	}
	if len(anchors) == 0 {
		// Cut off: members and callers on this node still find each other.
		anchors, unsure = []peer.ID{r.self}, true
	}
	old := g.nearby
	g.nearby = &nearby{old.local, anchors}
	other, closer := g.other(r, beyond)
	if barred = append(barred, closer...); other != "" {
		g.anchors = append(g.anchors, other)
	}
	if n := len(g.anchors); n <= len(g.local) && slices.Equal(g.anchors, g.local[:n]) {
		g.anchors = g.local[:n:n] // the common case, kept once
	}
	moved := !slices.Equal(old.anchors, g.anchors)
	alike := g.alikeIn(r)
	changed := moved || unsure != g.unsure || alike != g.alike || !slices.Equal(barred, heard.barred)
	if moved {
		g.moved(now)
		g.edge = placeOfPeer(anchors[len(anchors)-1]).Head() ^ g.place
	} else {
		g.nearby = old
	}
	g.unsure, g.alike = unsure, alike
	if len(barred) > 0 || len(heard.barred) > 0 {
		g.hear().barred = barred
	}
	if g.heard().none() {
		g.more = nil
	}
	return changed
}

// moved notes when the anchors changed.
func (g *anchorSet) moved(at time.Time) { g.since = &at }

// stands is since when the anchors are these; zero = for so long that all has settled.
func (g *anchorSet) stands(now time.Time, settles time.Duration) (since time.Time) {
	if g.since != nil && now.Before(g.since.Add(settles)) {
		return *g.since
	}
	g.since = nil
	return since
}

// width is how many peers are asked of the router.
func (g *anchorSet) width() int {
	if g.wide {
		return wideCount
	}
	return nearestCount
}

// near lists the anchors and those who may become anchors.
func (g *anchorSet) near() []peer.ID { return slices.Concat(g.anchors, g.heard().barred) }

func (g *anchorSet) isAnchor(p peer.ID) bool { return slices.Contains(g.anchors, p) }

// concerns says whether it matters to the ring that p came or went.
func (g *anchorSet) concerns(r *peerTable, p placed) bool {
	return len(g.anchors) < anchorCount || g.edge >= p.at.Head()^g.place ||
		slices.Contains(g.heard().barred, p.peer) || g.toldBy(p.peer) >= 0 ||
		g.mayMove(r, p)
}

func compareIDs(a, b security.ClusterID) int { return bytes.Compare(a[:], b[:]) }

// ordered lists the values of a map in an order that does not depend on it.
func ordered[K comparable, V any](m map[K]V, compare func(K, K) int) []V {
	out := make([]V, 0, len(m))
	for _, k := range slices.SortedFunc(maps.Keys(m), compare) {
		out = append(out, m[k])
	}
	return out
}
