// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package overlay

import (
	"context"
	"encoding/binary"
	"sync/atomic"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"

	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/overlay/session"
)

// Receipt names a message that was queued, for Withdraw. Its zero
// value names none.
type Receipt = session.Receipt

// sessions are those with one peer, one after the other, as everybody uses them:
// to send, and to know how far the peer is. What begins and ends them is Link.
type sessions struct {
	// Immutable after newLink.
	o    *Overlay
	peer peer.ID

	// Read without a lock, written under Link.mu.
	last      atomic.Pointer[session.Session] // the present session, or the last one; nil = there was none
	former    atomic.Pointer[session.Session] // the one before
	number    atomic.Uint64                   // of the present session; 0 = down
	forgotten atomic.Bool                     // another Link has taken this one's place
	traffic   traffic
}

// Peer is the authenticated id of the other node.
func (s *sessions) Peer() peer.ID { return s.peer }

// Recycle takes back the chunk of a TunnelData frame that a handler was given and
// nobody uses any more. It is not a duty.
func (s *sessions) Recycle(chunk []byte) { s.o.bodies.Put(chunk) }

// Up says whether the link has a session.
func (s *sessions) Up() bool { return s.Session() != 0 }

// Session is the number of the current session, 0 if there is none. Numbers
// are never used twice by one Overlay. A new number means that frames may
// have been lost.
func (s *sessions) Session() uint64 {
	n := s.number.Load()
	if n == 0 && s.forgotten.Load() {
		return s.o.Link(s.peer).Session()
	}
	return n
}

// LocalTime converts a time on the peer's link clock to local time, by the
// best estimate there is.
func (s *sessions) LocalTime(remote uint64) time.Time {
	local := time.Duration(min(remote, maxLinkTime))
	if last := s.last.Load(); last != nil {
		local -= last.Offset()
	}
	return s.o.epoch.Add(local)
}

// RTT is the smoothed round trip to the peer, 0 if it was not measured yet.
func (s *sessions) RTT() time.Duration {
	if last := s.last.Load(); last != nil {
		return last.RTT()
	}
	return 0
}

// dialTrips is how many round trips a connection, and then a Hello, has at the
// least: TCP and TLS take three, and one may have to be sent again.
const dialTrips = 6

// atLeast is a time limit for the peer to answer a dial in: longer than usual where
// the way to it was measured to be long.
func (s *sessions) atLeast(usual time.Duration) time.Duration {
	return Patience{Time: usual, Trips: dialTrips}.Over(s.RTT())
}

// Behind says that this process has stood still, or its machine slept, and that the peer
// has not answered since: what it sent meanwhile may not have been read. It is not so of a
// peer that is suspect, or without a link.
func (s *sessions) Behind() bool {
	return s.attached() && !s.last.Load().Silent() && s.last.Load().Behind()
}

// up reports whether there is a session; with Link.mu it stays so.
func (s *sessions) up() bool { return s.number.Load() != 0 }

// attached says whether a connection carries the session.
func (s *sessions) attached() bool { return s.up() && s.last.Load().Attached() }

// newID is the id of a session that neither side has used, nor an instance of theirs
// before: whoever still holds the session of a peer's last start would take it for that
// one, and be refused as often as it calls.
func newID(s *sessions) uint64 {
	id := uint64(binary.BigEndian.Uint32(s.o.instance[:]))<<32 | s.o.nextSession()<<1&(1<<32-1)
	if s.first() {
		id |= 1
	}
	return id
}

// first says whether this node's calls come before the peer's.
func (s *sessions) first() bool { return s.o.self < s.peer }

// present is the session to send in.
func (s *sessions) present() (*session.Session, error) {
	for !s.up() {
		if s.o.leaving() {
			return nil, ErrClosed
		}
		if !s.forgotten.Load() {
			return nil, ErrLinkDown
		}
		s = &s.o.Link(s.peer).sessions
	}
	if s.o.leaving() {
		return nil, ErrClosed
	}
	return s.last.Load(), nil
}

// Send queues one message and returns what names it. It never blocks, and copies
// parts, whose concatenation is the body. More than MaxFrameBody bytes go in
// fragments, on lane bulk unless lane is pub. A link whose connection is broken
// queues what its windows allow.
//
// Errors: ErrLinkDown, ErrLaneFull (counted), ErrTooLarge, ErrClosed. Without
// an error the message arrives once, in the order of its lane, unless the
// session ends.
func (s *sessions) Send(lane Lane, k wire.Kind, parts ...[]byte) (Receipt, error) {
	now, err := s.present()
	if err != nil {
		return Receipt{}, err
	}
	return now.Send(lane, k, parts...)
}

// Extend adds parts to the end of the message that r names, so that what comes
// while the connection is busy travels together. That is done only as long as
// nothing of the message was sent, it is the last one of its lane, it stays in one
// frame, and the lane has room; false means that nothing was done, and is no loss:
// the next Send says why. It copies parts.
func (s *sessions) Extend(r Receipt, parts ...[]byte) bool {
	last := s.last.Load()
	return last != nil && !s.o.leaving() && session.Extend(last, r, parts...)
}

// SendWait is Send, but waits for room in the lane until ctx ends. It fails
// with ErrLinkDown when the session ends meanwhile.
func (s *sessions) SendWait(ctx context.Context, lane Lane, k wire.Kind, parts ...[]byte) (Receipt, error) {
	now, err := s.present()
	if err != nil {
		return Receipt{}, err
	}
	r, err := now.SendWait(ctx, lane, k, parts...)
	return r, explain(s, err)
}

// SendLater is SendWait for who can't wait; see session.Session.SendLater.
func (s *sessions) SendLater(lane Lane, k wire.Kind, sent func(r Receipt, err error), parts ...[]byte) (withdraw func() bool, err error) {
	now, err := s.present()
	if err != nil {
		return nil, err
	}
	return now.SendLater(lane, k, sent, parts...)
}

// Lend and LendLater are Send and SendLater on lane bulk that need not copy the last of
// parts; see session.Lend.
func (s *sessions) Lend(k wire.Kind, back func(body []byte), parts ...[]byte) (kept bool, err error) {
	now, err := s.present()
	if err != nil {
		return false, err
	}
	return session.Lend(now, k, back, parts...)
}

// LendLater see Lend.
func (s *sessions) LendLater(k wire.Kind, sent func(err error), back func(body []byte), parts ...[]byte) error {
	now, err := s.present()
	if err == nil {
		_, err = session.LendLater(now, k, func(_ Receipt, err error) { sent(err) }, back, parts...)
	}
	return err
}

// Last has f, which is brief, run on the goroutine that reads the link; see session.Last.
// Only a handler may call it, of the link that it was called with.
func (s *sessions) Last(f func()) bool {
	last := s.last.Load()
	return last != nil && session.Last(last, f)
}

// HasRoom says whether Send of n bytes would find room in the lane now. It is
// false while the link is down.
func (s *sessions) HasRoom(lane Lane, n int) bool {
	now, err := s.present()
	return err == nil && now.HasRoom(lane, n)
}

// WaitRoom waits for room as SendWait does, for who decides only then what to
// send: until HasRoom is true, or ctx ends. It fails with ErrLinkDown as SendWait
// does. Nobody who waits behind the caller comes before it until it has called
// done, which it does as soon as it has sent, or has not; more than one call is
// one.
func (s *sessions) WaitRoom(ctx context.Context, lane Lane, n int) (done func(), err error) {
	now, err := s.present()
	if err != nil {
		return nil, err
	}
	done, err = now.WaitRoom(ctx, lane, n)
	return done, explain(s, err)
}

// explain tells the end of everything from that of a link.
func explain(s *sessions, err error) error {
	if err == ErrLinkDown && s.o.leaving() {
		return ErrClosed
	}
	return err
}

// Withdraw takes a message back, and says whether it is certain that the peer has
// not handled it and never will: it was not written to a connection, or the peer
// said goodbye before it came to it. Of a session that is neither the last nor the
// one before, nothing is certain.
func (s *sessions) Withdraw(r Receipt) bool {
	of := s.of(r)
	return of != nil && of.Withdraw(r)
}

// of is the session that a receipt is of, nil if it is too long ago.
func (s *sessions) of(r Receipt) *session.Session {
	for _, each := range []*session.Session{s.last.Load(), s.former.Load()} {
		if each != nil && each.Number() == r.Session {
			return each
		}
	}
	return nil
}

// load adds up what waits on the link.
func (s *sessions) load() (queued, kept ByLane) {
	if s.up() {
		for lane := range Lane(laneCount) {
			q, k := s.last.Load().Load(lane)
			queued[lane], kept[lane] = uint64(q), uint64(k)
		}
	}
	return queued, kept
}

// wrote counts what a connection has taken.
func (s *sessions) wrote(frames uint64, bytes [laneCount]uint64) {
	s.o.traffic.frames.Add(frames)
	for lane, n := range bytes {
		if n > 0 {
			s.traffic.sent[lane].Add(n)
			s.o.traffic.sent[lane].Add(n)
		}
	}
}

// heardBytes counts what a connection has given.
func (s *sessions) heardBytes(n int) {
	s.traffic.received.Add(uint64(n))
	s.o.traffic.received.Add(uint64(n))
}
