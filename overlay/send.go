// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package overlay

import (
	"context"

	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/overlay/session"
)

// Receipt names a message that was queued, for Withdraw and Written. Its zero
// value names none.
type Receipt = session.Receipt

// present is the session to send in, nil if there is none.
func (l *Link) present() (*session.Session, error) {
	for l.number.Load() == 0 {
		if l.o.leaving() {
			return nil, ErrClosed
		}
		if !l.forgotten.Load() {
			return nil, ErrLinkDown
		}
		l = l.o.Link(l.peer)
	}
	if l.o.leaving() {
		return nil, ErrClosed
	}
	return l.last.Load(), nil
}

// Send queues one message and returns what names it. It never blocks, and copies
// parts, whose concatenation is the body. More than MaxFrameBody bytes go in
// fragments, on lane bulk unless lane is pub. A link whose connection is broken
// queues what its windows allow.
//
// Errors: ErrLinkDown, ErrLaneFull (counted), ErrTooLarge, ErrClosed. Without
// an error the message arrives once, in the order of its lane, unless the
// session ends.
func (l *Link) Send(lane Lane, k wire.Kind, parts ...[]byte) (Receipt, error) {
	s, err := l.present()
	if err != nil {
		return Receipt{}, err
	}
	return s.Send(lane, k, parts...)
}

// SendWait is Send, but waits for room in the lane until ctx ends. It fails
// with ErrLinkDown when the session ends meanwhile.
func (l *Link) SendWait(ctx context.Context, lane Lane, k wire.Kind, parts ...[]byte) (Receipt, error) {
	s, err := l.present()
	if err != nil {
		return Receipt{}, err
	}
	r, err := s.SendWait(ctx, lane, k, parts...)
	return r, l.o.explain(err)
}

// SendLater is SendWait for who can't wait; see session.Session.SendLater.
func (l *Link) SendLater(lane Lane, k wire.Kind, sent func(r Receipt, err error), parts ...[]byte) (withdraw func() bool, err error) {
	s, err := l.present()
	if err != nil {
		return nil, err
	}
	return s.SendLater(lane, k, sent, parts...)
}

// HasRoom says whether Send of n bytes would find room in the lane now. It is
// false while the link is down.
func (l *Link) HasRoom(lane Lane, n int) bool {
	s, err := l.present()
	return err == nil && s.HasRoom(lane, n)
}

// WaitRoom waits for room as SendWait does, for who decides only then what to
// send: until HasRoom is true, or ctx ends. It fails with ErrLinkDown as SendWait
// does. Nobody who waits behind the caller comes before it until it has called
// done, which it does as soon as it has sent, or has not; more than one call is
// one.
func (l *Link) WaitRoom(ctx context.Context, lane Lane, n int) (done func(), err error) {
	s, err := l.present()
	if err != nil {
		return nil, err
	}
	done, err = s.WaitRoom(ctx, lane, n)
	return done, l.o.explain(err)
}

// Withdraw takes a message back, and says whether it is certain that the peer has
// not handled it and never will: it was not written to a connection, or the peer
// said goodbye before it came to it. Of a session that is neither the last nor the
// one before, nothing is certain.
func (l *Link) Withdraw(r Receipt) bool {
	s := l.session(r)
	return s != nil && s.Withdraw(r)
}

// session is the one that a receipt is of, nil if it is too long ago.
func (l *Link) session(r Receipt) *session.Session {
	for _, s := range []*session.Session{l.last.Load(), l.former.Load()} {
		if s != nil && s.Number() == r.Session {
			return s
		}
	}
	return nil
}

// Written says whether a message was written to a connection that is not known to
// have lost it.
func (l *Link) Written(r Receipt) bool {
	s := l.session(r)
	return s == nil || s.Written(r)
}

// explain tells the end of everything from that of a link.
func (o *Overlay) explain(err error) error {
	if err == ErrLinkDown && o.leaving() {
		return ErrClosed
	}
	return err
}
