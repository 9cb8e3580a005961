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
	"github.com/arke-mesh/arke/patterns/pubsub/env"
	"github.com/arke-mesh/arke/patterns/pubsub/fanout"
)

// paths is what this node forwards, by session. A session has several paths:
// those that it was told of late, for messages may still come on the older ones.
type paths struct {
	*env.Base

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

	fanout.Fanout // its mu guards all below
	stops         []*fanout.Receiver
	found         []*fanout.Receiver // scratch
	picks         []wire.Pick        // scratch
}

func newPaths(b *env.Base) *paths {
	return &paths{
		Base:   b,
		all:    crowd.NewTable[sourceKey, peer.ID, []*path](env.MaxForwarded, b.Random.IntN),
		coming: crowd.NewTable[comingKey, peer.ID, coming](env.MaxForwarded, b.Random.IntN),
	}
}

// gather joins the parts of a path, and returns it when it is whole.
func (t *paths) gather(l env.Link, source peer.ID, p *wire.Path) *wire.Path {
	k := comingKey{l.Peer(), sourceKey{source, p.Session}}
	t.mu.Lock()
	defer t.mu.Unlock()
	before, known := t.coming.Get(k)
	if known && before.path.Epoch == p.Epoch && !begins(p, before.path) {
		p.Stops = append(before.path.Stops, p.Stops...)
	}
	t.coming.Delete(k)
	more := p.Flags&wire.FlagMore != 0
	if len(p.Stops) > env.MaxStops {
		t.Drops.Inc(env.DropPath)
		return nil
	}
	if !more {
		return p
	}
	gone, ok := t.coming.Put(k, l.Peer(), coming{p, t.Now()})
	if !ok {
		t.Drops.Inc(env.DropPath)
	} else if gone != nil {
		t.Drops.Inc(env.DropYielded)
	}
	return nil
}

// take takes in that this node is a forwarder.
func (t *paths) take(l env.Link, source peer.ID, p *wire.Path) {
	k := sourceKey{source, p.Session}
	over, ok := t.room(k, l.Peer())
	for _, o := range over {
		o.end()
	}
	if !ok {
		t.Drops.Inc(env.DropPath)
		return
	}
	g := newPath(t.Base, source, l, p)
	g.Mu.Lock() // whoever finds it waits until those behind it are told
	over, ok = t.use(k, l.Peer(), g)
	for _, o := range over {
		o.end()
	}
	if !ok {
		g.Mu.Unlock()
		t.Drops.Inc(env.DropPath)
		return
	}
	for _, b := range g.Tree.Branches {
		g.Settle(b.Head, 0)
	}
	g.Unlock()
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
		t.Drops.Inc(env.DropYielded)
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
		t.Drops.Inc(env.DropYielded)
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

func newPath(b *env.Base, source peer.ID, l env.Link, p *wire.Path) *path {
	g := &path{from: l.Peer(), inside: l.Session(), name: p.Epoch}
	g.Init(b, source, p.Session, p.Group, p.Flags&wire.FlagRoot != 0)
	g.Used, g.Patient = g.Now, env.IdleTime // later, who is behind it is no matter of ours
	g.Tree.Epoch, g.Tree.Lineage = p.Epoch, fanout.NewLineage(b.Self, p)
	for i, s := range p.Stops {
		g.stops = append(g.stops, &fanout.Receiver{
			Peer: peer.ID(s.Peer), Hash: env.HashNode(s.Peer), Addrs: s.Addrs, Incarnation: s.Incarnation, Interests: env.Legal(s.Interests),
			Run: s.Run, Base: s.Number, Number: s.Number + uint64(s.Ahead), At: i,
		})
	}
	g.Tree.Branches = fanout.Cut(slices.Clone(g.stops), env.FanOut)
	for _, b := range g.Tree.Branches {
		b.Epoch, b.Signed = p.Epoch, slices.Clone(b.Stops)
	}
	for i, s := range p.Stops {
		switch r := g.stops[i]; {
		case s.Ahead != wire.SkipLeft:
			g.Audience.Add(r)
		case r.Index >= 0:
			r.Branch.Stops[r.Index] = nil
			fallthrough
		default: // as the head of a branch it stays, for those behind it
			r.Interests, r.Number = nil, s.Number
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
		return cmp.Or(cmp.Compare(a.Source, b.Source), cmp.Compare(a.Session, b.Session), cmp.Compare(b.name, a.name))
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
func (t *paths) forward(l env.Link, source, publisher peer.ID, m *wire.Publish) {
	g := t.find(sourceKey{source, m.Session}, m.Epoch)
	if g == nil || g.from != l.Peer() || g.inside != l.Session() {
		t.Drops.Add(env.DropNoPath, uint64(m.Count))
		t.complain(l.Peer(), m.Session, m.Epoch, t.Self)
		return
	}
	g.Lock()
	defer g.Unlock()
	g.Used = g.Now
	g.apply(m.Skips)
	g.Counts.Forwarded.Add(uint64(m.Count))
	except := publisher
	if !g.Root {
		except = "" // it is not among the stops
	}
	o := fanout.Outgoing{Tree: true, Near: fanout.LabelOf(m), Far: fanout.LabelOf(m)}
	for rest := m.Messages; len(rest) > 0; {
		first, run, count := m.Cut(&rest)
		o.Count, o.Messages, o.Length = count, run, len(run)
		g.passOn(&o, first, except)
		if g.Root {
			o.Near.Origin.Serial += uint64(count)
			o.Far.Origin.Serial += uint64(count)
		}
	}
}

// passOn passes on messages that have the topic and the picks of the first one.
func (g *path) passOn(o *fanout.Outgoing, first wire.Message, except peer.ID) {
	w := g.Audience.MatchBytes(first.Topic)
	g.picks = first.Picks.AppendTo(g.picks[:0])
	o.Topic, o.Picks = w.Topic, g.picks
	rs := g.Audience.Receivers(w, o.Picks, except, g.found[:0])
	for _, r := range g.Sort(rs, true, nil) {
		if g.Direct(r, o) == fanout.Full {
			g.LeaveOut(r, o.Count)
			g.Drops.Add(env.DropForward, uint64(o.Count))
		}
	}
	for _, b := range g.Touched {
		if g.Through(o, b) == fanout.Full {
			for _, r := range b.Matched {
				g.LeaveOut(r, o.Count)
			}
			g.Drops.Add(env.DropForward, uint64(o.Count*len(b.Matched)))
		}
		b.Matched = b.Matched[:0]
	}
}

// passBack passes on, to where the path comes from, that a node is not reached: from
// one behind this node, about one behind it. Who says so of itself, and of no path,
// is shown its own again.
func (t *paths) passBack(l env.Link, m *wire.PathLost) {
	for _, g := range t.each() {
		if g.Session != m.Session || g.from == l.Peer() {
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
func (g *path) stop(p peer.ID) *fanout.Receiver {
	if i := slices.IndexFunc(g.stops, func(r *fanout.Receiver) bool { return r.Peer == p }); i >= 0 {
		return g.stops[i]
	}
	return nil
}

// hide has r shown its place again before the next message.
func (g *path) hide(r *fanout.Receiver) {
	g.Mu.Lock()
	defer g.Mu.Unlock()
	if r.Shown = 0; r.Leads() {
		r.Branch.Known = false
	}
}

// complain tells the one before us on a path that somebody is not reached. Where
// that has no room, the path is told anew sooner or later anyway.
func (t *paths) complain(to peer.ID, session uint64, epoch uint32, whom peer.ID) {
	m := wire.PathLost{Session: session, Epoch: epoch, Peer: string(whom)}
	_, _ = t.Cfg.Links.Link(to).Send(overlay.LanePub, wire.KindPathLost, m.AppendTo(nil))
}

// event takes in what happened to a link.
func (t *paths) event(ev overlay.PeerEvent) {
	for _, g := range t.each() {
		if g.event(ev) {
			t.complain(g.from, g.Session, g.name, ev.Peer)
		}
		if ev.Type == overlay.LinkDown && g.from == ev.Peer && g.Source == ev.Peer && !orderly(ev.Err) {
			g.tellGone()
		}
	}
}

// gone passes on that the source of a session is lost.
func (t *paths) gone(l env.Link, k sourceKey) {
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
		g.Mu.Lock()
		idle := now - g.Used
		g.Now = now
		g.Rest()
		g.Mu.Unlock()
		t.mu.Lock()
		k := sourceKey{g.Source, g.Session}
		of := t.get(k)
		over := len(of) > 0 && (idle > int64(env.StreamTime) || idle > int64(env.IdleTime) && g != of[len(of)-1])
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
		if now-c.told > int64(env.StreamTime) { // the rest of it never came
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
			r.Number += uint64(s.Add)
			r.PassBy(uint64(s.Add))
			continue
		}
		g.Audience.Remove(r)
		if r.Owed = false; !r.Direct() {
			r.Leave()
		}
	}
}

// event takes in what happened to a link, and says whether somebody behind it is
// not reached. Those are reached directly until there is another path, which
// takes as long as it takes to tell the source.
func (g *path) event(ev overlay.PeerEvent) (unreached bool) {
	g.Lock()
	defer g.Unlock()
	r := g.Fanout.Event(ev)
	if r == nil || ev.Type == overlay.LinkUp || ev.Type == overlay.LinkRecovered || !r.Leads() {
		return false
	}
	b := r.Branch
	for _, s := range b.Stops {
		if s != nil && s.Branch == b {
			if s.Pending != wire.SkipLeft {
				g.Owe(s)
			}
			s.Uproot()
		}
	}
	b.Stops, b.Signed, b.Skips, b.Known = nil, nil, nil, false
	return true
}

// tellGone tells those behind this node that the source is lost.
func (g *path) tellGone() {
	g.Lock()
	defer g.Unlock()
	if g.Now-g.Used > int64(env.IdleTime) {
		return
	}
	for _, r := range g.stops {
		if len(r.Interests) > 0 && r.Direct() {
			g.Settle(r, wire.FlagGone)
		}
	}
}

// end lets go of all links.
func (g *path) end() {
	g.Mu.Lock()
	defer g.Mu.Unlock()
	g.Debts = nil
	g.Fanout.End()
}
