// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package relay

import (
	"errors"
	"sync"

	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/overlay/session"
	"github.com/arke-mesh/arke/patterns"
)

// answers are what one client is told: the replies of its calls, and what became
// of what it asked for.
type answers struct {
	c    *client
	late late
}

// reply queues the reply of a call. If there is no room it stands in line: a
// burst of large replies is no fault of the client. What stands there is bounded
// like what is under way.
func (a *answers) reply(r wire.Reply) {
	var buf [128]byte
	head := r.AppendHead(buf[:0])
	if a.c.tooLarge(len(r.Tail)) {
		a.c.relay.count.drop(dropBadReply)
		r = failed(r.ID, patterns.ErrTooLarge)
		head = r.AppendHead(buf[:0])
	}
	_, err := a.c.sess.Send(wire.LaneRPC, wire.KindReply, head, r.Tail)
	if errors.Is(err, session.ErrLaneFull) {
		a.replyLater(&r)
	}
}

// replyLater has a reply stand in line. Beyond the limits, something smaller
// takes its place, because every call has a reply; and who does not read even
// that loses the session.
func (a *answers) replyLater(r *wire.Reply) {
	size := len(r.Tail)
	switch a.late.take(size, &a.c.relay.cfg.Limits) {
	case lateLost:
		a.c.relay.count.drop(dropSlowReply)
		*r, size = failed(r.ID, patterns.ErrInterrupted), 0
	case lateFlood:
		a.c.relay.count.ended[wire.EndSilent].Add(1)
		a.c.log.Warn("ended the session of a client that does not read")
		a.c.end(errSlow)
		return
	}
	_, err := a.c.sess.SendLater(wire.LaneRPC, wire.KindReply, func(session.Receipt, error) { a.late.done(size) }, r.AppendHead(nil), r.Tail)
	if err != nil {
		a.late.done(size)
	}
}

// done queues a Done, or has it stand in line.
func (a *answers) done(lane wire.Lane, id uint64, err error, value uint64) {
	f := failureOf(err)
	m := wire.Done{ID: id, Outcome: f.Outcome, Code: f.Code, Value: value, Text: f.Text}
	if f.MaybeRan {
		m.Flags = wire.FlagMaybeRan
	}
	if err == nil {
		m.Flags = 0
	}
	body := m.AppendTo(nil)
	if _, err := a.c.sess.Send(lane, wire.KindDone, body); !errors.Is(err, session.ErrLaneFull) {
		return
	}
	if a.late.take(0, &a.c.relay.cfg.Limits) == lateFlood {
		a.c.end(errSlow)
		return
	}
	if _, err := a.c.sess.SendLater(lane, wire.KindDone, func(session.Receipt, error) { a.late.done(0) }, body); err != nil {
		a.late.done(0)
	}
}

// late bounds the answers to one client that stand in line for room in a lane.
type late struct {
	mu    sync.Mutex
	count int
	bytes int
	room  portion // for bytes
}

// What becomes of an answer that finds no room.
type lateReply uint8

const (
	lateWaits lateReply = iota
	lateLost            // its place is counted, but its bytes are too many
	lateFlood           // so many wait already that the client can't be reading
)

// take takes a place for an answer of size bytes.
func (l *late) take(size int, limits *Limits) lateReply {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.count >= 2*limits.Requests {
		return lateFlood
	}
	fate := lateWaits
	covered := l.room.Cover(l.bytes + size)
	if size > smallAnswer && (l.count >= limits.Requests || l.bytes > 0 && (l.bytes+size > limits.RequestBytes || !covered)) {
		fate, size = lateLost, 0
	}
	l.count++
	l.bytes += size
	return fate
}

// smallAnswer is what is not worth replacing, in bytes.
const smallAnswer = 1 << 10

func (l *late) done(size int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.count--
	l.bytes -= size
	l.room.Cover(l.bytes)
}
