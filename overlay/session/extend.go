// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package session

import "github.com/arke-mesh/arke/internal/wire"

// Extend adds parts to the end of the message that r names, so that what comes
// while the connection is busy travels together. That is done only as long as
// nothing of the message was sent, it is the last one of its lane, it stays in one
// frame, and the lane has room; false means that nothing was done, and is no loss:
// the next Send says why. It copies parts.
func Extend(s *Session, r Receipt, parts ...[]byte) bool {
	b := s.out
	n, err := b.measure(parts)
	if err != nil || r.Session != b.cfg.Number || r.Number == 0 || r.Lane == wire.LaneBulk {
		return false
	}
	b.mu.Lock()
	done := !b.over && b.log.extend(r.Lane, r.Number, n, b.writer.pace.limit, parts)
	b.mu.Unlock()
	return done // whoever sent the message has told the writer of it
}

// extend adds n bytes, parts, to frame number of a lane, which must not get longer
// than limit: on a slow link it would hold up others.
func (q *sendLog) extend(lane wire.Lane, number uint64, n, limit int, parts [][]byte) bool {
	c := q.lanes[lane].growing(number, n, min(limit, wire.MaxPayload))
	if c == nil || !q.reserve(account(lane), n) {
		return false
	}
	q.windows[lane].promised -= n
	c.b = wire.ExtendFrame(c.b, q.lanes[lane].last, parts...)
	return true
}

// growing returns the chunk of frame number, if that is the last one, was not sent,
// and may have n bytes more and is not longer than limit then; or nil.
func (g *laneLog) growing(number uint64, n, limit int) *chunk {
	c := g.tail
	if number != g.pushed || number <= g.taken || c == nil || !c.room(n) {
		return nil
	}
	if len(c.b)-g.last-wire.FrameOverhead+n > limit || wire.KindOf(c.b[g.last+wire.FrameOverhead-1]) == wire.KindVoid {
		return nil
	}
	return c
}
