// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package pubsub

import (
	"cmp"
	"slices"
	"sync"

	"github.com/libp2p/go-libp2p/core/peer"

	"github.com/arke-mesh/arke/internal/crowd"
	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/overlay"
)

// paths is what this node forwards, by session. A session has several paths:
// those that it was told of late, for messages may still come on the older ones.
type paths struct {
	*base

	mu     sync.Mutex
	all    *crowd.Table[sourceKey, peer.ID, []*path] // guarded by mu; by who told the first; of each the newest last
	coming *crowd.Table[comingKey, peer.ID, coming]  // guarded by mu; as many as all at most
}

// comingKey names a path that is not whole, and who tells it.
type comingKey struct {
	from peer.ID
	sourceKey
}

type coming struct {
	path *wire.Path
	told int64 // when the last part came
}

// maxPaths bounds the paths of one session.
const maxPaths = 4

// path is whom this node passes the messages of one path on to.
type path struct {
	// Immutable.
	from   peer.ID // who sends them
	inside uint64  // the session of the link that it was told in
	name   uint32  // its epoch

	fanout // its mu guards all below
	stops  []*receiver
	found  []*receiver // scratch
	picks  []wire.Pick // scratch
}

func newPaths(b *base) *paths {
	return &paths{
		base:   b,
		all:    crowd.NewTable[sourceKey, peer.ID, []*path](maxForwarded, b.random.IntN),
		coming: crowd.NewTable[comingKey, peer.ID, coming](maxForwarded, b.random.IntN),
	}
}

// gather joins the parts of a path, and returns it when it is whole.
func (t *paths) gather(l Link, source peer.ID, p *wire.Path) *wire.Path {
	k := comingKey{l.Peer(), sourceKey{source, p.Session}}
	t.mu.Lock()
	defer t.mu.Unlock()
	before, known := t.coming.Get(k)
	if known && before.path.Epoch == p.Epoch && !begins(p, before.path) {
		p.Stops = append(before.path.Stops, p.Stops...)
	}
	t.coming.Delete(k)
	more := p.Flags&wire.FlagMore != 0
	if len(p.Stops) > maxStops {
		t.drops.Inc(dropPath)
		return nil
	}
	if !more {
		return p
	}
	gone, ok := t.coming.Put(k, l.Peer(), coming{p, t.now()})
	if !ok {
		t.drops.Inc(dropPath)
	} else if gone != nil {
		t.drops.Inc(dropYielded)
	}
	return nil
}

// take takes in that this node is a forwarder.
func (t *paths) take(l Link, source peer.ID, p *wire.Path) {
	k := sourceKey{source, p.Session}
	over, ok := t.room(k, l.Peer())
	for _, o := range over {
		o.end()
	}
	if !ok {
		t.drops.Inc(dropPath)
		return
	}
	g := newPath(t.base, source, l, p)
	g.mu.Lock() // whoever finds it waits until those behind it are told
	over, ok = t.use(k, l.Peer(), g)
	for _, o := range over {
		o.end()
	}
	if !ok {
		g.mu.Unlock()
		t.drops.Inc(dropPath)
		return
	}
	for _, b := range g.tree.branches {
		g.settle(b.head, 0)
	}
	g.unlock()
}

// room says whether there is room for the paths of a session that by tells, and returns
// those of another one that has given way.
func (t *paths) room(k sourceKey, by peer.ID) (over []*path, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if _, there := t.all.Get(k); there {
		return nil, true
	}
	gone, ok := t.all.Put(k, by, nil)
	if gone != nil {
		t.drops.Inc(dropYielded)
		over = gone.Value
	}
	return over, ok
}

// use takes a path into use, and returns those that it takes the place of. It is false
// if the place that there was went to another session meanwhile, and there is none.
func (t *paths) use(k sourceKey, by peer.ID, g *path) (over []*path, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	of, there := t.all.Get(k)
	now, over := follow(of, g)
	if there {
		t.all.Set(k, now)
		return over, true
	}
	gone, ok := t.all.Put(k, by, now)
	if gone != nil {
		t.drops.Inc(dropYielded)
		over = append(over, gone.Value...)
	}
	return over, ok
}

// get returns the paths of a session. mu is held.
func (t *paths) get(k sourceKey) []*path {
	of, _ := t.all.Get(k)
	return of
}

// follow takes a path into use, and returns those that it takes the place of.
func follow(paths []*path, g *path) (now, over []*path) {
	paths = slices.DeleteFunc(paths, func(o *path) bool {
		if o.name == g.name {
			over = append(over, o)
		}
		return o.name == g.name
	})
	paths = append(paths, g)
	slices.SortFunc(paths, func(a, b *path) int { return cmp.Compare(a.name, b.name) })
	if n := len(paths) - maxPaths; n > 0 {
		over = append(over, paths[:n]...)
		paths = slices.Delete(paths, 0, n)
	}
	return paths, over
}

// begins says whether p is told from the beginning again, because something
// came between: its stops are among those that came before.
func begins(p, before *wire.Path) bool {
	return len(p.Stops) > 0 && slices.ContainsFunc(before.Stops, func(s wire.Stop) bool { return s.Peer == p.Stops[0].Peer })
}

func newPath(b *base, source peer.ID, l Link, p *wire.Path) *path {
	g := &path{from: l.Peer(), inside: l.Session(), name: p.Epoch}
	g.init(b, source, p.Session, p.Group, p.Flags&wire.FlagRoot != 0)
	g.used, g.patient = g.now, idleTime // later, who is behind it is no matter of ours
	g.tree.epoch, g.tree.lineage = p.Epoch, newLineage(b.self, p)
	for i, s := range p.Stops {
		g.stops = append(g.stops, &receiver{
			peer: peer.ID(s.Peer), hash: hashNode(s.Peer), addrs: s.Addrs, incarnation: s.Incarnation, interests: legal(s.Interests),
			run: s.Run, base: s.Number, number: s.Number + uint64(s.Ahead), at: i,
		})
	}
	g.tree.branches = cut(slices.Clone(g.stops), fanOut)
	for _, b := range g.tree.branches {
		b.epoch, b.signed = p.Epoch, slices.Clone(b.stops)
	}
	for i, s := range p.Stops {
		switch r := g.stops[i]; {
		case s.Ahead != wire.SkipLeft:
			g.audience.add(r)
		case r.index >= 0:
			r.branch.stops[r.index] = nil
			fallthrough
		default: // as the head of a branch it stays, for those behind it
			r.interests, r.number = nil, s.Number
		}
	}
	return g
}

// find returns the path of that name, or nil.
func (t *paths) find(k sourceKey, name uint32) *path {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, g := range t.get(k) {
		if g.name == name {
			return g
		}
	}
	return nil
}

// each returns all paths in a fixed order.
func (t *paths) each() (out []*path) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, of := range t.all.All() {
		out = append(out, of...)
	}
	slices.SortFunc(out, func(a, b *path) int {
		return cmp.Or(cmp.Compare(a.source, b.source), cmp.Compare(a.session, b.session), cmp.Compare(b.name, a.name))
	})
	return out
}

func (t *paths) count() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.all.Len() + t.coming.Len()
}

// forward passes messages on, as they came. It never waits: who has no room sees
// a gap. What was told in an earlier session of the link counts no more: something
// may be missing since.
func (t *paths) forward(l Link, source, publisher peer.ID, m *wire.Publish) {
	g := t.find(sourceKey{source, m.Session}, m.Epoch)
	if g == nil || g.from != l.Peer() || g.inside != l.Session() {
		t.drops.Add(dropNoPath, uint64(m.Count))
		t.complain(l.Peer(), m.Session, m.Epoch, t.self)
		return
	}
	g.lock()
	defer g.unlock()
	g.used = g.now
	g.apply(m.Skips)
	g.counts.forwarded.Add(uint64(m.Count))
	except := publisher
	if !g.root {
		except = "" // it is not among the stops
	}
	o := outgoing{tree: true, near: labelOf(m), far: labelOf(m)}
	for rest := m.Messages; len(rest) > 0; {
		first, run, count := m.Cut(&rest)
		o.count, o.messages, o.length = count, run, len(run)
		g.passOn(&o, first, except)
		if g.root {
			o.near.origin.Serial += uint64(count)
			o.far.origin.Serial += uint64(count)
		}
	}
}

// passOn passes on messages that have the topic and the picks of the first one.
func (g *path) passOn(o *outgoing, first wire.Message, except peer.ID) {
	w := g.audience.matchBytes(first.Topic)
	g.picks = first.Picks.AppendTo(g.picks[:0])
	o.topic, o.picks = w.topic, g.picks
	rs := g.audience.receivers(w, o.picks, except, g.found[:0])
	for _, r := range g.sort(rs, true, nil) {
		if g.direct(r, o) == full {
			g.leaveOut(r, o.count)
			g.drops.Add(dropForward, uint64(o.count))
		}
	}
	for _, b := range g.touched {
		if g.through(o, b) == full {
			for _, r := range b.matched {
				g.leaveOut(r, o.count)
			}
			g.drops.Add(dropForward, uint64(o.count*len(b.matched)))
		}
		b.matched = b.matched[:0]
	}
}

// passBack passes on, to where the path comes from, that a node is not reached: from
// one behind this node, about one behind it. Who says so of itself, and of no path,
// is shown its own again.
func (t *paths) passBack(l Link, m *wire.PathLost) {
	for _, g := range t.each() {
		if g.session != m.Session || g.from == l.Peer() {
			continue
		}
		said, about := g.stop(l.Peer()), g.stop(peer.ID(m.Peer))
		switch {
		case said == nil || about == nil:
		case m.Epoch == 0 && said == about:
			g.hide(said)
		case g.name == m.Epoch:
			t.complain(g.from, m.Session, m.Epoch, peer.ID(m.Peer))
			return
		}
	}
}

// stop returns the node of that id behind this one, or nil.
func (g *path) stop(p peer.ID) *receiver {
	if i := slices.IndexFunc(g.stops, func(r *receiver) bool { return r.peer == p }); i >= 0 {
		return g.stops[i]
	}
	return nil
}

// hide has r shown its place again before the next message.
func (g *path) hide(r *receiver) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if r.shown = 0; r.leads() {
		r.branch.known = false
	}
}

// complain tells the one before us on a path that somebody is not reached. Where
// that has no room, the path is told anew sooner or later anyway.
func (t *paths) complain(to peer.ID, session uint64, epoch uint32, whom peer.ID) {
	m := wire.PathLost{Session: session, Epoch: epoch, Peer: string(whom)}
	_, _ = t.cfg.Links.Link(to).Send(overlay.LanePub, wire.KindPathLost, m.AppendTo(nil))
}

// event takes in what happened to a link.
func (t *paths) event(ev overlay.PeerEvent) {
	for _, g := range t.each() {
		if g.event(ev) {
			t.complain(g.from, g.session, g.name, ev.Peer)
		}
		if ev.Type == overlay.LinkDown && g.from == ev.Peer && g.source == ev.Peer && !orderly(ev.Err) {
			g.tellGone()
		}
	}
}

// gone passes on that the source of a session is lost.
func (t *paths) gone(l Link, k sourceKey) {
	t.mu.Lock()
	var newest *path
	if of := t.get(k); len(of) > 0 {
		newest = of[len(of)-1]
	}
	t.mu.Unlock()
	if newest != nil && newest.from == l.Peer() {
		newest.tellGone()
	}
}

// sweep forgets the paths on which nothing came for long, and says how many
// sessions are left.
func (t *paths) sweep(now int64) int {
	for _, g := range t.each() {
		g.mu.Lock()
		idle := now - g.used
		g.now = now
		g.rest()
		g.mu.Unlock()
		t.mu.Lock()
		k := sourceKey{g.source, g.session}
		of := t.get(k)
		over := len(of) > 0 && (idle > int64(streamTime) || idle > int64(idleTime) && g != of[len(of)-1])
		if over {
			if of = slices.DeleteFunc(of, func(o *path) bool { return o == g }); len(of) == 0 {
				t.all.Delete(k)
			} else {
				t.all.Set(k, of)
			}
		}
		t.mu.Unlock()
		if over {
			g.end()
		}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for k, c := range t.coming.All() {
		if now-c.told > int64(streamTime) { // the rest of it never came
			t.coming.Delete(k)
		}
	}
	return t.all.Len() + t.coming.Len()
}

// end lets go of everything.
func (t *paths) end() {
	for _, g := range t.each() {
		g.end()
	}
}

// apply takes in what the stops were sent on other ways.
func (g *path) apply(skips []wire.Skip) {
	for _, s := range skips {
		if int(s.Index) >= len(g.stops) {
			continue
		}
		r := g.stops[s.Index]
		if s.Add != wire.SkipLeft {
			r.number += uint64(s.Add)
			r.passBy(uint64(s.Add))
			continue
		}
		g.audience.remove(r)
		if r.owed = false; !r.direct() {
			r.leave()
		}
	}
}

// event takes in what happened to a link, and says whether somebody behind it is
// not reached. Those are reached directly until there is another path, which
// takes as long as it takes to tell the source.
func (g *path) event(ev overlay.PeerEvent) (unreached bool) {
	g.lock()
	defer g.unlock()
	r := g.fanout.event(ev)
	if r == nil || ev.Type == overlay.LinkUp || ev.Type == overlay.LinkRecovered || !r.leads() {
		return false
	}
	b := r.branch
	for _, s := range b.stops {
		if s != nil && s.branch == b {
			if s.pending != wire.SkipLeft {
				g.owe(s)
			}
			s.uproot()
		}
	}
	b.stops, b.signed, b.skips, b.known = nil, nil, nil, false
	return true
}

// tellGone tells those behind this node that the source is lost.
func (g *path) tellGone() {
	g.lock()
	defer g.unlock()
	if g.now-g.used > int64(idleTime) {
		return
	}
	for _, r := range g.stops {
		if len(r.interests) > 0 && r.direct() {
			g.settle(r, wire.FlagGone)
		}
	}
}

// end lets go of all links.
func (g *path) end() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.debts = nil
	g.fanout.end()
}
