// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package tunnel

import (
	"cmp"
	"hash/fnv"
	"slices"
	"sync"

	"github.com/libp2p/go-libp2p/core/peer"

	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/overlay"
	"github.com/arke-mesh/arke/patterns/request"
)

// remote is what the engine keeps for one peer, as long as there is a tunnel to
// or from it.
type remote struct {
	// Immutable.
	engine *Engine
	id     peer.ID
	text   string // id, as programs see it
	key    uint64 // for Exec
	link   request.Link
	outlet outlet
	// recycle takes the memory of a chunk that nobody looks at any more.
	recycle func(chunk []byte)

	// Guarded by the engine's mu.
	opened  map[uint64]*Tunnel // from here, by id
	served  map[uint64]*Tunnel // from there, by id
	joining int                // that get what came early

	holding sync.Mutex
	release func() // guarded by holding; not nil while the link is held
	dropped bool   // guarded by holding; it will not be used any more
}

// recycler is a link that reads into the memory of chunks again.
type recycler interface{ Recycle(chunk []byte) }

func newRemote(e *Engine, id peer.ID) *remote {
	h := fnv.New64a()
	h.Write([]byte(id))
	r := &remote{
		engine: e, id: id, text: id.String(), key: h.Sum64(), link: e.cfg.Links.Link(id),
		opened: make(map[uint64]*Tunnel), served: make(map[uint64]*Tunnel),
	}
	r.outlet.remote = r
	r.recycle = func([]byte) {}
	if l, ok := r.link.(recycler); ok {
		r.recycle = l.Recycle
	}
	return r
}

// table is where the tunnels are that this side, or the other one, opened.
func (r *remote) table(flags uint8) map[uint64]*Tunnel {
	if flags&wire.FlagOpener != 0 {
		return r.opened
	}
	return r.served
}

// hold has heartbeats run, so that a peer that hangs is noticed.
func (r *remote) hold() {
	r.holding.Lock()
	held := r.release != nil || r.dropped
	if !held {
		r.release = func() {} // claims it: nothing is called with the mutex held
	}
	r.holding.Unlock()
	if held {
		return
	}
	release := r.link.Hold()
	r.holding.Lock()
	dropped := r.dropped
	r.release = release
	r.holding.Unlock()
	if dropped {
		release()
	}
}

// letGo ends that.
func (r *remote) letGo() {
	r.holding.Lock()
	release := r.release
	r.dropped = true
	r.holding.Unlock()
	if release != nil {
		release()
	}
}

// remoteLocked returns what is kept for a peer. e.mu is held.
func (e *Engine) remoteLocked(p peer.ID) *remote {
	r := e.remotes[p]
	if r == nil {
		r = newRemote(e, p)
		e.remotes[p] = r
	}
	return r
}

// remove forgets a tunnel, and its peer with the last one.
func (r *remote) remove(t *Tunnel) {
	e := r.engine
	e.mu.Lock()
	delete(r.table(t.flags), t.id)
	last := len(r.opened)+len(r.served)+r.joining == 0 && e.remotes[r.id] == r
	if last {
		delete(e.remotes, r.id)
	}
	e.mu.Unlock()
	if last {
		r.letGo()
	}
}

// find returns the tunnel that a frame from p belongs to, or nil. A frame of a
// tunnel that is being opened is kept for it.
func (e *Engine) find(p peer.ID, k wire.Kind, id uint64, flags uint8, body []byte) (t *Tunnel, kept bool) {
	e.mu.RLock()
	if r := e.remotes[p]; r != nil {
		t = r.table(flags ^ wire.FlagOpener)[id]
	}
	early := t == nil && flags&wire.FlagOpener == 0 && e.openings[id] != nil
	e.mu.RUnlock()
	if early && e.keepEarly(p, k, id, body) {
		return nil, true
	} else if early { // it is open meanwhile
		return e.find(p, k, id, flags, body)
	}
	// Of a tunnel that has ended here meanwhile a reset, credit, or the word that
	// nobody receives any more is nothing lost.
	if t == nil && (k == wire.KindTunnelData || k == wire.KindTunnelEnd && flags&wire.FlagClosed == 0) {
		e.drops.Inc(dropUnknown)
		if flags&wire.FlagOpener == 0 {
			// Its opening was given up before the member's answer came. The
			// member need not wait for a word until the opening's deadline.
			e.disown(p, id)
		}
	}
	return t, false
}

// disown tells a member that nobody here has the tunnel. If that finds no room,
// the opener's silence says so later.
func (e *Engine) disown(p peer.ID, id uint64) {
	m := wire.TunnelReset{ID: id, Flags: wire.FlagOpener, Cause: wire.CauseInterrupted}
	_, _ = e.cfg.Links.Link(p).SendWait(e.atOnce, overlay.LaneCtl, wire.KindTunnelReset, m.AppendTo(nil))
}

// tunnelsOf lists the tunnels that f agrees to, in the order of their numbers.
func (e *Engine) tunnelsOf(f func(*Tunnel) bool) []*Tunnel {
	var out []*Tunnel
	e.mu.RLock()
	for _, r := range e.remotes {
		for _, table := range [...]map[uint64]*Tunnel{r.opened, r.served} {
			for _, t := range table {
				if f(t) {
					out = append(out, t)
				}
			}
		}
	}
	e.mu.RUnlock()
	slices.SortFunc(out, func(a, b *Tunnel) int { return cmp.Compare(a.number, b.number) })
	return out
}
