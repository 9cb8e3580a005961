// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package session

import (
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/arke-mesh/arke/internal/fifo"
	"github.com/arke-mesh/arke/internal/wire"
)

// When what was received is acknowledged: with whatever is written anyway once
// ackRide has passed or a sixteenth of a lane's window has come, and alone after
// twice that time or with a quarter of a window.
const (
	ackRide      = 50 * time.Millisecond
	ackRideShare = 16
	ackShare     = 4
)

// inbox is the receiving half of a session: what has come, what of it the peer
// need not keep, and messages that are incomplete. It lives as long as the
// session; frames come from one goroutine at a time, that of the connection.
type inbox struct {
	// Immutable after New.
	cfg   *Config
	out   *outbox
	pulse *pulse

	reading // owned by whoever reads

	// Used concurrently.
	window   [wire.Lanes]atomic.Int64 // the peer's
	unasked  [wire.Lanes]atomic.Int64 // bytes that are done since the last ack was asked for
	phase    atomic.Uint32
	received [wire.Lanes]atomic.Uint64
	let      [wire.Lanes]atomic.Uint64 // released
	holding  [wire.Lanes]atomic.Int32  // how many wait in held
	armed    atomic.Bool               // the timer of acknowledgements runs

	// Guarded by mu.
	mu     sync.Mutex
	theirs *wire.Counts // what the peer's Goodbye said that it has handled
	held   [wire.Lanes]fifo.Queue[arrival]

	// Guarded by joining.
	joining  sync.Mutex
	parts    *reassembly
	sweeping bool // the timer of sweep runs
	ended    bool // nothing is put together any more
}

// reading is what whoever reads knows alone: what was handled since it has waited last
// is counted and told when it waits again, so that it costs each frame little.
type reading struct {
	own     bool // what comes is our own: nobody has to be told
	count   wire.Counts
	busy    bool            // frames are being handled, since enter
	round   bool            // of Config.Rounds: several of them
	lasts   bool            // Last may be true
	lone    int             // how many messages for Last have come alone, in a row
	last    func()          // what Last was given
	done    wire.Counts     // how far the peer may forget, if that is not told …
	bytes   [wire.Lanes]int // … and how many bytes that are
	current current
}

// arrival is a message that its handler's owner releases.
type arrival struct {
	number uint64 // of its last frame
	bytes  int
}

// current is the message that the handler is called with.
type current struct {
	arrival
	lane wire.Lane
	held bool
}

func counts(of *[wire.Lanes]atomic.Uint64) (c wire.Counts) {
	for lane := range c {
		c[lane] = of[lane].Load()
	}
	return c
}

// released is how far the peer may forget.
func (i *inbox) released() wire.Counts { return counts(&i.let) }

// attach notes what the peer keeps at most.
func (i *inbox) attach(window [wire.Lanes]int) {
	for lane, n := range window {
		if own := i.cfg.LaneBytes[lane]; n == 0 || n > own {
			n = own
		}
		i.window[lane].Store(int64(n))
	}
}

// frame handles one frame, and says whether somebody keeps its body. An error
// ends the connection.
func (i *inbox) frame(lane wire.Lane, k wire.Kind, body []byte) (kept bool, err error) {
	switch k {
	case wire.KindHello:
		return false, fmt.Errorf("%w: second hello", ErrProtocol)
	case wire.KindBeat:
		return false, i.pulse.beat(body)
	case wire.KindAck:
		counts, err := wire.DecodeAck(body)
		if err != nil {
			return false, fmt.Errorf("%w: %w", ErrProtocol, err)
		}
		return false, i.out.acked(counts)
	case wire.KindGoodbye:
		return false, i.goodbye(body)
	case wire.KindNotice:
		return false, i.notice(body)
	}
	if !i.enter() {
		return false, nil
	}
	n := i.count[lane] + 1
	i.count[lane] = n
	switch k {
	case wire.KindVoid:
		i.handled(lane, n, len(body))
		return false, nil
	case wire.KindFragment:
		return i.fragment(lane, n, body)
	}
	return i.message(lane, n, k, body, len(body)), nil
}

// message gives a whole message to the handler; size is what its last frame took.
func (i *inbox) message(lane wire.Lane, n uint64, k wire.Kind, body []byte, size int) (kept bool) {
	i.current = current{arrival: arrival{n, len(body)}, lane: lane}
	kept = i.cfg.Handler(lane, k, body)
	switch {
	case i.current.held:
	case i.holding[lane].Load() > 0: // it is in line behind those
		i.hold()
		i.release(lane, 1)
	default:
		i.handled(lane, n, size)
	}
	return kept
}

// hold has the message that is being handled wait for release.
func (i *inbox) hold() {
	m := &i.current
	i.tell(m.lane) // what was before it
	i.mu.Lock()
	i.held[m.lane].Push(m.arrival)
	i.holding[m.lane].Add(1)
	i.mu.Unlock()
	m.held = true
}

// fragment keeps only what is a message by itself: the rest is copied.
func (i *inbox) fragment(lane wire.Lane, n uint64, body []byte) (kept bool, err error) {
	f, err := wire.DecodeFragment(body)
	if err != nil {
		return false, fmt.Errorf("%w: %w", ErrProtocol, err)
	}
	k, whole, drop := i.join(f)
	i.cfg.Dropped(drop, 1)
	if k == 0 {
		i.handled(lane, n, len(body))
		return false, nil
	}
	if !k.Counted() || k == wire.KindVoid {
		return false, fmt.Errorf("%w: kind %d in fragments", ErrProtocol, k)
	}
	kept = i.message(lane, n, k, whole, len(body))
	if !f.First {
		i.joining.Lock()
		i.parts.handled(k, whole, kept)
		i.joining.Unlock()
		kept = false // of what came last
	}
	return kept, nil
}

// join puts a fragment to the others of its message. While a message is incomplete
// a timer looks after it.
func (i *inbox) join(f wire.Fragment) (k wire.Kind, whole []byte, drop Drop) {
	i.joining.Lock()
	if i.ended {
		i.joining.Unlock()
		return 0, nil, DropFragmentOrphan
	}
	k, whole, drop = i.parts.add(i.cfg.Clock.Now(), f)
	sweep := !i.sweeping && i.parts.pending() > 0
	i.sweeping = i.sweeping || sweep
	i.joining.Unlock()
	if sweep {
		i.cfg.Clock.AfterFunc("session/fragments", fragmentIdle, i.sweep)
	}
	return k, whole, drop
}

// sweep gives up messages whose fragments take too long.
func (i *inbox) sweep() {
	i.joining.Lock()
	late := i.parts.expire(i.cfg.Clock.Now())
	i.sweeping = i.parts.pending() > 0
	again := i.sweeping
	i.joining.Unlock()
	if late > 0 {
		i.cfg.Dropped(DropFragmentLate, late)
	}
	if again {
		i.cfg.Clock.AfterFunc("session/fragments", fragmentIdle, i.sweep)
	}
}

// handled notes that frame n of a lane need not be sent again. While messages before
// it are held, that is known once they are released.
func (i *inbox) handled(lane wire.Lane, n uint64, size int) {
	if i.holding[lane].Load() == 0 {
		i.done[lane] = n
	}
	i.bytes[lane] += size + wire.FrameOverhead
}

// tell has the peer told of what was handled of a lane.
func (i *inbox) tell(lane wire.Lane) {
	n := i.bytes[lane]
	if n == 0 {
		return
	}
	i.bytes[lane] = 0
	if done := i.done[lane]; done > 0 {
		i.done[lane] = 0
		i.let[lane].Store(done)
	}
	i.ask(lane, n)
}

// release acknowledges the n oldest messages of a lane that are held.
func (i *inbox) release(lane wire.Lane, n int) {
	i.mu.Lock()
	bytes := 0
	for ; n > 0 && i.held[lane].Len() > 0; n-- {
		a := i.held[lane].Pop()
		i.holding[lane].Add(-1)
		bytes += a.bytes + wire.FrameOverhead
		i.let[lane].Store(a.number)
	}
	i.mu.Unlock()
	i.ask(lane, bytes)
}

// ask has the peer told, soon or now, if n bytes more that are done make that due.
func (i *inbox) ask(lane wire.Lane, n int) {
	if i.own || i.cfg.Forget {
		return
	}
	limit := i.window[lane].Load()
	now := i.unasked[lane].Add(int64(n))
	switch was := now - int64(n); {
	case now >= limit/ackShare:
		i.unasked[lane].Store(0) // the ack tells all that is done by then
		i.out.askAck(true)
	case was < limit/ackRideShare && now >= limit/ackRideShare:
		i.out.askAck(false)
	}
	if !i.armed.Load() {
		i.arm()
	}
}

// arm starts the timer of acknowledgements, if it does not run.
func (i *inbox) arm() {
	if i.armed.CompareAndSwap(false, true) {
		i.cfg.Clock.AfterFunc("session/ack", ackRide, i.tick)
	}
}

// tick is what the timer calls.
func (i *inbox) tick() {
	if i.out.ackLate(i.released) {
		i.cfg.Clock.AfterFunc("session/ack", ackRide, i.tick)
		return
	}
	i.armed.Store(false)
	if i.out.ackMissing(i.released) { // since
		i.arm()
	}
}

// goodbye takes the peer's last words.
func (i *inbox) goodbye(body []byte) error {
	handled, err := i.cfg.heardGoodbye(body)
	if handled != nil {
		i.mu.Lock()
		i.theirs = handled
		i.mu.Unlock()
	}
	return err
}

func (i *inbox) notice(body []byte) error {
	m, err := i.cfg.heardNotice(body)
	if err == nil && i.cfg.Notice != nil {
		i.cfg.Notice(m)
	}
	return err
}

// Bits of inbox.phase.
const (
	phaseBusy    uint32 = 1 << iota // frames are being handled
	phaseClosing                    // none is any more once that one is
	phaseClosed                     // what comes is not looked at, as our Goodbye says
)

// enter says whether a frame is to be handled; leave follows, once for all that have
// come together.
func (i *inbox) enter() bool {
	if i.busy && i.phase.Load()&phaseClosing != 0 {
		i.leave()
	}
	if !i.busy {
		i.busy = i.phase.Or(phaseBusy)&phaseClosed == 0
	}
	return i.busy
}

// beginRound begins one of Config.Rounds, which ends with rest.
func (i *inbox) beginRound() {
	i.round = true
	i.cfg.Rounds.begin()
}

// rest counts and tells what was handled, and has what was sent meanwhile leave. The
// reader calls it before it waits.
func (i *inbox) rest() {
	if i.busy {
		i.leave()
	}
	if i.round {
		i.round = false
		i.cfg.Rounds.end()
	}
}

// leave ends what enter began.
func (i *inbox) leave() {
	for lane, n := range i.count {
		if i.received[lane].Load() != n {
			i.received[lane].Store(n)
		}
		i.tell(wire.Lane(lane))
	}
	i.busy = false
	if i.phase.And(^phaseBusy)&phaseClosing != 0 {
		i.phase.Or(phaseClosed)
		i.out.stir()
	}
}

// close has nothing handled from here on. It is false while frames still are; the
// writer is nudged when that is over: the answer goes out before our Goodbye.
func (i *inbox) close() bool {
	i.phase.Or(phaseClosing)
	return i.phase.CompareAndSwap(phaseClosing, phaseClosing|phaseClosed)
}

func (i *inbox) closed() bool { return i.phase.Load()&phaseClosed != 0 }

// lost ends the inbox, and returns what the peer said it had handled.
func (i *inbox) lost() *wire.Counts {
	i.joining.Lock()
	i.ended = true
	incomplete := i.parts.clear()
	i.joining.Unlock()
	if incomplete > 0 {
		i.cfg.Dropped(DropPartialLost, incomplete)
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.theirs
}
