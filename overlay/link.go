// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package overlay

import (
	"hash/fnv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"
)

// Link is everything between this node and one peer. All methods may be
// called concurrently.
//
// A link that has been down for long and that nobody holds may be forgotten;
// its methods then work on the one that Overlay.Link returns, so a *Link may
// be kept, but compare peers, not pointers.
type Link struct {
	// Immutable after newLink.
	o     *Overlay
	peer  peer.ID
	lower bool   // this node's id is the lower one
	key   uint64 // for Exec

	// Read without mu, written under it.
	number    atomic.Uint64 // of the session; 0 = down
	suspected atomic.Bool
	offset    atomic.Int64 // the peer's link clock minus ours, ns
	forgotten atomic.Bool

	heard   atomic.Int64 // the last byte from the peer, ns on our link clock
	traffic traffic

	// Guarded by mu.
	mu         sync.Mutex
	sess       *session
	cause      error         // why sess ends; set while the readers of its streams finish
	streams    []*stream     // that have said Hello and are not wholly over, in the order of arrival
	sender     *stream       // takes from the queue
	opening    bool          // a dial is under way
	greeting   chan struct{} // not nil while our Hello on an outgoing stream is not answered
	callers    []Stream      // incoming streams that have not joined
	stopDial   func()        // ends the dial under way, if it has come so far
	waiters    []*waiter     // in Wait
	doubt      *doubt        // the question whether a stream is still alive
	channel    uint32        // last number given to a fragmented message
	peerClock  linkClock     // estimate
	instance   instanceID    // of the peer, as of the last session
	agent      string
	version    uint32
	downSince  time.Time
	noticed    time.Time // when a duplicate was logged last
	effects    []func()  // to do once mu is released, see unlock
	events     []PeerEvent
	holders    int
	interest   time.Time // when holders became positive
	live       liveness
	beatTimer  Timer
	beatNumber uint64 // which timer counts

	// Held while events are delivered, so that their order stays.
	delivering sync.Mutex
}

// session is the time during which a link loses nothing.
type session struct {
	number uint64
	queue  *sendQueue
	ended  chan struct{} // closed when LinkDown has been reported

	// Guarded by partsMu: Send must not wait while a large message is copied.
	partsMu sync.Mutex
	parts   *reassembly
}

func newLink(o *Overlay, p peer.ID) *Link {
	h := fnv.New64a()
	h.Write([]byte(p))
	return &Link{
		o:         o,
		peer:      p,
		lower:     o.self < p,
		key:       h.Sum64(),
		downSince: o.clock.Now(),
		live:      liveness{interval: o.cfg.Heartbeat, limit: silenceLimit, rand: o.rand},
	}
}

// Peer is the authenticated id of the other node.
func (l *Link) Peer() peer.ID { return l.peer }

// Recycle takes back the chunk of a TunnelData frame that a handler was given and
// nobody uses any more. It is not a duty.
func (l *Link) Recycle(chunk []byte) { l.o.bodies.Put(chunk) }

// Up says whether the link has a session.
func (l *Link) Up() bool { return l.Session() != 0 }

// Suspect says whether the peer leaves heartbeats unanswered.
func (l *Link) Suspect() bool {
	if l.forgotten.Load() {
		return l.o.Link(l.peer).Suspect()
	}
	return l.suspected.Load()
}

// Session is the number of the current session, 0 if there is none. Numbers
// are never used twice by one Overlay. A new number means that frames may
// have been lost.
func (l *Link) Session() uint64 {
	n := l.number.Load()
	if n == 0 && l.forgotten.Load() {
		return l.o.Link(l.peer).Session()
	}
	return n
}

// LocalTime converts a time on the peer's link clock to local time, by the
// best estimate there is.
func (l *Link) LocalTime(remote uint64) time.Time {
	local := int64(min(remote, maxLinkTime)) - l.offset.Load()
	return l.o.epoch.Add(time.Duration(local))
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
	effects := l.effects
	l.effects = nil
	news := len(l.events) > 0
	l.mu.Unlock()
	if news {
		l.deliver()
	}
	for _, f := range effects {
		f()
	}
}

// release is unlock for what a subscriber may call: it delivers no events, for
// that may be what is under way. Nothing that ends so may report one.
func (l *Link) release() {
	effects := l.effects
	l.effects = nil
	l.mu.Unlock()
	for _, f := range effects {
		f()
	}
}

// later has f called when mu is released.
func (l *Link) later(f func()) { l.effects = append(l.effects, f) }

// wakeLater has f wake a goroutine when mu is released.
func (l *Link) wakeLater(name string, f func()) {
	l.later(func() { l.o.wake(name, l.key, f) })
}

// report queues an event for delivery when mu is released.
func (l *Link) report(t PeerEventType, session uint64, err error) {
	l.events = append(l.events, PeerEvent{Type: t, Peer: l.peer, Link: l, Session: session, Err: err})
}

// deliver hands events to the subscribers, in order. When it returns, those
// that were queued before the call have been delivered.
func (l *Link) deliver() {
	l.delivering.Lock()
	defer l.delivering.Unlock()
	for {
		l.mu.Lock()
		if len(l.events) == 0 {
			l.mu.Unlock()
			return
		}
		e := l.events[0]
		l.events = l.events[1:]
		l.mu.Unlock()
		l.o.publish(e)
	}
}
