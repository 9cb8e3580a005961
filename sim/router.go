// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"context"
	"slices"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"

	"github.com/arke-mesh/arke/overlay"
)

// router implements overlay.Router for one process: a Kademlia table that is
// fed by connections, by its own lookups and by those of others. Questions
// between routers take time but no messages of their own; a peer that is cut
// off or lost without a word makes a lookup as slow as a dial's timeout.
type router struct {
	p   *process
	rng *pcg // of latencies

	// Guarded by Network.mu.
	table    table
	onChange []func()
	changed  bool   // OnChange is about to be called
	refresh  *event // the next look for neighbours
	looked   int64  // when the last one was
	surveys  uint64
	round    int // of surveys
	lookups  uint64
	waiting  []*search // whose callers block
}

var _ overlay.Router = (*router)(nil)

// surveyWidth is how wide a lookup is that only looks who is there.
const surveyWidth = 8

// search is one call of Closest.
type search struct {
	done   chan struct{}
	begun  bool
	result lookup
}

func newRouter(p *process) *router {
	return &router{
		p:     p,
		rng:   newPCG(p.n.cfg.Seed, "router", p.host.name),
		table: table{self: p.host.place},
	}
}

// OnChange implements overlay.Router.
func (r *router) OnChange(f func()) {
	r.p.n.mu.Lock()
	defer r.p.n.mu.Unlock()
	r.onChange = append(r.onChange, f)
}

// Size implements overlay.Router.
func (r *router) Size() int {
	r.p.n.mu.Lock()
	defer r.p.n.mu.Unlock()
	return r.table.size
}

// Nearest implements overlay.Router.
func (r *router) Nearest(k overlay.Key, count int) []peer.ID {
	r.p.n.mu.Lock()
	defer r.p.n.mu.Unlock()
	return ids(r.table.nearest(nil, r.aim(overlay.PlaceOf(k[:])), count))
}

// Closest implements overlay.Router.
func (r *router) Closest(ctx context.Context, k overlay.Key, count int) ([]peer.ID, error) {
	n := r.p.n
	target := overlay.PlaceOf(k[:])
	s := &search{done: make(chan struct{})}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.stopped || r.p.state != stateUp {
		return ids(r.table.nearest(nil, target, count)), ErrDown
	}
	r.lookups++
	number := r.lookups
	r.waiting = append(r.waiting, s)
	event := r.p.key(kindLookup, 0, number)
	event.name = string(k[:])
	n.after(0, event, func() { r.begin(s, target, count, number) })
	err := n.await(ctx, s.done)
	if !s.begun {
		return ids(r.table.nearest(nil, target, count)), err
	}
	return ids(s.result.found), err
}

// begin walks the tables of the others as they are now; what comes of it is
// learned, and told to the caller, when the answers would be there.
func (r *router) begin(s *search, target overlay.Place, count int, number uint64) {
	s.result = r.walk(target, max(count, bucketSize))
	s.result.found = s.result.found[:min(count, len(s.result.found))]
	s.begun = true
	r.p.n.after(r.duration(s.result), r.p.key(kindFound, 0, number), func() {
		r.learn(s.result)
		r.finish(s)
	})
}

func (r *router) walk(target overlay.Place, width int) lookup {
	target = r.aim(target)
	l := walk(&r.table, target, width, func(list []*place, to *place) ([]*place, answer) { return r.ask(list, to, target) })
	return r.remember(l, target, width)
}

// finish lets the caller of s return.
func (r *router) finish(s *search) {
	if i := slices.Index(r.waiting, s); i >= 0 {
		r.waiting = slices.Delete(r.waiting, i, i+1)
		close(s.done)
	}
}

// ask asks one peer for whom it knows closest to target, and appends them to
// list.
func (r *router) ask(list []*place, to *place, target overlay.Place) ([]*place, answer) {
	h := to.host
	q := h.proc
	switch {
	case r.p.n.severed(r.p.host, h), h.paused, q != nil && q.state == stateSilent:
		return list, silent
	case !q.up(), !r.p.n.both(r.p.host, h):
		return list, refused
	}
	return q.router.table.nearest(list, q.router.aim(target), bucketSize), answered
}

// duration is how long a lookup takes: a round trip for each round.
func (r *router) duration(l lookup) time.Duration {
	c := r.p.n.cfg
	usual := r.usual(l)
	d := time.Duration(l.rounds) * 2 * usual.Base
	if j := uint64(l.rounds) * uint64(usual.Jitter); j > 0 {
		d += time.Duration(r.rng.below(j))
	}
	if l.hung || r.p.host.fault == RouterSlow {
		d += c.DialTimeout
	}
	return d
}

// usual is the mean latency between this node and those that a lookup asks.
func (r *router) usual(l lookup) Latency {
	n := r.p.n
	if n.cfg.Link == nil {
		return n.cfg.Latency
	}
	var sum Latency
	for _, list := range [][]*place{l.asked, l.dead} {
		for _, p := range list {
			m := n.modelled(r.p.host, p.host)
			sum.Base += m.Latency
			sum.Jitter += m.Jitter
		}
	}
	count := time.Duration(max(1, len(l.asked)+len(l.dead)))
	return Latency{Base: sum.Base / count, Jitter: sum.Jitter / count}
}

// learn takes a lookup's result over: who answered is known on both sides.
func (r *router) learn(l lookup) {
	for _, p := range l.dead {
		r.forget(p)
	}
	for _, p := range l.asked {
		h := p.host
		if h.proc.up() && !r.p.n.severed(r.p.host, h) {
			r.meet(h)
			h.proc.router.meet(r.p.host)
		}
	}
}

// meet learns of a host and how to dial it.
func (r *router) meet(h *host) {
	if !r.p.up() {
		return
	}
	r.p.book.add(h)
	if r.table.add(h.place) {
		h.knownAt.add(r.p.host)
		r.notify()
	}
}

// forget removes a peer.
func (r *router) forget(p *place) {
	if r.p.host.fault != RouterStale && r.table.remove(p) {
		r.notify()
	}
}

// connected learns of a peer to which a connection stands now, and looks for
// neighbours soon, but not twice in a short time: that is how a new node
// becomes known.
func (r *router) connected(h *host) {
	r.meet(h)
	soon := r.p.n.now() + int64(time.Millisecond)
	if r.looked > 0 {
		soon = max(soon, r.looked+int64(time.Second))
	}
	if r.refresh == nil || r.refresh.at > soon {
		r.lookAround(time.Duration(soon - r.p.n.now()))
	}
}

// disconnected forgets a peer whose last connection is gone.
func (r *router) disconnected(h *host) { r.forget(h.place) }

// survey looks for the own id, and into those parts of the key space of which
// too little is known, as kad-dht refreshes its buckets: without the latter,
// the two halves of the key space would know of each other by accident only.
func (r *router) survey() []lookup {
	found := []lookup{r.walk(r.p.host.place.at, bucketSize)}
	for _, target := range r.table.gaps(r.rng.read) {
		found = append(found, r.walk(target, surveyWidth))
	}
	return found
}

// lookAround plans the next survey.
func (r *router) lookAround(wait time.Duration) {
	n := r.p.n
	n.cancel(r.refresh)
	r.refresh = n.after(wait, r.p.key(kindRefresh, 0, 0), func() {
		if r.p.state != stateUp {
			return
		}
		r.looked = n.now()
		for _, l := range r.survey() {
			r.surveys++
			n.after(r.duration(l), r.p.key(kindLearn, 0, r.surveys), func() { r.learn(l) })
		}
		wait := n.cfg.Refresh
		if r.round++; r.round <= 2 {
			wait = time.Second // what the first ones found shows where to look next
		}
		r.lookAround(wait)
	})
}

// notify has OnChange called once this instant is over.
func (r *router) notify() {
	if r.changed || len(r.onChange) == 0 {
		return
	}
	r.changed = true
	n := r.p.n
	n.soon(r.p.key(kindRouter, 0, 0), func() {
		n.mu.Lock()
		r.changed = false
		n.mu.Unlock()
		for _, f := range r.onChange {
			f()
		}
	})
}

// gone has everybody else notice that this process ended: who knew it had, in
// reality, a connection to it. After a loss without a word lookups find out.
func (r *router) gone(s state) {
	n := r.p.n
	n.cancel(r.refresh)
	if s == stateSilent {
		return
	}
	self := r.p.host.place
	for number := range r.p.host.knownAt.all() {
		h := n.numbered[number]
		if !h.proc.up() || !h.proc.router.table.has(self) {
			continue
		}
		q := h.proc
		n.after(n.modelled(r.p.host, h).Latency, q.key(kindLearn, r.p.host.index, r.p.incarnation), func() {
			if len(q.conns[r.p.host.index]) == 0 && !n.severed(r.p.host, h) {
				q.router.forget(self)
			}
		})
	}
}

// release lets every caller return when the network closes.
func (r *router) release() {
	for _, s := range r.waiting {
		close(s.done)
	}
	r.waiting = nil
}

func ids(list []*place) []peer.ID {
	out := make([]peer.ID, len(list))
	for i := range list {
		out[i] = list[i].id
	}
	return out
}

// What can be wrong with a router.
const (
	RouterSlow  = "slow"  // its lookups take Config.DialTimeout longer
	RouterStale = "stale" // it never forgets a peer, and answers with dead ones, too
	RouterWrong = "wrong" // it answers with any peers instead of the closest
)

// aim is the target that the router goes by. A wrong one always takes the same
// other point for it, so that nothing depends on who asks when.
func (r *router) aim(target overlay.Place) overlay.Place {
	if r.p.host.fault != RouterWrong {
		return target
	}
	return overlay.PlaceOf(append(target[:], r.p.host.place.at[:]...))
}

// remember adds the dead to a stale router's result.
func (r *router) remember(l lookup, target overlay.Place, width int) lookup {
	if r.p.host.fault == RouterStale && len(l.dead) > 0 {
		l.found = append(l.found, l.dead...)
		sortByDistance(l.found, target)
		l.found = l.found[:min(width, len(l.found))]
		l.dead = nil
	}
	return l
}

// answer is what a peer says to a lookup.
type answer uint8

const (
	answered answer = iota
	refused         // nobody listens there
	silent          // no answer at all
)

// lookup is the result of walking through the tables towards a target.
type lookup struct {
	found  []*place // closest first, at most width; only such as answered, and the owner
	asked  []*place // everybody who answered
	dead   []*place // everybody who did not
	hung   bool     // at least one of them was silent, not gone
	rounds int      // of questions asked at the same time
}

// parallel is how many peers a lookup asks at the same time.
const parallel = 3

// walk looks for the peers closest to target, from t on, until the closest
// width it has heard of were asked. ask appends what a peer knows to a list.
func walk(t *table, target overlay.Place, width int, ask func([]*place, *place) ([]*place, answer)) lookup {
	w := walker{target: target, head: target.Head(), width: width, self: t.self}
	w.list = t.nearest(make([]*place, 0, width+bucketSize), target, width)
	w.asked = make([]*place, 0, width+parallel)
	var heard []*place
	for {
		round := w.round()
		if len(round) == 0 {
			w.found = w.list
			return w.lookup
		}
		w.rounds++
		heard = heard[:0]
		for _, p := range round {
			var how answer
			heard, how = ask(heard, p)
			w.note(p, how)
		}
		for _, p := range heard {
			w.hear(p)
		}
		w.list = w.list[:min(width, len(w.list))]
	}
}

// walker is a lookup under way.
type walker struct {
	lookup
	target overlay.Place
	head   uint64
	width  int
	self   *place
	list   []*place // the closest ones heard of, sorted
	next   [parallel]*place
}

// round picks whom to ask next.
func (w *walker) round() []*place {
	round := w.next[:0]
	for _, p := range w.list {
		if p != w.self && !slices.Contains(w.asked, p) {
			if round = append(round, p); len(round) == parallel {
				break
			}
		}
	}
	return round
}

// note takes a peer's answer down.
func (w *walker) note(p *place, how answer) {
	if how == answered {
		w.asked = append(w.asked, p)
		return
	}
	w.dead = append(w.dead, p)
	w.hung = w.hung || how == silent
	w.list = slices.DeleteFunc(w.list, func(o *place) bool { return o == p })
}

// hear adds a peer to the list, if it is among the closest.
func (w *walker) hear(p *place) {
	i := len(w.list)
	for i > 0 && closer(p, w.list[i-1], &w.target, w.head) {
		i--
	}
	if i >= w.width || i > 0 && w.list[i-1] == p || slices.Contains(w.dead, p) {
		return
	}
	if len(w.list) >= w.width {
		w.list = w.list[:w.width-1]
	}
	w.list = slices.Insert(w.list, i, p)
}
