// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package overlay

import (
	"hash/fnv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"

	"github.com/arke-mesh/arke/internal/after"
	"github.com/arke-mesh/arke/overlay/session"
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
	last      atomic.Pointer[session.Session] // the present session, or the last one; nil = there was none
	former    atomic.Pointer[session.Session] // the one before
	number    atomic.Uint64                   // of the present session; 0 = down
	suspected atomic.Bool
	forgotten atomic.Bool
	holders   atomic.Int32
	traffic   traffic

	// Guarded by mu.
	mu      sync.Mutex
	known   acquaintance
	dialing dialing
	outage  outage
	joining *stream       // is about to carry the session
	ended   chan struct{} // closed when LinkDown of the present session was reported
	doubt   *doubt        // the question whether a connection is still alive
	waiters []*waiter     // in Wait
	noticed time.Time     // when a duplicate was logged last
	after   after.List    // to do once mu is released, see unlock
	events  []PeerEvent

	// Held while events are delivered, so that their order stays.
	delivering sync.Mutex
}

// acquaintance is what is known of the peer.
type acquaintance struct {
	instance  instanceID
	clock     uint64 // in its last Hello
	agent     string
	version   uint32
	addr      string   // of the last connection
	addrs     []string // that it can be reached at
	downSince time.Time
	callers   []Stream // incoming streams that have not joined
}

func newLink(o *Overlay, p peer.ID) *Link {
	h := fnv.New64a()
	h.Write([]byte(p))
	return &Link{
		o:     o,
		peer:  p,
		lower: o.self < p,
		key:   h.Sum64(),
		known: acquaintance{downSince: o.clock.Now()},
	}
}

// Peer is the authenticated id of the other node.
func (l *Link) Peer() peer.ID { return l.peer }

// Recycle takes back the chunk of a TunnelData frame that a handler was given and
// nobody uses any more. It is not a duty.
func (l *Link) Recycle(chunk []byte) { l.o.bodies.Put(chunk) }

// Up says whether the link has a session.
func (l *Link) Up() bool { return l.Session() != 0 }

// Suspect says whether the connection to the peer is broken, or the peer leaves
// heartbeats unanswered.
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
	local := time.Duration(min(remote, maxLinkTime))
	if s := l.last.Load(); s != nil {
		local -= s.Offset()
	}
	return l.o.epoch.Add(local)
}

// RTT is the smoothed round trip to the peer, 0 if it was not measured yet.
func (l *Link) RTT() time.Duration {
	if s := l.last.Load(); s != nil {
		return s.RTT()
	}
	return 0
}

// Hold declares interest in the peer's life: heartbeats run while anybody
// holds the link. release may be called more than once.
func (l *Link) Hold() (release func()) {
	l = l.lock()
	defer l.release()
	l.hold(1)
	released := false // guarded by mu
	return func() {
		l.mu.Lock()
		defer l.release()
		if !released {
			released = true
			l.hold(-1)
		}
	}
}

func (l *Link) hold(n int32) {
	l.holders.Add(n)
	if s := l.last.Load(); s != nil {
		l.after.Add(func() { s.Want(l.held) })
	}
}

func (l *Link) held() bool { return l.holders.Load() > 0 }

// up says whether there is a session. mu is held.
func (l *Link) up() bool { return l.number.Load() != 0 }

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
	news := len(l.events) > 0
	do := l.after
	l.after = after.List{}
	l.mu.Unlock()
	if news {
		l.deliver()
	}
	do.Run()
}

// release is unlock for what a subscriber may call: it delivers no events, for
// that may be what is under way. Nothing that ends so may report one.
func (l *Link) release() {
	do := l.after
	l.after = after.List{}
	l.mu.Unlock()
	do.Run()
}

// wakeLater has f wake a goroutine when mu is released.
func (l *Link) wakeLater(name string, f func()) {
	l.after.Add(func() { l.o.wake(name, l.key, f) })
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
