// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package overlay

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"

	"github.com/arke-mesh/arke/internal/after"
	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/overlay/session"
)

// Link is everything between this node and one peer. All methods may be
// called concurrently.
//
// A link that has been down for long and that nobody holds may be forgotten;
// its methods then work on the one that Overlay.Link returns, so a *Link may
// be kept, but compare peers, not pointers.
type Link struct {
	sessions

	// Immutable after newLink.
	key uint64 // for Exec

	suspected atomic.Bool // read without mu, written under it
	holders   holders     // likewise
	notices   noticeLog
	proofs    proofs
	events    announcer

	// Guarded by mu.
	mu        sync.Mutex
	known     acquaintance
	reconnect reconnect
	planned   planned
	dialing   dialing
	joining   *stream       // is about to carry the session
	callers   []Stream      // incoming ones that have not joined
	ended     chan struct{} // closed when LinkDown of the present session was reported
	downSince time.Time
	spare     spare     // whether anybody needs the session
	doubt     *doubt    // the question whether a connection is still alive
	waiters   []*waiter // in Wait
	after     after.List
}

// planned are the timers of an outage.
type planned struct {
	number uint64 // which count
	end    Timer
}

// stop makes the timers that are running, if any, count no more.
func (p *planned) stop() {
	p.number++
	if p.end != nil {
		p.end.Stop()
		p.end = nil
	}
}

// holders are how many hold a link, and how many need it besides.
type holders struct{ held, needs atomic.Int32 }

func (h *holders) any() bool    { return h.held.Load() > 0 }
func (h *holders) needed() bool { return h.any() || h.needs.Load() > 0 }

// waiter is a caller of Wait.
type waiter struct {
	done    chan struct{}
	session uint64
	err     error
}

func newLink(o *Overlay, p peer.ID) *Link {
	h := fnv.New64a()
	h.Write([]byte(p))
	l := &Link{key: h.Sum64(), downSince: o.clock.Now()}
	l.o, l.peer = o, p
	l.reconnect.jitter = o.rand.IntN
	l.notices = noticeLog{base: o.base, peer: p}
	return l
}

// Suspect says whether the connection to the peer is broken, or the peer leaves
// heartbeats unanswered.
func (l *Link) Suspect() bool {
	if l.forgotten.Load() {
		return l.o.Link(l.peer).Suspect()
	}
	return l.suspected.Load()
}

// Hold declares interest in the peer's life: heartbeats run while anybody
// holds the link. It says Need, too. release may be called more than once.
func (l *Link) Hold() (release func()) {
	return until(l, func(l *Link, n int32) {
		l.holders.held.Add(n)
		if s := l.last.Load(); s != nil {
			l.after.Add(func() { s.Want(l.holders.any) })
		}
	})
}

// Need keeps the link from being ended because neither side needs it; it does not
// open it. release may be called more than once.
func (l *Link) Need() (release func()) {
	return until(l, func(l *Link, n int32) { l.holders.needs.Add(n) })
}

// Open begins to establish the link, in the background; addrs are further
// addresses to try. It does nothing if the link is up, broken or not, or being opened. The
// result comes as a PeerEvent, LinkUp or DialFailed; none comes after
// Shutdown has begun.
func (l *Link) Open(addrs []string) {
	l = l.lock()
	defer l.release()
	if !l.up() {
		l.open(addrs)
	}
}

// Wait is Open, and waits for the session until ctx ends.
func (l *Link) Wait(ctx context.Context, addrs []string) (uint64, error) {
	l = l.lock()
	if l.up() {
		defer l.release()
		return l.number.Load(), nil
	}
	if l.o.leaving() {
		defer l.release()
		return 0, ErrClosed
	}
	w := &waiter{done: make(chan struct{})}
	l.waiters = append(l.waiters, w)
	l.open(addrs)
	l.release()

	select {
	case <-w.done:
		return w.session, w.err
	case <-ctx.Done():
		l.mu.Lock()
		l.waiters = slices.DeleteFunc(l.waiters, func(each *waiter) bool { return each == w })
		l.mu.Unlock()
		return 0, ctx.Err()
	case <-l.o.ctx.Done():
		return 0, ErrClosed
	}
}

// lock locks l, or the link that took its place, and returns which.
func (l *Link) lock() *Link {
	for {
		l.mu.Lock()
		if !l.forgotten.Load() {
			return l
		}
		l.mu.Unlock()
		l = l.o.Link(l.peer)
	}
}

// unlock releases mu, then does what was decided under it: nothing that could
// block, or call back, happens while mu is held.
func (l *Link) unlock() {
	do, news := l.after.Take(), l.events.waiting()
	l.mu.Unlock()
	if news {
		l.events.deliver(l.o.publish)
	}
	do.Run()
}

// release is unlock for what a subscriber may call: it delivers no events, for
// that may be what is under way. Nothing that ends so may report one.
func (l *Link) release() {
	do := l.after.Take()
	l.mu.Unlock()
	do.Run()
}

// wakeLater has f wake a goroutine when mu is released.
func (l *Link) wakeLater(name string, f func()) {
	l.after.Add(func() { l.o.wake(name, l.key, f) })
}

// report queues an event for delivery when mu is released.
func (l *Link) report(t PeerEventType, session uint64, err error) {
	l.events.add(PeerEvent{Type: t, Peer: l.peer, Link: l, Session: session, Addr: l.known.addr, Err: err})
}

// What follows is the life of a session: it begins when two nodes that have none
// say Hello, goes on over one connection after the other, and ends when it can't
// go on. Methods are called with mu held unless they say otherwise.

func (l *Link) state() linkState {
	return linkState{up: l.up(), attached: l.attached(), joining: l.joining != nil, leaving: l.o.leaving()}
}

// begin starts a session with the peer that said g on that stream.
func (l *Link) begin(id uint64, on Stream, g *greeting) *session.Session {
	l.end(fmt.Errorf("%w: the peer knows nothing of the session", ErrLost))
	s := l.newSession(id)
	l.known.meet(on, g)
	l.former.Store(l.last.Load())
	l.last.Store(s)
	l.number.Store(s.Number())
	l.suspected.Store(false)
	l.ended = make(chan struct{})
	l.dialing.proposal, l.spare = 0, spare{}
	l.report(LinkUp, s.Number(), nil)
	l.tell(s.Number(), nil)
	if l.holders.any() {
		l.after.Add(func() { s.Want(l.holders.any) })
	}
	return s
}

// newSession needs no lock.
func (l *Link) newSession(id uint64) *session.Session {
	o := l.o
	return session.New(session.Config{
		Seam: session.Seam{
			Clock: gatedClock{o.base}, Exec: o.cfg.Seam.Exec, Rand: o.rand, Go: o.gate.Spawn, Done: o.ctx.Done(),
			Rounds: o.rounds.Load(), Standby: o.standby,
		},
		Key: l.key, Number: o.nextSession(), ID: id, Epoch: o.epoch,
		LaneBytes: o.cfg.LaneBytes, MaxMessage: o.cfg.MaxMessage, Beat: o.cfg.Heartbeat,
		Memory:  session.Memory{Pool: &o.chunks, Budget: o.partials.Of(l.peer), Bodies: &o.bodies},
		Handler: func(_ wire.Lane, k wire.Kind, body []byte) bool { return o.handle(l, k, body) },
		Notice:  l.notices.tell,
		Wall:    func(ms int64) { o.clocks.told(l, ms) },
		Changed: l.changed,
		Dropped: func(why session.Drop, n int) { o.drops.Add(dropReason(why), uint64(n)) },
		Sent:    l.wrote,
	})
}

// end ends the session. Nothing of it is handled any more: the connection that
// carried it has been left.
func (l *Link) end(cause error) {
	if !l.up() {
		return
	}
	s := l.last.Load()
	l.number.Store(0)
	l.suspected.Store(false)
	l.planned.stop()
	l.report(LinkDown, s.Number(), cause)
	ended := l.ended
	l.wakeLater("overlay/ended", func() { close(ended) })
	l.after.Add(s.End)
	l.after.Add(func() { l.o.clocks.gone(l.peer, s.Number()) })
	l.downSince = l.o.clock.Now()
}

// tell ends the wait of those in Wait.
func (l *Link) tell(session uint64, err error) {
	for _, w := range l.waiters {
		w.session, w.err = session, err
		l.wakeLater("overlay/wait", func() { close(w.done) })
	}
	l.waiters = nil
}

// changed looks whether the peer is suspect; without mu.
func (l *Link) changed() {
	l.mu.Lock()
	defer l.unlock()
	if !l.up() {
		return
	}
	attached := l.attached()
	if attached {
		l.joining = nil
		l.planned.stop()
	}
	l.suspect(!attached && l.joining == nil || l.last.Load().Silent())
}

func (l *Link) suspect(on bool) {
	switch was := l.suspected.Swap(on); {
	case on && !was:
		l.report(LinkSuspect, l.number.Load(), nil)
	case was && !on:
		l.report(LinkRecovered, l.number.Load(), nil)
	}
}

// lost notes why st does not carry s any more.
func (l *Link) lost(s *session.Session, st *stream, err error) {
	if l.joining == st {
		unjoin(l)
	}
	if d := l.doubt; d != nil {
		l.wakeLater("overlay/doubt", d.broken)
	}
	if errors.Is(err, ErrProtocol) {
		l.o.drops.Inc(dropReason(session.DropMalformed))
	}
	if !l.up() || l.last.Load() != s || errors.Is(err, session.ErrReplaced) {
		return // whoever replaced it goes on
	}
	l.do(l.reconnect.broke(l.state(), err, s.Heard()))
}

// unjoin notes that the stream that was about to carry a session will not. Who came to wait
// meanwhile has relied on it, if the session has ended: nobody dialled for him.
func unjoin(l *Link) {
	if l.joining = nil; !l.up() && len(l.waiters) > 0 {
		l.open(nil)
	}
}

// do carries out what was decided.
func (l *Link) do(d decision) {
	if d.end != nil {
		l.end(d.end)
	}
	if d.failed != nil {
		l.report(DialFailed, 0, d.failed)
	}
	if d.tell != nil {
		l.tell(0, d.tell)
	}
	if d.stop && l.dialing.stop != nil {
		l.after.Add(l.dialing.stop)
	}
	if d.suspect {
		l.suspect(true)
		l.planned.stop()
		l.planned.end = l.plan("overlay/outage", max(0, l.reconnect.Left(l.o.clock.Now())), func() {
			l.do(l.reconnect.late(l.state()))
		})
	}
	if d.dial {
		l.open(nil)
	}
	if d.dialIn > 0 {
		l.plan("overlay/redial", d.dialIn, func() { l.open(nil) })
	}
}

// plan has f called, with mu, unless the outage is over by then.
func (l *Link) plan(label string, in time.Duration, f func()) Timer {
	number := l.planned.number
	return l.o.after(label, in, func() {
		l.mu.Lock()
		defer l.unlock()
		if number == l.planned.number {
			f()
		}
	})
}

// downFor is how long the link has been down, if it is; without mu.
func (l *Link) downFor(now time.Time) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	return now.Sub(l.downSince)
}

// forget gives the link up if nobody needs it; without mu.
func (l *Link) forget() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	needed := l.up() || l.reconnect.dialing || l.holders.any() || len(l.callers) > 0 ||
		l.joining != nil || len(l.waiters) > 0 || l.events.waiting()
	if !needed {
		l.forgotten.Store(true)
	}
	return !needed
}

// leave has the link say goodbye when its queue is empty. The channel is
// closed when it is down; nil means that it is already, or may as well be.
// Without mu.
func (l *Link) leave() <-chan struct{} {
	l.mu.Lock()
	defer l.unlock()
	l.do(decision{stop: true})
	if !l.up() || l.suspected.Load() {
		return nil // there is no telling whether a peer that hangs would ever answer
	}
	s := l.last.Load()
	l.after.Add(func() { s.Leave(codeShutdown, "shutting down") })
	return l.ended
}

// abandon ends the link at once; without mu.
func (l *Link) abandon() {
	l.mu.Lock()
	defer l.unlock()
	l.do(decision{stop: true})
	l.do(decision{tell: ErrClosed})
	for _, s := range l.callers {
		l.after.Add(func() { s.Reset(codeShutdown) })
	}
	s := l.last.Load()
	switch {
	case !l.up():
	case s.Attached():
		l.after.Add(func() { s.Break(ErrClosed, codeShutdown) }) // lost ends the session
	case l == l.o.loopback:
		l.after.Add(s.End)
	default:
		l.end(ErrClosed)
	}
}
