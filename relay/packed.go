// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package relay

import (
	"bytes"

	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/overlay/session"
)

// packs says whether the client takes several messages in a frame.
func packs(c *client) bool { return c.features&wire.FeatureSeveral != 0 }

// packed is the frame of publications that a client was sent last: those that follow, of
// the same publisher and topic and for the same subscriptions, share it until the
// connection takes it. A program that keeps one of them keeps the frame, as one that embeds
// a node does. The zero value is ready. Not for concurrent use.
type packed struct {
	head  []byte
	last  session.Receipt // the zero value = there is none
	bytes int             // of messages in it

	parts [][]byte // scratch, as the next
	heads []byte
}

// send sends messages that begin with head. It says how many were queued: all, or those
// before the one that err is about.
func (p *packed) send(s *session.Session, head []byte, tails [][]byte) (n int, err error) {
	defer func() { clear(p.parts) }()
	if !bytes.Equal(p.head, head) {
		p.head, p.last = append(p.head[:0], head...), session.Receipt{}
	}
	room := wire.MaxPayload - len(head)
	for count := len(tails); n < len(tails); {
		left := tails[n:min(n+count, len(tails))]
		if p.last.Number != 0 {
			if k, size := p.fill(left, room-p.bytes); k > 0 && session.Extend(s, p.last, p.parts[1:]...) {
				p.bytes += size
				n += k
				continue
			}
			p.last = session.Receipt{}
		}
		k, size := p.fill(left, room)
		if k == 0 {
			k, size = p.fill(left[:1], wire.MessageHead+len(left[0]))
		}
		p.parts[0] = p.head
		r, err := s.Send(wire.LanePub, wire.KindPublish, p.parts...)
		if err == session.ErrLaneFull && k > 1 {
			count = 1 // some may have room
			continue
		}
		if err != nil {
			return n, err
		}
		p.last, p.bytes = r, size
		n += k
	}
	return n, nil
}

// fill makes parts, but for the first one, of messages from the beginning of tails that
// have so many bytes at most, and says how many these are, and their bytes.
func (p *packed) fill(tails [][]byte, most int) (n, size int) {
	p.heads = p.heads[:0]
	for ; n < len(tails) && size+wire.MessageHead+len(tails[n]) <= most; n++ {
		p.heads = wire.AppendMessage(p.heads, "", nil, len(tails[n]))
		size += wire.MessageHead + len(tails[n])
	}
	p.parts = append(p.parts[:0], nil)
	for i, tail := range tails[:n] {
		at := i * wire.MessageHead
		p.parts = append(p.parts, p.heads[at:at+wire.MessageHead], tail)
	}
	return n, size
}
