// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package tunnel

import (
	"bytes"
	"cmp"
	"errors"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/arke-mesh/arke/cluster"
	"github.com/arke-mesh/arke/internal/credit"
	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/overlay"
	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/patterns/request"
	"github.com/arke-mesh/arke/security"
)

// Passages are the sealed tunnels that a gateway passes on from one of its nodes to another
// one, and can't open. All methods may be called concurrently.
type Passages struct {
	// Immutable.
	near, far *Engine // of the openers' network, and of the members'
	bytes     int
	budget    *credit.Budget

	carried atomic.Uint64 // bytes of frames that have gone on
	inLine  atomic.Int64  // bytes of frames that stand in line for room

	mu     sync.Mutex
	all    map[*Passage]struct{} // guarded by mu
	closed bool                  // guarded by mu
}

// NewPassages makes the place for tunnels that near's peers open to far's. Windows, and what
// stands in line here for room, are at most so many bytes each, for all together; a tunnel
// beyond the second is interrupted. Close is due.
func NewPassages(near, far *Engine, bytes int) *Passages {
	return &Passages{near: near, far: far, bytes: bytes, budget: credit.NewBudget(bytes), all: make(map[*Passage]struct{})}
}

// Open counts them, those that are being opened included.
func (l *Passages) Open() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.all)
}

// Carried are the bytes of frames that have gone on, in both directions.
func (l *Passages) Carried() uint64 { return l.carried.Load() }

// Close interrupts all. It is idempotent and does not block.
func (l *Passages) Close() {
	l.mu.Lock()
	l.closed = true
	all := slices.SortedFunc(maps.Keys(l.all), func(a, b *Passage) int {
		return cmp.Compare(a.halves[nearHalf].number, b.halves[nearHalf].number)
	})
	l.mu.Unlock()
	for _, x := range all {
		x.cut()
	}
}

// Crossing is the opening of a tunnel that is passed on, as request.Delivery has it.
type Crossing struct {
	Server  Server // that it came for
	Link    request.Link
	Session uint64 // of Link
	Tunnel  uint64 // its id on Link
	To      *cluster.Member
	// Deadline is the opener's; zero = not told. One that is accepted and not heard then
	// has given up.
	Deadline time.Time
}

// The halves of a passage.
const (
	nearHalf = iota
	farHalf
)

// Passage is one tunnel that is passed on: a half at each node. Chunks, ends, credit and
// resets are sealed from end to end, and go on as they are under another id. What it can
// say itself, in the clear, is that the tunnel is over.
type Passage struct {
	// Immutable.
	of       *Passages
	halves   [2]half
	deadline time.Time

	mu       sync.Mutex
	flows    [2]passing // guarded by mu: from each half
	accepted bool       // guarded by mu: by the member
	spoken   bool       // guarded by mu: the opener has said a word since
	over     bool       // guarded by mu
	released bool       // guarded by mu: its windows are given back
	inLine   int        // guarded by mu: frames that stand in line for room
	// early is the member's reset, where it has overtaken its answer; guarded by mu.
	early *wire.TunnelReset
}

// half is one side of a passage.
type half struct {
	port
	passage *Passage
	which   int
}

var _ endpoint = (*half)(nil)

func (h *half) other() *half { return &h.passage.halves[1-h.which] }

// Begin takes an opening's place, and returns the id that the tunnel has towards the
// member; then Opened is due, or Abandon. Errors are outcomes for the opener.
func (l *Passages) Begin(c Crossing) (*Passage, uint64, error) {
	x := &Passage{of: l, deadline: c.Deadline}
	number := l.near.numbers.Add(1)
	near := port{codec: codec{id: c.Tunnel}, engine: l.near, number: number, session: c.Session}
	far := port{codec: codec{id: l.far.ids.Add(1), flags: wire.FlagOpener}, engine: l.far, number: l.far.numbers.Add(1)}
	var err error
	if near.place, err = l.near.table.take(c.Server.ID(), c.Server.Limits().Tunnels); err != nil {
		return nil, 0, refusedPlace(l.near, dropTunnels, err)
	}
	if far.place, err = l.far.table.take(openedHere, l.far.cfg.MaxOpen); err != nil {
		l.near.leave(near.place, number)
		return nil, 0, refusedPlace(l.far, dropOpen, err)
	}
	near.remote, far.remote = l.near.peer(c.Link), l.far.peer(l.far.cfg.Links.Link(c.To.Hop()))
	defer l.near.table.left(near.remote)
	defer l.far.table.left(far.remote)
	x.halves = [2]half{{near, x, nearHalf}, {far, x, farHalf}}
	if !x.enter() {
		return nil, 0, errBusy
	}
	near.remote.hold()
	far.remote.hold()
	if c.Session == 0 || near.remote.link.Session() != c.Session { // it may have ended before it had its place
		x.Abandon()
		return nil, 0, errLeaves
	}
	return x, far.id, nil
}

// refusedPlace is the refusal of an opening for which there is no place.
func refusedPlace(e *Engine, full dropReason, err error) error {
	if errors.Is(err, patterns.ErrOverloaded) {
		e.drops.Inc(full)
		return errBusy
	}
	return errLeaves
}

// enter gives a passage its windows and puts it where frames find it. False: it is over,
// and has left everything.
func (x *Passage) enter() bool {
	l := x.of
	sizes := [2]int{l.budget.Open(), l.budget.Open()}
	for i, size := range sizes {
		x.flows[i].Passing = credit.NewPassing(size)
	}
	l.mu.Lock()
	ok := !l.closed && sizes[0] > 0 && sizes[1] > 0
	if ok {
		l.all[x] = struct{}{}
	}
	l.mu.Unlock()
	switch {
	case !ok:
		l.near.drops.Inc(dropBuffer)
	case !l.near.table.add(&x.halves[nearHalf]):
		l.near.drops.Inc(dropDuplicate)
	default:
		l.far.table.add(&x.halves[farHalf]) // the id is new
		if x.halves[nearHalf].gone() {      // before both had their places
			x.finish()
		}
		return true
	}
	x.finish()
	return false
}

func (l *Passages) leave(x *Passage) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.all, x)
}

// Opened notes that the member has accepted it, on a session of its link. With an error it
// is not open: it is patterns.ErrInterrupted.
func (x *Passage) Opened(session uint64) error {
	far := &x.halves[farHalf]
	table := &far.engine.table
	table.mu.Lock()
	far.session = session
	table.mu.Unlock()
	x.mu.Lock()
	over, early := x.over, x.early
	x.accepted = !over
	x.mu.Unlock()
	if over {
		far.sendReset(wire.TunnelReset{Cause: wire.CauseInterrupted})
		return patterns.ErrInterrupted
	}
	if far.remote.link.Session() != session {
		far.lose(patterns.ErrInterrupted)
		return patterns.ErrInterrupted
	}
	if early != nil { // the opener keeps it until it has the answer
		far.reset(*early)
	}
	x.expectWord()
	return nil
}

// expectWord ends one whose opener says nothing: it has given up before it had the answer.
// The member finds that out itself, and is given the time for it; but one that does not
// would keep places here for as long as it likes.
func (x *Passage) expectWord() {
	e, wait := x.of.near, openTime
	if !x.deadline.IsZero() {
		wait = x.deadline.Sub(e.cfg.Clock.Now())
	}
	e.later("tunnel.silent", wait+2*confirmGrace, func() {
		x.mu.Lock()
		silent := !x.spoken && !x.over
		x.mu.Unlock()
		if silent {
			e.drops.Inc(dropSilent)
			x.cut()
		}
	})
}

// Abandon ends one that was not opened in the end. It is idempotent, and does nothing to
// one that is open.
func (x *Passage) Abandon() {
	x.mu.Lock()
	accepted := x.accepted
	x.mu.Unlock()
	if !accepted {
		x.close([2]*wire.TunnelReset{})
	}
}

// hear implements endpoint.
func (h *half) hear(k wire.Kind, body []byte) (kept bool) {
	var err error
	switch k {
	case wire.KindTunnelData:
		var m wire.TunnelData
		if m, err = wire.DecodeTunnelData(body); err == nil && len(m.Payload) < security.StreamOverhead {
			err = errUnsealed
		}
		if err == nil {
			return h.data(m)
		}
	case wire.KindTunnelEnd:
		var m wire.TunnelEnd
		if m, err = wire.DecodeTunnelEnd(body); err == nil {
			return h.finished(m)
		}
	case wire.KindTunnelCredit:
		var m wire.TunnelCredit
		if m, err = wire.DecodeTunnelCredit(body); err == nil && len(m.Seal) != security.StreamOverhead {
			err = errUnsealed
		}
		if err == nil && m.Flags&wire.FlagReturned != 0 {
			err = h.returned(m)
		} else if err == nil {
			h.granted(m)
		}
		if err == nil {
			return false
		}
	case wire.KindTunnelReset:
		var m wire.TunnelReset
		if m, err = wire.DecodeTunnelReset(body); err == nil {
			h.reset(m)
			return false
		}
	}
	h.broken(err)
	return false
}

// data passes a chunk on.
func (h *half) data(m wire.TunnelData) (kept bool) {
	x, n := h.passage, len(m.Payload)-security.StreamOverhead
	x.mu.Lock()
	f := &x.flows[h.which]
	late, behind := !x.passes(h.which), f.ended > endingNone
	x.spoken = x.spoken || h.which == nearHalf && !late
	credited := late || behind || f.Came(n)
	x.mu.Unlock()
	switch {
	case late:
		h.engine.drops.Inc(dropLate)
		return false
	case behind:
		h.broken(errBehindEnd)
		return false
	case !credited:
		h.broken(errNoCredit)
		return false
	}
	m.ID = h.other().id
	frame := h.engine.frames.get()
	frame.parts[0], frame.parts[1] = m.AppendHead(frame.head[:0]), m.Payload
	return x.pass(h, wire.KindTunnelData, frame, credit.Cost(n))
}

// passes says whether frames of one half go on. An opener says nothing before it has the
// answer. mu is held.
func (x *Passage) passes(from int) bool { return !x.over && (x.accepted || from == farHalf) }

// finished passes on that a side has ended its direction.
func (h *half) finished(m wire.TunnelEnd) (kept bool) {
	x, e := h.passage, endingSend
	if m.Flags&wire.FlagClosed != 0 {
		e = endingClosed
	}
	x.mu.Lock()
	f := &x.flows[h.which]
	news := x.passes(h.which) && e > f.ended
	x.spoken = x.spoken || h.which == nearHalf && news
	if news {
		f.ended = e
	}
	x.mu.Unlock()
	if !news {
		return false
	}
	m.ID = h.other().id
	frame := h.engine.frames.get()
	frame.parts[0] = m.AppendTo(frame.head[:0])
	return x.pass(h, wire.KindTunnelEnd, frame, 0)
}

// pass sends a frame of one half on by the other one, and says whether its payload is in
// use still.
func (x *Passage) pass(h *half, k wire.Kind, f *frame, cost int) (kept bool) {
	l, to := x.of, h.other()
	n := int64(len(f.parts[0]) + len(f.parts[1]))
	l.carried.Add(uint64(n))
	back := h.remote.recycle
	if len(f.parts[1]) == 0 {
		back = nil
	}
	kept, err := to.remote.pass(k, back, f.parts[:]...)
	if !errors.Is(err, overlay.ErrLaneFull) { // another error: its session has ended, which lose tells
		h.engine.frames.put(f)
		x.left(h, cost, 0)
		return kept
	}
	head, payload := bytes.Clone(f.parts[0]), f.parts[1]
	h.engine.frames.put(f)
	if l.inLine.Add(n) > int64(l.bytes) {
		l.inLine.Add(-n)
		h.engine.drops.Inc(dropBuffer)
		x.cut()
		return false
	}
	x.mu.Lock()
	x.inLine++
	x.mu.Unlock()
	to.remote.passLater(k, func(error) {
		l.inLine.Add(-n)
		x.left(h, cost, 1)
	}, back, head, payload)
	return len(payload) > 0
}

// left notes that a chunk, or an end, of one half has found its room.
func (x *Passage) left(h *half, cost, inLine int) {
	x.mu.Lock()
	x.inLine -= inLine
	f := &x.flows[h.which]
	if f.Left(cost) && !x.over {
		f.Resize(h.engine.now(), x.of.budget)
	}
	ended := x.flows[nearHalf].ended > endingNone && x.flows[farHalf].ended > endingNone
	over := x.over && inLine > 0 || !x.over && ended && x.inLine == 0
	x.mu.Unlock()
	if over {
		x.finish()
		return
	}
	x.tell(h)
}

// granted takes in the credit that a side gives to the other one.
func (h *half) granted(m wire.TunnelCredit) {
	x := h.passage
	c := sealedCredit{total: m.Total, flags: m.Flags}
	copy(c.seal[:], m.Seal)
	x.mu.Lock()
	if x.passes(h.which) {
		x.spoken = x.spoken || h.which == nearHalf
		x.flows[1-h.which].hold(c)
	}
	x.mu.Unlock()
	x.tell(h.other())
}

// returned passes on that a side gives credit back.
func (h *half) returned(m wire.TunnelCredit) error {
	x := h.passage
	x.mu.Lock()
	passes := x.passes(h.which)
	ok := !passes || x.flows[h.which].Returned(m.Total, x.of.budget)
	x.spoken = x.spoken || passes && h.which == nearHalf
	x.mu.Unlock()
	if !ok {
		return errNoCredit
	}
	if passes {
		m.ID = h.other().id
		h.other().remote.say(overlay.LaneCtl, wire.KindTunnelCredit, m.AppendTo(nil))
		x.tell(h)
	}
	return nil
}

// tell tells a side of the credit that it may have. One frame is on its way at a time.
func (x *Passage) tell(h *half) {
	for {
		x.mu.Lock()
		var c sealedCredit
		ok := !x.over
		if ok {
			c, ok = x.flows[h.which].tell()
		}
		x.mu.Unlock()
		if !ok {
			return
		}
		f := h.engine.frames.get()
		f.parts[0] = append(wire.TunnelCredit{ID: h.id, Flags: c.flags, Total: c.total}.AppendTo(f.head[:0]), c.seal[:]...)
		err := h.remote.conduit.Send(overlay.LaneCtl, wire.KindTunnelCredit, f.parts[:1]...)
		if errors.Is(err, overlay.ErrLaneFull) {
			body := bytes.Clone(f.parts[0])
			h.engine.frames.put(f)
			h.remote.later(overlay.LaneCtl, wire.KindTunnelCredit, func(error) {
				x.told(h.which)
				x.tell(h)
			}, body)
			return
		}
		h.engine.frames.put(f)
		x.told(h.which)
	}
}

func (x *Passage) told(which int) {
	x.mu.Lock()
	x.flows[which].telling = false
	x.mu.Unlock()
}

// reset passes a reset on, sealed or not.
func (h *half) reset(m wire.TunnelReset) {
	x := h.passage
	x.mu.Lock()
	early := h.which == farHalf && !x.accepted && !x.over
	if early {
		x.early = &m
	}
	x.mu.Unlock()
	if early {
		return
	}
	var tell [2]*wire.TunnelReset
	tell[1-h.which] = &m
	x.close(tell)
}

// broken ends a tunnel of which one side has broken the protocol.
func (h *half) broken(err error) {
	var tell [2]*wire.TunnelReset
	violation, _ := h.engine.blame(err)
	tell[h.which], tell[1-h.which] = &violation, &wire.TunnelReset{Cause: wire.CauseInterrupted}
	h.passage.close(tell)
}

// end implements endpoint.
func (h *half) end(wire.TunnelCause, error) { h.passage.cut() }

// lose implements endpoint.
func (h *half) lose(err error) {
	if errors.Is(err, patterns.ErrClosed) {
		h.passage.cut()
		return
	}
	var tell [2]*wire.TunnelReset
	tell[1-h.which] = &wire.TunnelReset{Cause: wire.CauseInterrupted}
	h.passage.close(tell)
}

// gone implements endpoint.
func (h *half) gone() bool {
	h.passage.mu.Lock()
	defer h.passage.mu.Unlock()
	return h.passage.over
}

// cut ends a tunnel for both sides, as interrupted.
func (x *Passage) cut() {
	x.close([2]*wire.TunnelReset{{Cause: wire.CauseInterrupted}, {Cause: wire.CauseInterrupted}})
}

// close ends both directions at once, and tells the sides why; nil = that one is not told.
func (x *Passage) close(tell [2]*wire.TunnelReset) {
	x.mu.Lock()
	over, accepted := x.over, x.accepted
	x.over = true
	x.mu.Unlock()
	if over {
		return
	}
	if why := tell[nearHalf]; why != nil && accepted { // else the answer tells
		x.halves[nearHalf].sendOn(*why)
	}
	if why := tell[farHalf]; why != nil {
		x.halves[farHalf].sendOn(*why)
	}
	x.finish()
}

// sendOn sends a reset under the id here; its flags are the same on both links.
func (h *half) sendOn(m wire.TunnelReset) {
	m.ID, m.Flags = h.id, h.flags|m.Flags&wire.FlagSealedReset
	h.remote.say(overlay.LaneCtl, wire.KindTunnelReset, m.AppendTo(nil))
}

// finish forgets a tunnel that is over, once nothing of it stands in line.
func (x *Passage) finish() {
	x.mu.Lock()
	x.over = true
	due := x.inLine == 0 && !x.released
	x.released = x.released || due
	sizes := [2]int{x.flows[0].Size(), x.flows[1].Size()}
	x.mu.Unlock()
	for i := range x.halves {
		x.halves[i].engine.table.remove(&x.halves[i])
	}
	if !due {
		return
	}
	for _, n := range sizes {
		if n > 0 { // else there was no room for it
			x.of.budget.Close(n)
		}
	}
	x.of.leave(x)
	for i := range x.halves {
		h := &x.halves[i]
		h.engine.leave(h.place, h.number)
	}
}
