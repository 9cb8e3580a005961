// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package session

import "github.com/arke-mesh/arke/internal/wire"

// loan is the long end of a message that a session keeps by reference until the peer has
// acknowledged it: what came on one connection and goes on over another one is not
// copied. Nobody changes body meanwhile.
type loan struct {
	body []byte
	back func(body []byte) // takes it when nobody looks at it any more; nil = nobody does
}

func (l *loan) giveBack() {
	if l.back != nil {
		l.back(l.body)
	}
}

// mayLend says whether the end of a message of n bytes in lane bulk is kept by
// reference. A shorter one most likely lies in memory that holds much more than what the
// window counts; and what is longer travels in fragments.
func mayLend(n int, parts [][]byte) bool {
	body := len(parts[len(parts)-1])
	return body >= wire.LentFrom && wire.FrameOverhead+n-body <= headChunk && single(wire.LaneBulk, n)
}

// Lend is Send on lane bulk that need not copy the last of parts: if kept, the session
// keeps it by reference, and nobody may change it until back gets it, which is when the
// peer has acknowledged it. back must not block, and is called at most once: what is
// kept when the session ends is the collector's. Else all was copied, or there is an
// error. That there is no room is not counted: who lends stands in line then.
func Lend(s *Session, k wire.Kind, back func(body []byte), parts ...[]byte) (kept bool, err error) {
	b := s.out
	n, err := b.cfg.measure(parts)
	if err != nil {
		return false, err
	}
	lane, acc, size := place(wire.LaneBulk, n)
	b.mu.Lock()
	if b.over || !b.log.reserve(acc, size) {
		over := b.over
		b.mu.Unlock()
		if over {
			return false, ErrDown
		}
		return false, ErrLaneFull
	}
	if !mayLend(n, parts) {
		_, err = b.push(lane, acc, k, n, size, parts)
		return false, err
	}
	lend(b.log, k, size, back, parts)
	b.pushed(lane)
	return true, nil
}

// LendLater is SendLater on lane bulk that need not copy the last of parts either: it is
// the session's from here on, and goes to back when it was copied, or acknowledged.
func LendLater(s *Session, k wire.Kind, sent func(r Receipt, err error), back func(body []byte), parts ...[]byte) (withdraw func() bool, err error) {
	return standInLine(s.out, wire.LaneBulk, &inLine{kind: k, parts: parts, lent: true, back: back, sent: sent})
}

// lend appends one frame of lane bulk, for which room was reserved. It copies all of
// parts but the last.
func lend(q *sendLog, k wire.Kind, size int, back func(body []byte), parts [][]byte) uint64 {
	q.windows[singles].promised -= size
	c := q.pool.head()
	c.account, c.frames = singles, 1
	c.b = wire.AppendFrameHead(c.b, wire.LaneBulk, k, size-wire.FrameOverhead)
	last := len(parts) - 1
	for _, p := range parts[:last] {
		c.b = append(c.b, p...)
	}
	c.loan = loan{parts[last], back}
	g := &q.lanes[wire.LaneBulk]
	if g.at == nil && passes(q, size) {
		g.add(c)
		return q.youngest.is(c, 0, g.pushed)
	}
	q.bulk.plainChunks().push(c)
	return q.youngest.is(c, 0, 0)
}
