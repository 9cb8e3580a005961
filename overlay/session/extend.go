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
	n, err := b.cfg.measure(parts)
	if err != nil || r.Session != b.cfg.Number || r.Number == 0 {
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
	g, acc, longest := &q.lanes[lane], account(lane), wire.MaxPayload
	c, at, waits := g.tail, g.last, false
	if y := &q.youngest; lane == wire.LaneBulk {
		if number != y.name() {
			return false
		}
		number, acc, longest = y.number, singles, longest+frameSlack
		c, at, waits = y.c, y.at, number == 0 && y.c == q.bulk.plain.chunks.tail
	}
	if c == nil || !waits && !g.unsentLast(number) || !c.grows(at, n, min(limit, longest)) || !q.reserve(acc, n) {
		return false
	}
	q.windows[acc].promised -= n
	c.b = wire.ExtendFrame(c.b, at, parts...)
	return true
}

// unsentLast says whether frame number is the last one, and was not sent.
func (g *laneLog) unsentLast(number uint64) bool { return number == g.pushed && number > g.taken }

// grows says whether the frame at the end of the chunk, which begins at at, may have n
// bytes more, up to limit.
func (c *chunk) grows(at, n, limit int) bool {
	return c.room(n) && len(c.b)-at-wire.FrameOverhead+n <= limit &&
		wire.KindOf(c.b[at+wire.FrameOverhead-1]) != wire.KindVoid
}

// youngest is the single frame of lane bulk that was pushed last.
type youngest struct {
	c      *chunk
	at     int    // where it begins there
	number uint64 // in the lane; 0 = it waited for its turn then
	count  uint64 // of all there were
}

// aSingle marks names of single frames of lane bulk, which are no numbers.
const aSingle = 1 << 63

// is notes a new one and returns its name.
func (y *youngest) is(c *chunk, at int, number uint64) uint64 {
	*y = youngest{c, at, number, y.count + 1}
	return y.name()
}

func (y *youngest) name() uint64 { return y.count | aSingle }
