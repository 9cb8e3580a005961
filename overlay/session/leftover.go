// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package session

import (
	"time"

	"github.com/arke-mesh/arke/internal/wire"
)

// Message is one that was queued.
type Message struct {
	Kind   wire.Kind
	Body   []byte
	Number uint64 // of its last frame in the lane
}

// Leftover is what became of a lane's messages that were not acknowledged when
// the session ended.
type Leftover struct {
	// Unhandled are those that the peer certainly has not handled, in order: they
	// were not sent, or lie beyond what its Goodbye says. They may be sent
	// elsewhere.
	Unhandled []Message
	// Unknown are those that were sent, which it may have handled, as there was no
	// Goodbye; one of which not all is left has no body.
	Unknown []Message
}

// Leftover returns what became of the messages of the lane Config.Rescue, once,
// after End.
func (s *Session) Leftover() Leftover {
	b := s.out
	b.mu.Lock()
	defer b.mu.Unlock()
	left := b.left
	b.left = Leftover{}
	return left
}

// leftover takes a lane of the log apart. handled is how far the peer has come,
// if it has said so.
func (q *sendLog) leftover(lane wire.Lane, handled *wire.Counts) (left Leftover) {
	g := &q.lanes[lane]
	known, sent := g.acked, g.taken
	if handled != nil {
		known = max(known, handled[lane])
		sent = known
	}
	parts := newReassembly(q.bulk.maxTotal, unbounded{}, nil)
	for c := g.head; c != nil; c = c.next {
		n := c.first
		for b := c.whole(); len(b) > 0; n++ {
			k, body, size := wire.FirstFrame(b)
			b = b[size:]
			if n > known && k != wire.KindVoid {
				left.add(parts, n > sent, n, k, body)
			}
		}
	}
	return left
}

// add takes in one frame, and joins fragments.
func (l *Leftover) add(parts *reassembly, unsent bool, n uint64, k wire.Kind, body []byte) {
	if k == wire.KindFragment {
		f, err := wire.DecodeFragment(body)
		if err != nil {
			return
		}
		if k, body, _ = parts.add(time.Time{}, f); k == 0 && f.Last { // its beginning was acknowledged
			l.Unknown = append(l.Unknown, Message{Number: n})
		}
		if k == 0 {
			return
		}
	}
	if unsent {
		l.Unhandled = append(l.Unhandled, Message{k, body, n})
		return
	}
	l.Unknown = append(l.Unknown, Message{k, body, n})
}
