// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package pubsub

import (
	"slices"

	"github.com/libp2p/go-libp2p/core/peer"

	"github.com/arke-mesh/arke/internal/wire"
)

// The head of a branch that is lost, or suspect, may have passed on what it has
// not acknowledged, or not. Those behind it are sent that once more on another
// way, with the same numbers: what they have they drop.

// resend is one message that goes again, and to whom.
type resend struct {
	m  wire.Publish
	to []*receiver
}

// tail is what is the same for all receivers.
func (s *resend) tail() [2][]byte { return [2][]byte{s.m.Tail} }

// rewound is a branch whose receivers count as if the messages had not been
// sent.
type rewound struct {
	stops   []*receiver // by index, as the messages name them
	pending []uint32    // what they were sent on other ways after the last message
	again   []resend
}

// rewind takes back what the head of a branch has not acknowledged, for those
// behind it. It returns nil if there is nothing.
func (s *spread) rewind(b *branch) *rewound {
	w := &rewound{stops: slices.Clone(b.stops), pending: make([]uint32, len(b.stops))}
	for i, r := range w.stops {
		switch {
		case r == nil:
		case r.branch != b || r.pending == wire.SkipLeft:
			w.stops[i] = nil // it is reached on another way already
		default:
			w.pending[i] = r.pending
		}
	}
	for _, m := range b.head.pipe(s.e).unacknowledged(s.session, s.epoch) {
		publisher := s.source
		if m.Publisher != "" {
			publisher = peer.ID(m.Publisher)
		}
		to := s.audience.receivers(s.audience.match(m.Topic), m.Picks, publisher, nil)
		to = slices.DeleteFunc(to, func(r *receiver) bool { return !w.has(r) })
		w.again = append(w.again, resend{m, to})
	}
	if len(w.again) == 0 || !w.back() {
		return nil
	}
	return w
}

func (w *rewound) has(r *receiver) bool {
	return r.index >= 0 && r.index < len(w.stops) && w.stops[r.index] == r
}

// back sets the numbers to those before the first message, unless they can't be
// right.
func (w *rewound) back() bool {
	sums := make([]uint64, len(w.stops))
	for i, n := range w.pending {
		sums[i] = uint64(n)
	}
	for i := range w.again {
		for _, r := range w.again[i].to {
			sums[r.index]++
		}
		for _, skip := range w.again[i].m.Skips {
			if int(skip.Index) < len(sums) && skip.Add != wire.SkipLeft {
				sums[skip.Index] += uint64(skip.Add)
			}
		}
	}
	for i, r := range w.stops {
		if r != nil && r.number < sums[i] {
			return false
		}
	}
	for i, r := range w.stops {
		if r != nil {
			r.number -= sums[i]
		}
	}
	return true
}

// receivers returns those behind the head.
func (w *rewound) receivers() []*receiver {
	return slices.DeleteFunc(slices.Clone(w.stops), func(r *receiver) bool { return r == nil })
}

// forth has send send each message again, with the numbers that it had.
func (w *rewound) forth(send func(again *resend)) {
	for i := range w.again {
		for _, skip := range w.again[i].m.Skips {
			if int(skip.Index) < len(w.stops) && skip.Add != wire.SkipLeft {
				w.pass(int(skip.Index), skip.Add)
			}
		}
		send(&w.again[i])
	}
	for i, n := range w.pending {
		w.pass(i, n)
	}
}

func (w *rewound) pass(i int, n uint32) {
	if r := w.stops[i]; r != nil && n > 0 {
		r.number += uint64(n)
		r.passBy(uint64(n))
	}
}

// replay sends what lost heads have not acknowledged to those behind them, of
// whom one stands in for the head: a loss costs this node one more copy of each
// message. There is no other tree any more.
func (c *course) replay() {
	var all []*rewound
	for _, b := range c.branches {
		if len(b.stops) > 0 && b.head.pipe(c.e).isSilent() {
			if w := c.rewind(b); w != nil {
				all = append(all, w)
			}
		}
	}
	c.branches = nil
	for _, w := range all {
		c.detour(w.receivers(), 1)
		w.forth(func(s *resend) {
			o := &outgoing{topic: s.m.Topic, picks: s.m.Picks, tree: true, epoch: c.epoch, near: s.tail(), far: s.tail()}
			c.leaveOut(c.distribute(o, s.to))
		})
	}
}

// replay sends what the head of a branch has not acknowledged to each of those
// behind it, who are reached directly from now on: there will be another path
// soon.
func (g *leg) replay(b *branch) {
	w := g.rewind(b)
	for _, r := range b.stops {
		if r != nil && r.branch == b {
			r.uproot()
		}
	}
	b.stops, b.skips, b.known = nil, nil, false
	if w == nil {
		return
	}
	w.forth(func(s *resend) {
		for _, r := range s.to {
			g.alone(r, s.tail())
		}
	})
}

// isSilent says whether there is no link, or nothing comes on it.
func (q *pipe) isSilent() bool { return q.link.Session() == 0 || q.link.Suspect() }

// mayLack says whether the peer is silent, and something is kept for it.
func (q *pipe) mayLack() bool { return q.isSilent() && q.unconfirmed() > 0 }

// unacknowledged returns what was sent to the peer on that path, or waits to be,
// and was not acknowledged, as far as it is kept and the peer has not been told
// the path anew since.
func (q *pipe) unacknowledged(session uint64, epoch uint32) (list []wire.Publish) {
	q.mu.Lock()
	defer q.mu.Unlock()
	var large []byte
	for f := range q.kept.frames {
		body := slices.Concat(f.parts[0], f.parts[1])
		switch f.kind {
		case wire.KindPath:
			if p, err := wire.DecodePath(body); err == nil && p.Session == session && p.Epoch == epoch {
				list = nil
			}
			continue
		case wire.KindPublishPart:
			if body[0]&wire.PartFirst != 0 {
				large = nil
			}
			large = append(large, body[1:]...)
			if body[0]&wire.PartLast == 0 {
				continue
			}
			body, large = large, nil
		case wire.KindPublish:
		default:
			continue
		}
		if m, err := wire.DecodePublish(body); err == nil && m.Session == session && m.Epoch == epoch {
			list = append(list, m)
		}
	}
	return list
}
