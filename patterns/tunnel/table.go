// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package tunnel

import (
	"cmp"
	"maps"
	"slices"
	"sync"

	"github.com/libp2p/go-libp2p/core/peer"

	"github.com/arke-mesh/arke/cluster"
	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/overlay"
	"github.com/arke-mesh/arke/patterns"
)

// endpoint is what a frame of a tunnel is for: the tunnel of a program here, or
// one side of a spliced one.
type endpoint interface {
	base() *port
	// hear takes in a frame, and says whether its body is in use still. It is
	// not called by two goroutines at once.
	hear(k wire.Kind, body []byte) (kept bool)
	// end ends the tunnel at once and tells the other side the cause; err is
	// how it ended here.
	end(cause wire.TunnelCause, err error)
	// lose ends it because the other side is lost, or this one stops.
	lose(err error)
	gone() bool // it is over
}

// port is how an endpoint reaches its other side.
type port struct {
	codec
	engine  *Engine
	remote  *remote
	place   *place // nil at a client's side of a spliced tunnel
	number  uint64 // of the tunnel, on this node
	session uint64 // of the link
}

func (p *port) base() *port { return p }

// turn is the turn of a goroutine that calls a method of the tunnel.
func (p *port) turn(name string) { p.engine.turns.Take(name, p.number) }

func (p *port) wake(name string, f func()) { p.engine.wake(name, p.number, f) }

// sendCredit tells the other side how much it was given in total. One that
// overtakes a smaller total makes that one pointless; so many can't stand in line
// that it mattered, since each is for a part of a window that was read.
func (p *port) sendCredit(total uint64) { p.sayCredit(total, 0) }

// sendReturn tells the other side how much of that is given back in total.
func (p *port) sendReturn(total uint64) { p.sayCredit(total, wire.FlagReturned) }

func (p *port) sayCredit(total uint64, flags uint8) {
	f := p.engine.frames.get()
	p.credit(f, total, flags)
	p.remote.say(overlay.LaneCtl, wire.KindTunnelCredit, f.parts[:1]...)
	p.engine.frames.put(f)
}

func (p *port) sendReset(m wire.TunnelReset) {
	p.remote.say(overlay.LaneCtl, wire.KindTunnelReset, p.reset(m))
}

// table knows all tunnels of a node and who they are with. Methods may be called
// concurrently.
type table struct {
	mu       sync.RWMutex // guards what follows
	peers    map[peer.ID]*remote
	clients  map[*Hop]struct{}
	openings map[uint64]*opening // by id
	places   map[cluster.MemberID]*place
	draining bool
	closed   bool
}

// place counts the tunnels of one local member, or, as that of member 0, those
// that were opened here.
type place struct {
	id      cluster.MemberID
	open    int // that are not over, or whose handlers have not returned
	leaving bool
	idle    chan struct{} // closed when none is left; nil = nobody waits
}

// openedHere is the place of tunnels that were opened here.
const openedHere = cluster.MemberID(0)

func newTable() table {
	return table{
		peers: make(map[peer.ID]*remote), clients: make(map[*Hop]struct{}),
		openings: make(map[uint64]*opening), places: make(map[cluster.MemberID]*place),
	}
}

// take takes a place if fewer than limit are taken.
func (t *table) take(id cluster.MemberID, limit int) (*place, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	p := t.places[id]
	switch {
	case t.closed, id != openedHere && (t.draining || p != nil && p.leaving):
		return nil, patterns.ErrClosed
	case p == nil && limit <= 0, p != nil && p.open >= limit:
		return nil, patterns.ErrOverloaded
	case p == nil:
		p = &place{id: id}
		t.places[id] = p
	}
	p.open++
	return p, nil
}

// leave gives a place back, and returns what to close because it was the last.
func (t *table) leave(p *place) (idle chan struct{}) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if p.open--; p.open > 0 {
		return nil
	}
	delete(t.places, p.id)
	return p.idle
}

// idle returns what is closed when the last tunnel of the place is over; nil =
// there is none.
func (t *table) idle(id cluster.MemberID) <-chan struct{} {
	t.mu.Lock()
	defer t.mu.Unlock()
	p := t.places[id]
	if p == nil {
		return nil
	}
	p.leaving = true
	if p.idle == nil {
		p.idle = make(chan struct{})
	}
	return p.idle
}

// close, and drain, refuse what is new.
func (t *table) close() {
	t.mu.Lock()
	t.closed = true
	t.mu.Unlock()
}

// drain returns the members that have tunnels, in order.
func (t *table) drain() []cluster.MemberID {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.draining = true
	return slices.DeleteFunc(slices.Sorted(maps.Keys(t.places)), func(id cluster.MemberID) bool { return id == openedHere })
}

// add puts an endpoint in its place among those of its remote. False: the id is
// taken.
func (t *table) add(e endpoint) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	p := e.base()
	tunnels := p.remote.tunnels(p.flags)
	if tunnels[p.id] != nil {
		return false
	}
	tunnels[p.id] = e
	return true
}

// join returns what is kept for a peer, which stays until left is called.
func (t *table) join(id peer.ID, make func() *remote) *remote {
	t.mu.Lock()
	defer t.mu.Unlock()
	r := t.peers[id]
	if r == nil {
		r = make()
		t.peers[id] = r
	}
	r.joining++
	return r
}

// left is called once for each join. It lets go of a peer that has no tunnels.
func (t *table) left(r *remote) {
	t.mu.Lock()
	r.joining--
	last := t.dropLocked(r)
	t.mu.Unlock()
	if last {
		r.letGo()
	}
}

// remove forgets an endpoint, and its peer with the last one.
func (t *table) remove(e endpoint) {
	p := e.base()
	t.mu.Lock()
	if tunnels := p.remote.tunnels(p.flags); tunnels[p.id] == e {
		delete(tunnels, p.id)
	}
	last := t.dropLocked(p.remote)
	t.mu.Unlock()
	if last {
		p.remote.letGo()
	}
}

func (t *table) dropLocked(r *remote) bool {
	last := r.unused() && r.link != nil && t.peers[r.id] == r
	if last {
		delete(t.peers, r.id)
	}
	return last
}

// find returns the endpoint that a frame of a peer with these flags is for, or
// nil; and whether it may be for a tunnel that is being opened.
func (t *table) find(r *remote, p peer.ID, id uint64, flags uint8) (e endpoint, opening bool) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	if r == nil {
		r = t.peers[p]
	}
	if r != nil {
		e = r.tunnels(flags ^ wire.FlagOpener)[id]
	}
	return e, e == nil && flags&wire.FlagOpener == 0 && t.openings[id] != nil
}

// all lists the endpoints that f agrees to, in the order of their numbers.
func (t *table) all(f func(p *port) bool) []endpoint {
	var out []endpoint
	look := func(r *remote) {
		for _, tunnels := range [...]map[uint64]endpoint{r.opened, r.served} {
			for _, e := range tunnels {
				if f(e.base()) {
					out = append(out, e)
				}
			}
		}
	}
	t.mu.RLock()
	for _, r := range t.peers {
		look(r)
	}
	for l := range t.clients {
		look(l.remote)
	}
	t.mu.RUnlock()
	slices.SortFunc(out, func(a, b endpoint) int {
		return cmp.Or(cmp.Compare(a.base().number, b.base().number), cmp.Compare(a.base().flags, b.base().flags))
	})
	return out
}

// status describes the tunnels there are.
func (t *table) status() (s Status) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	for id, p := range t.places {
		if id == openedHere {
			s.Opened = p.open
		} else {
			s.Served += p.open
		}
	}
	for _, r := range t.peers {
		s.UnsentBytes += int(r.inLine.Load())
	}
	for l := range t.clients {
		s.UnsentBytes += int(l.remote.inLine.Load())
	}
	return s
}
