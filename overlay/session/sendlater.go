// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package session

import (
	"github.com/arke-mesh/arke/internal/after"
	"github.com/arke-mesh/arke/internal/waitline"
	"github.com/arke-mesh/arke/internal/wire"
)

// inLine is a message that stands in line for room in a lane, without a
// goroutine that waits for it.
type inLine struct {
	// Immutable.
	b     *outbox
	lane  wire.Lane
	acc   account
	kind  wire.Kind
	n     int // bytes of parts
	parts [][]byte
	lent  bool              // the last of parts is a loan …
	back  func(body []byte) // … which goes there
	sent  func(r Receipt, err error)

	// Guarded by b.mu.
	place  waitline.Place
	over   bool          // withdrawn, or on its way
	queued bool          // a small one has its place in the lane …
	number uint64        // … and its number
	lost   bool          // on its way, and not sent
	silent bool          // nobody wants to be told any more
	copied chan struct{} // of a large one on its way: closed when parts are not read any more
}

// SendLater is SendWait for who can't wait: the message stands in line, behind
// all who wait for the lane and before all who come later, and sent is called
// when it is queued or can't be any more. Errors are those of SendWait but for
// ctx's; those that are known at once are returned instead. sent is called as by
// Exec.Wake and must not block; it may be called before SendLater returns.
//
// parts must not change before sent is called or withdraw has returned. withdraw
// takes the message back and says whether it is certain not to be queued; sent is
// not called any more, unless that has begun. It may be called more than once.
func (b *outbox) SendLater(lane wire.Lane, k wire.Kind, sent func(r Receipt, err error), parts ...[]byte) (withdraw func() bool, err error) {
	return standInLine(b, lane, &inLine{kind: k, parts: parts, sent: sent})
}

// standInLine has p stand in line for room.
func standInLine(b *outbox, lane wire.Lane, p *inLine) (withdraw func() bool, err error) {
	n, err := b.cfg.measure(p.parts)
	if err != nil {
		return nil, err
	}
	p.b, p.n = b, n
	p.lane, p.acc, p.place.Size = place(lane, n)
	p.place.Wake = p.proceed
	if single(lane, n) {
		p.place.Granted = p.put
	}
	var do after.List
	b.mu.Lock()
	if b.over {
		b.mu.Unlock()
		return nil, ErrDown
	}
	b.log.join(p.acc, &p.place)
	b.grant(&do)
	b.mu.Unlock()
	do.Run()
	return p.withdraw, nil
}

// put queues a small message as soon as it has room, so that nobody behind it
// comes first. b.mu is held.
func (p *inLine) put() {
	p.over, p.queued = true, true
	if p.lent && mayLend(p.n, p.parts) {
		p.number = lend(p.b.log, p.kind, p.place.Size, p.back, p.parts)
		return
	}
	p.number = p.b.log.push(p.lane, p.acc, p.kind, p.place.Size, p.parts)
	p.giveBack()
}

// giveBack is after parts were copied.
func (p *inLine) giveBack() {
	if p.lent {
		l := loan{p.parts[len(p.parts)-1], p.back}
		l.giveBack()
	}
}

// proceed tells that the message is queued, queues a large one, which takes too
// long to be done under the lock, or tells that the session has ended.
func (p *inLine) proceed() {
	b := p.b
	b.mu.Lock()
	switch {
	case p.queued:
		silent := p.silent
		b.mu.Unlock()
		if !silent {
			p.sent(Receipt{Session: b.cfg.Number, Lane: p.lane, Number: p.number}, nil)
		}
		return
	case p.over:
		b.mu.Unlock()
		return
	}
	p.over = true
	if b.over || !p.place.HasTurn() {
		p.lost = true
		b.mu.Unlock()
		b.leave(p.acc, &p.place)
		p.sent(Receipt{}, ErrDown)
		return
	}
	p.copied = make(chan struct{})
	r, err := b.pushLarge(p.lane, p.acc, p.kind, p.n, p.place.Size, p.parts)
	b.mu.Lock()
	if err == nil {
		p.giveBack()
	}
	p.lost = err != nil
	close(p.copied)
	b.mu.Unlock()
	p.sent(r, err)
}

func (p *inLine) withdraw() bool {
	b := p.b
	b.mu.Lock()
	if !p.over {
		p.over, p.lost = true, true
		b.mu.Unlock()
		b.leave(p.acc, &p.place)
		return true
	}
	p.silent = true
	copied, lost := p.copied, p.lost
	b.mu.Unlock()
	if copied == nil {
		return lost
	}
	<-copied // not for long: it is a copy in memory
	return p.lost
}
