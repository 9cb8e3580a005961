// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package tunnel

import (
	"fmt"
	"io"

	"github.com/arke-mesh/arke/internal/credit"
	"github.com/arke-mesh/arke/internal/fifo"
	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/patterns"
)

// todo is what is to be done after a step, once the tunnel's mutex is released.
type todo uint8

const (
	changedIn  todo = 1 << iota // there is news for who receives
	changedOut                  // for who sends
	finishUp                    // the tunnel is finished
	giveCredit                  // the other side is to be told of the window's total
	sayEnd                      // an end may be due
	sayReset
	countLate   // a chunk came too late for anybody
	countForged // a reset that was not sealed
)

// state is one end of a tunnel: what its frames, and the program here, make of
// it. It is a pure core; the tunnel's mutex guards it.
type state struct {
	ends       ends
	window     credit.Window
	out        credit.Balance
	in         fifo.Queue[chunk] // came and was not read; its bound is the window
	delivering bool              // the first chunk, see DeliverTo
	within     bool              // what came last was not the end of its message
	part       []byte            // the beginning of a message that is not whole
	parted     bool              // there is one, however short
	unsent     int               // frames that stand in line for room in the lane
	known      bool              // the other side has said a word
	over       bool              // both directions have ended
	finished   bool              // and nothing is left to receive
	taken      uint64            // credit of what the program here had read when it closed
	unread     bool              // the other side closed and has not read all that was sent
	cutOff     bool              // and had not ended its own direction before
}

// chunk is a part of a message that came, or several messages.
type chunk struct {
	data    []byte
	from    int32 // what was not read begins here
	cost    int32 // what was not read of it has cost
	last    bool  // of its message
	several bool
	lent    bool // a program has messages of it
}

// next is how many bytes the next message, or the next part of one, has.
func (c *chunk) next() int {
	if !c.several {
		return len(c.data) - int(c.from)
	}
	body, _ := wire.FirstTunnelMessage(c.data[c.from:])
	return len(body)
}

// cut takes the next message from a chunk of several, and says what it cost and
// whether it was the last one.
func (c *chunk) cut() (body []byte, cost int, over bool) {
	body, rest := wire.FirstTunnelMessage(c.data[c.from:])
	if over = len(rest) == 0; over {
		return body, int(c.cost), true
	}
	n := int32(wire.TunnelLength + len(body))
	c.from += n
	c.cost -= n
	return body, int(n), false
}

// copyTo copies to b what it has room for of the next message, and says what that
// cost and whether it was the last of the chunk.
func (c *chunk) copyTo(b []byte) (n, cost int, over bool) {
	if !c.several {
		n = copy(b, c.data[c.from:])
		c.from += int32(n)
		if over = int(c.from) == len(c.data); over {
			cost = int(c.cost)
		}
		return n, cost, over
	}
	body, _ := wire.FirstTunnelMessage(c.data[c.from:])
	if n = copy(b, body); n == len(body) {
		_, cost, over = c.cut()
		return n, cost, over
	}
	c.from += int32(n) // and the rest is a message of its own, whose length is where nobody looks any more
	c.cost -= int32(n)
	wire.AppendTunnelLength(c.data[:c.from], len(body)-n)
	return n, n, false
}

// hear takes in what the other side says. opener: this end has opened the
// tunnel. An error says how the other side has broken the protocol.
func (s *state) hear(w word, opener bool) (todo, error) {
	if w.kind == wire.KindTunnelReset {
		if why, ok := heeded(w, s.known, opener); ok {
			return s.fail(resetError(why), why.Cause == wire.CauseProgram), nil
		}
		return countForged, nil
	}
	s.known = true
	switch w.kind {
	case wire.KindTunnelData:
		return s.came(w)
	case wire.KindTunnelCredit:
		if !s.over && s.out.Heard(w.total) {
			return changedOut, nil
		}
	case wire.KindTunnelEnd:
		heard := endingSend
		if w.closed {
			heard = endingClosed
			s.unread = s.out.Spent() > w.read
			s.cutOff = s.unread && s.ends.heard == endingNone
		}
		s.ends.hear(heard)
		return changedIn | changedOut | sayEnd | s.settle(), nil
	}
	return 0, nil
}

// returned takes in the credit that the other side gives back, into the budget.
func (s *state) returned(total uint64, b *credit.Budget) error {
	s.known = true
	if !s.over && !s.window.Returned(total, b) {
		return errNoCredit
	}
	return nil
}

// came takes in a chunk.
func (s *state) came(w word) (todo, error) {
	switch {
	case s.over:
		return countLate, nil
	case s.ends.heard > endingNone:
		return 0, errBehindEnd
	case s.within && w.flags&wire.FlagSeveral != 0:
		return 0, errWithin
	case !s.window.Came(len(w.data)):
		return 0, errNoCredit
	}
	s.within = w.flags&wire.FlagLast == 0
	s.in.Push(chunk{
		data: w.data, cost: int32(credit.Cost(len(w.data))),
		last: w.flags&wire.FlagLast != 0, several: w.flags&wire.FlagSeveral != 0,
	})
	return changedIn, nil
}

// heeded returns why a tunnel is reset, and says whether to heed it. A reset in
// the clear of one that is sealed proves nothing: the worst that a member makes
// of it is that the opening has failed, as long as the opener has not spoken. A gateway that
// passes a tunnel on could cut it off anyway, so its word is enough for that.
func heeded(w word, known, opener bool) (wire.TunnelReset, bool) {
	if !w.clear {
		return *w.reset, true
	}
	return wire.TunnelReset{Cause: wire.CauseInterrupted}, w.far || !known && !opener
}

// resetError is what a reset means to the program here.
func resetError(m wire.TunnelReset) error {
	switch m.Cause {
	case wire.CauseProgram:
		return &patterns.TunnelError{Code: patterns.Code(m.Code), Message: m.Text}
	case wire.CauseOverloaded:
		return patterns.ErrOverloaded
	case wire.CauseForged:
		return errForged
	}
	return patterns.ErrInterrupted
}

// deaf says whether the program here does not receive any more.
func (s *state) deaf() bool { return s.ends.wanted == endingClosed }

// next says what the receiver has to do with what has come: nil = there is a
// chunk, errNothing = there is none yet, else none will come.
func (s *state) next() error {
	switch {
	case s.deaf() && s.ends.err == nil:
		return patterns.ErrClosed
	case s.delivering:
		return errNothing
	case s.in.Len() > 0:
		return nil
	case s.ends.err != nil:
		return s.ends.err
	case s.ends.heard > endingNone && s.parted:
		return io.ErrUnexpectedEOF
	case s.ends.heard > endingNone:
		return io.EOF
	}
	return errNothing
}

// assemble adds the next chunk, which has come and cost so much, to its message,
// and returns that if it is whole. spare is the chunk's memory, if the message
// does not have it.
func (s *state) assemble(limit int) (body []byte, whole bool, cost int, spare []byte, err error) {
	first := s.in.First()
	if n := first.next(); len(s.part)+n > limit {
		return nil, false, 0, nil, fmt.Errorf("%w: the message has more than %d bytes: use ReceiveTo", patterns.ErrTooLarge, limit)
	}
	if first.several {
		first.lent = true
		body, cost, over := first.cut()
		if over {
			s.in.Pop()
		}
		return body, true, cost, nil, nil
	}
	c := s.in.Pop()
	cost = int(c.cost)
	if c.last && !s.parted {
		return c.data[c.from:], true, cost, nil, nil
	}
	s.part, s.parted = append(s.part, c.data[c.from:]...), true
	if c.last {
		body = s.takePart()
	}
	return body, c.last, cost, c.data, nil
}

func (s *state) takePart() []byte {
	part := s.part
	s.part, s.parted = nil, false
	return part
}

// read notes that chunks of that cost were read.
func (s *state) read(cost int) (due bool) {
	s.window.Read(cost)
	return !s.over && s.ends.heard == endingNone // else nobody sends any more
}

// maySend returns why nothing can be sent; nil = something may.
func (s *state) maySend() error {
	switch {
	case s.ends.err != nil:
		return s.ends.err
	case s.ends.maySend():
		return nil
	case s.ends.wanted > endingNone:
		return patterns.ErrClosed
	}
	return s.closedThere()
}

// closedThere is the error of sending to a side that has closed.
func (s *state) closedThere() error {
	if s.unread {
		return patterns.ErrUnread
	}
	return patterns.ErrPeerClosed
}

// err returns how the tunnel ended; nil = it did not, or in good order.
func (s *state) err() error {
	if s.ends.err == nil && s.over && s.unread {
		return patterns.ErrUnread
	}
	return s.ends.err
}

// cut is maySend within a message: an end that was asked for here waits for it.
func (s *state) cut() error {
	switch {
	case s.ends.err != nil:
		return s.ends.err
	case s.ends.heard == endingClosed:
		return s.closedThere()
	}
	return nil
}

// want ends this side's part so far.
func (s *state) want(e ending) todo {
	if e == endingClosed && !s.deaf() {
		s.taken = s.window.ReadTotal()
	}
	s.ends.want(e)
	return changedOut | sayEnd | s.settle()
}

// told notes that the end that was due is said, and frames that stood in line
// have left.
func (s *state) told(e ending) todo {
	s.ends.told = max(s.ends.told, e)
	return s.settle()
}

// left notes that a frame which stood in line has left, or never will.
func (s *state) left() todo {
	s.unsent--
	return s.settle()
}

// fail ends both directions. What came can be received still, unless drop says
// otherwise. Of a tunnel that is over all has come, so nobody waits for the reader.
func (s *state) fail(err error, drop bool) todo {
	if s.over {
		return s.finish()
	}
	s.ends.err = err
	if drop {
		s.drop()
	}
	return s.settle()
}

// drop throws away what was not received, and returns what it cost.
func (s *state) drop() (cost int) {
	for s.in.Len() > 0 {
		cost += int(s.in.Pop().cost)
	}
	s.takePart()
	return cost
}

// settle notices that both directions have ended. In good order that is not
// before all that was sent has left: what stands in line still belongs to it. And the
// tunnel is not finished before all that came was read.
func (s *state) settle() (do todo) {
	if !s.over && s.ends.over() && (s.ends.err != nil || s.unsent == 0) {
		s.over = true
		do = changedIn | changedOut
	}
	if s.over && (s.ends.err != nil || s.deaf() || s.in.Len() == 0) {
		do |= s.finish()
	}
	return do
}

func (s *state) finish() todo {
	if s.finished {
		return 0
	}
	s.finished = true
	return finishUp
}
