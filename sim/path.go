// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"maps"
	"slices"
	"time"

	"github.com/arke-mesh/arke/sim/link"
)

// paths are those of the network: what they are like and what blocks those that
// do not exist yet. Guarded by Network.mu.
type paths struct {
	n      *Network
	blocks int    // paths that are blocked
	rules  []rule // for paths to come
	calm   bool   // paths to come lose nothing
}

// path is one direction between two hosts: its link, what blocks it, and what
// waits for that to end or for the bottleneck. Guarded by Network.mu.
type path struct {
	n        *Network
	from, to *host
	link     *link.Direction
	cut      bool    // what arrives is lost
	clogged  bool    // what arrives is held
	since    int64   // when the first of the two began
	conns    uint64  // connections dialled this way so far: their numbers
	corrupt  int     // deliveries that will be corrupted
	stalled  []*flow // that wait for this path to work again
	parcels  []*parcel
	pump     *event // the next parcel's turn
}

// blocked reports whether nothing passes.
func (p *path) blocked() bool { return p.cut || p.clogged }

// flight draws how long one message of a handshake takes; false means that it
// never arrives.
func (p *path) flight() (time.Duration, bool) {
	takes, broken := p.link.Flight()
	return takes, !broken
}

// parcel is what one stream wants to send on a path whose bottleneck is busy.
// The streams of a path take turns, so that nobody waits for another one's
// megabytes.
type parcel struct {
	s *stream
	delivery

	ending *conn // instead of a stream's: the end of a connection, after its streams
	sender int   // which end
}

// turn is how many bytes a stream sends before it is another one's turn.
const turn = 16 << 10

// narrow reports whether what is sent may have to wait for the bottleneck.
func (p *path) narrow() bool { return p.link.Model().Bounded() || len(p.parcels) > 0 }

// ship sends what a stream has to say, now or when the bottleneck has room.
func (p *path) ship(s *stream, d delivery) {
	now := time.Duration(p.n.now())
	switch {
	case s.parcel != nil:
		s.parcel.merge(d)
	case len(p.parcels) > 0 || len(d.data) > p.turn() || !p.link.Room(now, len(d.data)):
		s.parcel = &parcel{s: s, delivery: d, sender: s.end}
		p.parcels = append(p.parcels, s.parcel)
		p.feed()
	default:
		s.dispatch(d)
	}
}

// merge adds a later delivery of the same stream.
func (q *parcel) merge(d delivery) {
	if d.reset != nil {
		q.data, q.reset = nil, d.reset // what has not left never will
	}
	q.data = append(q.data, d.data...)
	q.end = q.end || d.end
}

func (p *path) turn() int {
	m := p.link.Model()
	if !m.Bounded() {
		return 1 << 30
	}
	return min(turn, m.Queue)
}

// feed gives parcels to the link while that has room, and plans to go on.
func (p *path) feed() {
	now := time.Duration(p.n.now())
	for len(p.parcels) > 0 && !p.blocked() && p.pump == nil {
		q := p.parcels[0]
		size := min(len(q.data), p.turn())
		if at := p.link.RoomAt(now, size); at > now {
			k := key{kind: kindPump, node: p.from.index, peer: p.to.index}
			p.pump = p.n.push(&event{at: int64(at), key: k, apply: p.goOn})
			return
		}
		p.parcels = p.parcels[1:]
		if p.hand(q, size) {
			p.parcels = append(p.parcels, q)
		}
	}
}

func (p *path) goOn() {
	p.n.mu.Lock()
	defer p.n.mu.Unlock()
	p.pump = nil
	p.feed()
}

// hand sends so many bytes of q and reports whether more is left.
func (p *path) hand(q *parcel, size int) bool {
	if c := q.ending; c != nil {
		if p.carries(c, q.sender) {
			return true
		}
		c.sendEnd(q.sender)
		return false
	}
	s := q.s
	if s.c.ends[s.end].state == stateSilent {
		s.parcel = nil
		return false // lost with its sender
	}
	if size < len(q.data) {
		s.dispatch(delivery{open: q.open, data: q.data[:size:size]})
		q.open, q.data = false, q.data[size:]
		return true
	}
	s.parcel = nil
	s.dispatch(q.delivery)
	s.wake(&s.writeBy)
	return false
}

// carries reports whether a stream of c has a parcel from that end.
func (p *path) carries(c *conn, end int) bool {
	for _, q := range p.parcels {
		if q.s != nil && q.s.c == c && q.s.end == end {
			return true
		}
	}
	return false
}

// flow is one direction of a connection: what its sender sent and the other
// end has not got yet, in order. Guarded by Network.mu.
type flow struct {
	c      *conn
	end    int // the sender's
	link   link.Flow
	flight []*event

	stalled bool  // is in a path's stalled, or about to try again: nothing is sent
	lost    int64 // when the oldest was sent that got lost; -1 = it is only held
	unheard int64 // since when acknowledgements are lost
	dead    bool  // the sender has given up
}

func (f *flow) own() *path  { return f.c.path(f.end) }
func (f *flow) back() *path { return f.c.path(1 - f.end) }

// send queues the arrival at the other end of something that is sent now,
// behind all that was sent before.
func (f *flow) send(k key, size int, sum uint64, arrive func()) {
	if f.dead && k.kind != kindConnDown {
		return
	}
	e := &event{key: k, size: size, sum: sum}
	e.apply = func() {
		f.c.n.mu.Lock()
		defer f.c.n.mu.Unlock()
		if f.stalled {
			return // it is sent again
		}
		if p := f.own(); p.blocked() {
			f.stall(p, f.c.n.now()-int64(p.link.Model().Latency), p.cut)
			return
		}
		if f.arrived(e) {
			arrive()
			f.c.bounce(f.end)
		}
	}
	f.flight = append(f.flight, e)
	f.schedule(e)
}

// arrived takes e out of the flight; false means that the connection ends here
// and now instead, because a bit of e was flipped.
func (f *flow) arrived(e *event) bool {
	if i := slices.Index(f.flight, e); i == 0 {
		f.flight = f.flight[1:]
	} else if i > 0 {
		f.flight = slices.Delete(f.flight, i, i+1)
	}
	p := f.own()
	if p.corrupt == 0 || e.key.kind != kindData {
		return true
	}
	p.corrupt--
	f.c.n.soon(f.c.key(kindCorrupt, 1-f.end, 0), func() {})
	f.c.breakEnd(1-f.end, ErrConnLost, true)
	return false
}

// schedule gives e to the link.
func (f *flow) schedule(e *event) {
	if f.stalled || f.dead && e.key.kind != kindConnDown {
		return
	}
	n := f.c.n
	if back := f.back(); back.cut && f.deaf(back) {
		f.stall(back, f.unheard, true)
		return
	}
	size := 0
	if e.key.kind == kindData {
		size = e.size
	}
	arrive, broken := f.own().link.Send(&f.link, time.Duration(n.now()), size)
	e.at = int64(arrive)
	if broken && !f.dead {
		f.giveUp(e.at)
		return
	}
	n.push(e)
}

// deaf reports whether the sender has waited in vain for so long for the
// first acknowledgement which the cut of the way back swallowed that it sends
// nothing new.
func (f *flow) deaf(back *path) bool {
	now := f.c.n.now()
	if f.unheard < back.since {
		f.unheard = now
	}
	return now >= f.unheard+int64(f.own().link.Model().RTO())
}

// stall has f wait for p, which is not its own if the way back is cut.
func (f *flow) stall(p *path, sent int64, lost bool) {
	f.stalled = true
	f.lost = -1
	if lost {
		f.lost = max(0, sent)
	}
	p.stalled = append(p.stalled, f)
}

// resume plans the next attempt, now that the path it waits for works: at the
// sender's next retransmission if something was lost.
func (f *flow) resume() {
	n, wait := f.c.n, time.Duration(0)
	if now := time.Duration(n.now()); f.lost >= 0 {
		wait = f.link.Resume(f.own().link.Model(), time.Duration(f.lost), now) - now
	}
	n.after(wait, f.c.key(kindRetry, f.end, 0), f.retry)
}

// retry sends everything again that has not arrived.
func (f *flow) retry() {
	own, back := f.own(), f.back()
	switch {
	case own.blocked():
		own.stalled = append(own.stalled, f)
		return
	case back.cut:
		back.stalled = append(back.stalled, f)
		return
	}
	f.stalled = false
	f.link.Reset()
	for _, e := range f.flight {
		if !e.parked { // else it has passed the path, and waits for a paused node
			f.c.n.cancel(e)
			f.schedule(e)
		}
	}
}

// giveUp ends the connection: one of its packets was lost too often.
func (f *flow) giveUp(at int64) {
	f.dead = true
	f.c.n.after(time.Duration(at-f.c.n.now()), f.c.key(kindGaveUp, f.end, 0), func() {
		f.link.Reset()
		f.flight = nil
		f.c.breakEnd(f.end, ErrConnLost, false)
		f.c.ended[f.end] = false // what told of it may be what was lost
		f.c.end(f.end)
	})
}

// path returns the path from a to b.
func (x *paths) path(a, b *host) *path {
	p := a.paths[b.index]
	if p == nil {
		p = &path{n: x.n, from: a, to: b, link: link.NewDirection(x.model(a, b), x.n.cfg.Seed, a.name, b.name)}
		p.cut, p.clogged = x.ruled(a, b)
		p.since = x.n.now()
		if p.blocked() {
			x.blocks++
		}
		a.paths[b.index] = p
	}
	return p
}

// model is what a new path from a to b has.
func (x *paths) model(a, b *host) link.Model {
	if a.local || b.local {
		return link.Model{Latency: localLatency}
	}
	m := link.Model{Latency: x.n.cfg.Latency.Base, Jitter: x.n.cfg.Latency.Jitter}
	if x.n.cfg.Link != nil {
		m = x.n.cfg.Link(a.name, b.name)
	}
	if x.calm {
		m.Loss = 0
	}
	return m
}

// SetLinks says how links behave that no node has used yet, in the place of
// Config.Link. of must not block.
func (x *paths) SetLinks(of func(from, to string) link.Model) {
	x.n.mu.Lock()
	defer x.n.mu.Unlock()
	x.n.cfg.Link = of
}

// modelled is the model of the path from a to b, which need not exist.
func (x *paths) modelled(a, b *host) link.Model {
	if p := a.paths[b.index]; p != nil {
		return p.link.Model()
	}
	return x.model(a, b)
}

func (x *paths) bothWays(a, b string, f func(*path)) {
	ha, hb := x.n.host(a), x.n.host(b)
	f(x.path(ha, hb))
	f(x.path(hb, ha))
}

// ruled applies the rules to a new path.
func (x *paths) ruled(a, b *host) (cut, clogged bool) {
	for _, r := range x.rules {
		switch {
		case !r.from[a.index] || !r.to[b.index]:
		case r.clog:
			clogged = r.on
		default:
			cut = r.on
		}
	}
	return cut, clogged
}

// severed reports whether nothing passes between two hosts, one way or the
// other: both are needed for a connection. It makes no path.
func (x *paths) severed(a, b *host) bool {
	if x.blocks == 0 && len(x.rules) == 0 {
		return false
	}
	return x.deadEnd(a, b) || x.deadEnd(b, a)
}

func (x *paths) deadEnd(a, b *host) bool {
	if p := a.paths[b.index]; p != nil {
		return p.blocked()
	}
	cut, clogged := x.ruled(a, b)
	return cut || clogged
}

func (x *paths) heal() {
	x.rules = nil
	if x.blocks == 0 {
		return
	}
	for _, h := range x.n.hosts {
		for _, p := range h.sortedPaths() {
			p.block(false, false)
			p.block(true, false)
		}
	}
}

// block blocks or frees the paths from one set of nodes to another one.
func (x *paths) block(from, to []string, clog, on bool) {
	few := len(from)*len(to) <= fewPaths
	r := rule{from: x.indexes(from), to: x.indexes(to), clog: clog, on: on}
	for _, index := range slices.Sorted(maps.Keys(r.from)) {
		a := x.n.byIndex[index]
		if few {
			for _, name := range to {
				if b := x.n.host(name); a != b {
					x.path(a, b)
				}
			}
		}
		for _, p := range a.sortedPaths() {
			if r.to[p.to.index] {
				p.block(clog, on)
			}
		}
	}
	if !few {
		x.rules = append(x.rules, r)
	}
}

func (x *paths) indexes(names []string) map[uint32]bool {
	set := make(map[uint32]bool, len(names))
	for _, name := range names {
		set[x.n.host(name).index] = true
	}
	return set
}
