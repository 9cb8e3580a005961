// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"time"

	"github.com/libp2p/go-libp2p/core/network"

	"github.com/arke-mesh/arke/overlay"
)

// delivery is all that one end of a stream sent in one step.
type delivery struct {
	open  bool    // the stream is new
	data  []byte  //
	end   bool    // CloseWrite
	reset *uint32 // Reset's code
}

// order implements outgoing.
func (s *stream) order() key { return s.c.key(kindData, 1-s.end, s.id) }

// commit implements outgoing.
func (s *stream) commit() {
	s.dirty = false
	c, to := s.c, s.other
	d := delivery{open: s.opening, data: s.out, end: s.closing, reset: s.resetBy}
	s.opening, s.out, s.closing, s.resetBy = false, nil, false, nil
	if s.heard != nil && len(d.data) > 0 {
		s.heard(time.Duration(c.n.now()), d.data)
	}
	if d.open || len(d.data) > 0 || d.end || d.reset != nil {
		if p := c.path(s.end); p.narrow() {
			p.ship(s, d)
		} else {
			s.dispatch(d)
		}
	}
	if credit := s.credit; credit > 0 {
		s.credit = 0
		c.flows[s.end].send(c.key(kindCredit, to.end, s.id), credit, 0, func() {
			to.flying -= credit
			to.writable.Broadcast()
		})
	}
}

// dispatch gives a delivery to the connection.
func (s *stream) dispatch(d delivery) {
	to := s.other
	s.c.flows[s.end].send(s.c.key(kindData, to.end, s.id), len(d.data), d.sum(), func() { to.receive(d) })
}

func (d *delivery) sum() uint64 {
	h := sumBytes(d.data)
	if d.open {
		h = mix(h, 1)
	}
	if d.end {
		h = mix(h, 2)
	}
	if d.reset != nil {
		h = mix(h, 3+uint64(*d.reset))
	}
	return h
}

// receive takes a delivery at the far end. It wakes the reader, or calls
// HandleStream, but never both and nobody else.
func (s *stream) receive(d delivery) {
	c := s.c
	p := c.ends[s.end]
	if !c.open[s.end] || p.state != stateUp {
		return
	}
	if d.open {
		c.streams[s.end] = append(c.streams[s.end], s)
	}
	switch {
	case d.open && c.local():
		p.enter(s)
	case d.open:
		p.call(c.ends[1-s.end].host.index, func(h overlay.TransportHandler) { h.HandleStream(s) })
	}
	if d.reset != nil {
		s.fail(&network.StreamError{ErrorCode: network.StreamErrorCode(*d.reset), Remote: true})
		return
	}
	if s.readErr != nil {
		s.consume(len(d.data)) // thrown away, but the sender may go on
	} else {
		s.unread = append(s.unread, d.data...)
	}
	s.ended = s.ended || d.end
	s.settle()
	s.readable.Broadcast()
}
