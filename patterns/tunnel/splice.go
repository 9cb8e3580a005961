// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package tunnel

import (
	"bytes"
	"errors"
	"sync"
	"sync/atomic"

	"github.com/arke-mesh/arke/internal/credit"
	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/overlay"
	"github.com/arke-mesh/arke/patterns"
)

// Splice is one tunnel of a client, joined with one on a node's link.
type Splice struct {
	// Immutable once it is joined.
	engine  *Engine
	hop     *Hop
	opening *opening // of one that the client opens
	sides   [2]side
	salt    []byte // of one that the client serves, if it is sealed

	mu       sync.Mutex
	junction junction // guarded by mu
	// early is the client's reset, where it has overtaken its answer; guarded by mu.
	early    *wire.TunnelReset
	released bool // guarded by mu; its windows are given back
}

// side is one side of a Splice.
type side struct {
	port
	splice *Splice
	which  int
	known  atomic.Bool // it has said a word
}

var _ endpoint = (*side)(nil)

func (d *side) far() *side { return &d.splice.sides[1-d.which] }

// hear implements endpoint.
func (d *side) hear(k wire.Kind, body []byte) (kept bool) {
	s := d.splice
	w, err := d.read(k, body)
	if err == nil && k == wire.KindTunnelReset {
		if why, ok := heeded(w, d.known.Load(), d.flags != 0); ok {
			s.reset(d, why)
		} else {
			s.engine.drops.Inc(dropForged)
		}
		return false
	}
	pass, grant, granted := false, false, uint64(0)
	if d.known.Store(true); err == nil {
		s.mu.Lock()
		switch k {
		case wire.KindTunnelData:
			pass, err = s.junction.came(d.which, len(w.data))
		case wire.KindTunnelEnd:
			pass = s.junction.ended(d.which)
		case wire.KindTunnelCredit:
			if w.flags != 0 {
				w.total, pass, err = s.junction.returned(d.which, w.total, s.hop.budget)
				grant = pass && s.junction.grant(d.which)
				granted = s.junction.flows[d.which].window.Total()
				break
			}
			pass = s.junction.granted(d.which, w.total)
			w.total = s.junction.flows[1-d.which].window.Total()
		}
		s.mu.Unlock()
	}
	switch {
	case err != nil:
		s.broken(d, err)
	case !pass && k == wire.KindTunnelData:
		s.engine.drops.Inc(dropLate)
	case !pass:
	case k == wire.KindTunnelCredit:
		d.far().sayCredit(w.total, w.flags)
		if grant {
			d.sendCredit(granted)
		}
	default:
		return s.pass(d, w)
	}
	return false
}

// returnIdle gives back the credit that is kept back here from a side that is idle.
func (d *side) returnIdle() {
	d.splice.mu.Lock()
	total, ok := d.splice.junction.rest(d.which)
	d.splice.mu.Unlock()
	if ok {
		d.far().sendReturn(total)
	}
}

// pass sends a chunk, or an end, of one side on to the other one, and says
// whether it is in use still.
func (s *Splice) pass(d *side, w word) (kept bool) {
	far, f, cost := d.far(), s.engine.frames.get(), 0
	if w.kind == wire.KindTunnelData {
		far.data(f, w.data, w.flags)
		cost = credit.Cost(len(w.data))
	} else {
		far.port.codec.end(f, w.closed, w.read)
	}
	kept, err := far.remote.pass(w.kind, d.back(f), f.parts[:]...)
	if !errors.Is(err, overlay.ErrLaneFull) { // another error: its session has ended, which lose tells
		s.engine.frames.put(f)
		s.left(d, cost, 0)
		return kept
	}
	return s.passLater(d, w.kind, f, cost)
}

// back takes the memory of a chunk that d's side has sent and f carries; nil = f carries
// something else.
func (d *side) back(f *frame) func(chunk []byte) {
	if d.far().stream != nil || len(f.parts[1]) == 0 {
		return nil
	}
	return d.remote.recycle
}

// passLater has a frame stand in line for room.
func (s *Splice) passLater(d *side, k wire.Kind, f *frame, cost int) (kept bool) {
	back, head, payload := d.back(f), bytes.Clone(f.parts[0]), f.parts[1]
	if kept = back != nil; !kept {
		f.sealed = nil // it goes with payload
	}
	s.engine.frames.put(f)
	s.mu.Lock()
	s.junction.inLine++
	s.mu.Unlock()
	d.far().remote.passLater(k, func(error) { s.left(d, cost, 1) }, back, head, payload)
	return kept
}

// left notes that a chunk, or an end, of one side has found its room.
func (s *Splice) left(d *side, cost, inLine int) {
	s.mu.Lock()
	s.junction.inLine -= inLine
	window := &s.junction.flows[d.which].window
	if s.junction.left(d.which, cost) {
		window.Resize(s.engine.now(), s.hop.budget)
	}
	tell, total := s.junction.grant(d.which), window.Total()
	over := s.junction.settle() || s.junction.over && inLine > 0
	s.mu.Unlock()
	if tell {
		d.sendCredit(total)
	}
	if over {
		s.finish()
	}
}

// reset passes on that one side has reset the tunnel.
func (s *Splice) reset(d *side, why wire.TunnelReset) {
	s.mu.Lock()
	early := d.which == clientSide && d.flags != 0 && !s.junction.joined && !s.junction.over
	if early {
		s.early = &why
	}
	s.mu.Unlock()
	if early {
		return
	}
	var tell [2]*wire.TunnelReset
	tell[1-d.which] = &why
	s.close(tell[clientSide], tell[nodeSide])
}

// broken ends a tunnel of which one side has broken the protocol.
func (s *Splice) broken(d *side, err error) {
	var tell [2]*wire.TunnelReset
	violation, how := s.engine.blame(err)
	tell[d.which], tell[1-d.which] = &violation, &wire.TunnelReset{Cause: wire.CauseInterrupted}
	if d.which == nodeSide && how == errForged {
		tell[clientSide].Cause = wire.CauseForged
	}
	s.close(tell[clientSide], tell[nodeSide])
}

// end implements endpoint.
func (d *side) end(cause wire.TunnelCause, _ error) {
	d.splice.close(&wire.TunnelReset{Cause: cause}, &wire.TunnelReset{Cause: cause})
}

// lose implements endpoint: the other side is interrupted, and both are if it is
// the relay that stops.
func (d *side) lose(err error) {
	if errors.Is(err, patterns.ErrClosed) {
		d.end(wire.CauseInterrupted, err)
		return
	}
	d.splice.reset(d, wire.TunnelReset{Cause: wire.CauseInterrupted})
}

// gone implements endpoint.
func (d *side) gone() bool {
	d.splice.mu.Lock()
	defer d.splice.mu.Unlock()
	return d.splice.junction.over
}

// close ends both directions at once, and tells the sides why; nil = that one is
// not told.
func (s *Splice) close(client, node *wire.TunnelReset) {
	s.mu.Lock()
	over, joined := s.junction.over, s.junction.joined
	s.junction.over = true
	s.mu.Unlock()
	if over {
		return
	}
	if client != nil && (joined || s.sides[clientSide].flags != 0) {
		s.sides[clientSide].sendReset(*client)
	}
	if node != nil && joined {
		s.sides[nodeSide].sendReset(*node)
	}
	s.finish()
}

// finish forgets a tunnel that is over, once nothing of it stands in line. One
// whose opening was not answered keeps its place until that is given up.
func (s *Splice) finish() {
	s.mu.Lock()
	s.junction.over = true
	due := s.junction.inLine == 0 && !s.released
	s.released = s.released || due
	e, node := s.engine, s.sides[nodeSide].port
	s.mu.Unlock()
	e.table.remove(&s.sides[clientSide])
	if node.remote != nil {
		e.table.remove(&s.sides[nodeSide])
	}
	if !due {
		return
	}
	s.unsplice()
	if node.place != nil {
		s.hop.budget.Close(s.junction.flows[nodeSide].window.Size())
		e.leave(node.place, node.number)
	}
}
