// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package session

import (
	"context"
	"sync"

	"github.com/arke-mesh/arke/internal/after"
	"github.com/arke-mesh/arke/internal/waitline"
	"github.com/arke-mesh/arke/internal/wire"
)

// Receipt names a message that was queued: Withdraw understands it.
type Receipt struct {
	Session uint64 // Config.Number of its session
	Number  uint64 // in its lane; single frames of lane bulk can't be asked for, only extended
	Lane    wire.Lane
}

// outbox is the sending half of a session: what is queued, what is kept, and who
// waits for room. It lives as long as the session, whatever carries it.
type outbox struct {
	// Immutable after New.
	cfg   *Config
	kick  chan struct{} // has room for one: the writer shall look again
	nudge func()        // puts something there

	// Guarded by mu.
	mu       sync.Mutex
	log      *sendLog
	over     bool // nobody can send any more
	writer   writer
	channel  uint32
	aside    []byte // encoded frames of the connection itself; they leave first
	ack      ackState
	farewell *farewell
	left     Leftover // since the end
}

// asideLimit bounds what waits in aside, in bytes: some beats and notices.
const asideLimit = 4 << 10

// farewell is how this side ends the session once everything was sent.
type farewell struct {
	code   uint32
	reason string
}

func (b *outbox) wake(name string, f func()) {
	b.cfg.Exec.Wake(ExecKey{Name: name, N: b.cfg.Key}, f)
}

// kicked says, under mu, whether the writer has to be nudged once mu is released.
func (b *outbox) kicked() bool {
	w := &b.writer
	if !w.idle || w.held {
		return false
	}
	w.idle = false
	return true
}

func (b *outbox) stir() { b.wake("session/write", b.nudge) }

// Send queues one message. It never blocks, and copies parts, whose concatenation
// is the body. More than 64 KiB go in fragments, on lane bulk unless lane is pub;
// what is meant for lane bulk may have 64 bytes more.
//
// Errors: ErrDown, ErrLaneFull (counted), ErrTooLarge. Without an error the
// message arrives once, in the order of its lane, unless the session ends.
func (b *outbox) Send(lane wire.Lane, k wire.Kind, parts ...[]byte) (Receipt, error) {
	n, err := b.cfg.measure(parts)
	if err != nil {
		return Receipt{}, err
	}
	lane, acc, size := place(lane, n)
	b.mu.Lock()
	if b.over {
		b.mu.Unlock()
		return Receipt{}, ErrDown
	}
	if !b.log.reserve(acc, size) {
		b.mu.Unlock()
		b.cfg.Dropped(DropLaneFullCtl+Drop(lane), 1)
		return Receipt{}, ErrLaneFull
	}
	return b.push(lane, acc, k, n, size, parts)
}

// push queues a message for which room is reserved, and releases mu. The way of
// every message: nothing here allocates but for large ones.
func (b *outbox) push(lane wire.Lane, acc account, k wire.Kind, n, size int, parts [][]byte) (Receipt, error) {
	if !single(lane, n) {
		return b.pushLarge(lane, acc, k, n, size, parts)
	}
	r := Receipt{Session: b.cfg.Number, Lane: lane, Number: b.log.push(lane, acc, k, size, parts)}
	b.pushed(lane)
	return r, nil
}

// pushed sees to it that what was pushed is written, and releases mu.
func (b *outbox) pushed(lane wire.Lane) {
	if b.writer.held || held(b, lane) {
		b.mu.Unlock()
		return
	}
	quiet := inlineAfter
	if lane == wire.LanePub {
		quiet = inlineAfterPub
	}
	write(b, quiet)
}

// pushLarge is push for what is cut: a large copy must not hold up others.
func (b *outbox) pushLarge(lane wire.Lane, acc account, k wire.Kind, n, size int, parts [][]byte) (Receipt, error) {
	b.channel++
	channel := b.channel
	b.mu.Unlock()

	m := fragment(b.cfg.Memory.Pool, lane, channel, k, n, parts)

	b.mu.Lock()
	if b.over {
		b.log.unreserve(acc, size)
		b.mu.Unlock()
		b.cfg.Memory.Pool.putAll(m.chunks.head)
		return Receipt{}, ErrDown
	}
	r := Receipt{Session: b.cfg.Number, Lane: lane, Number: b.log.pushMessage(lane, m)}
	kicked := b.kicked()
	b.mu.Unlock()
	if kicked {
		b.stir()
	}
	return r, nil
}

// SendWait is Send, but waits for room in the lane until ctx ends. It fails
// with ErrDown when the session ends meanwhile.
func (b *outbox) SendWait(ctx context.Context, lane wire.Lane, k wire.Kind, parts ...[]byte) (Receipt, error) {
	n, err := b.cfg.measure(parts)
	if err != nil {
		return Receipt{}, err
	}
	lane, acc, size := place(lane, n)
	b.mu.Lock()
	if !b.over && !b.log.reserve(acc, size) {
		_, err := b.stand(ctx, acc, size, false)
		if err != nil {
			return Receipt{}, err
		}
	}
	if b.over {
		b.mu.Unlock()
		return Receipt{}, ErrDown
	}
	return b.push(lane, acc, k, n, size, parts)
}

// HasRoom says whether Send of n bytes would find room in the lane now. It is
// false once the session has ended.
func (b *outbox) HasRoom(lane wire.Lane, n int) bool {
	_, acc, size := place(lane, n)
	b.mu.Lock()
	defer b.mu.Unlock()
	return !b.over && b.log.hasRoom(acc, size)
}

// WaitRoom waits for room as SendWait does, for who decides only then what to
// send: until HasRoom is true, or ctx ends. It fails with ErrDown as SendWait
// does. Nobody who waits behind the caller comes before it until it has called
// done, which it does as soon as it has sent, or has not; more than one call is
// one.
func (b *outbox) WaitRoom(ctx context.Context, lane wire.Lane, n int) (done func(), err error) {
	_, acc, size := place(lane, n)
	b.mu.Lock()
	if b.over || b.log.hasRoom(acc, size) {
		over := b.over
		b.mu.Unlock()
		if over {
			return nil, ErrDown
		}
		return func() {}, nil
	}
	p, err := b.stand(ctx, acc, size, true)
	if err != nil {
		return nil, err
	}
	b.mu.Unlock()
	return func() { b.leave(acc, p) }, nil
}

// stand waits in line. It is called with mu held and returns with it, unless it
// returns an error.
func (b *outbox) stand(ctx context.Context, acc account, size int, visits bool) (*waitline.Place, error) {
	ready := make(chan struct{})
	p := &waitline.Place{Size: size, Visits: visits, Wake: func() { close(ready) }}
	b.log.join(acc, p)
	b.mu.Unlock()
	var err error
	select {
	case <-ready:
	case <-ctx.Done():
		err = ctx.Err()
	case <-b.cfg.Done:
		err = ErrDown
	}
	b.mu.Lock()
	if err == nil && (b.over || !p.HasTurn()) {
		err = ErrDown
	}
	if err != nil {
		b.mu.Unlock()
		b.leave(acc, p)
		return nil, err
	}
	return p, nil
}

// leave takes p out of its line, which may let others in.
func (b *outbox) leave(acc account, p *waitline.Place) {
	var do after.List
	b.mu.Lock()
	b.log.leave(acc, p)
	b.grant(&do)
	b.mu.Unlock()
	do.Run()
}

// grant gives the room there is to those who wait, under mu. What they have given
// out of their hands is put in its place before anything else can be.
func (b *outbox) grant(do *after.List) {
	for _, p := range b.log.grant() {
		if p.Granted != nil {
			p.Granted()
		}
		do.Add(func() { b.wake("session/room", p.Wake) })
	}
	if !b.log.empty() && b.kicked() {
		do.Add(b.stir)
	}
}

// Withdraw takes a message back, and says whether it is certain that the peer has
// not handled it and never will: it was not sent, or the peer said goodbye before
// it came to it. It may be called after the session's end.
func (b *outbox) Withdraw(r Receipt) bool {
	if r.Session != b.cfg.Number || r.Number == 0 {
		return false
	}
	var do after.List
	b.mu.Lock()
	done := b.log.withdraw(r.Lane, r.Number)
	b.grant(&do)
	b.mu.Unlock()
	do.Run()
	return done
}

// put queues an encoded frame of the connection itself.
func (b *outbox) put(frame []byte) {
	b.mu.Lock()
	if b.over || len(b.aside)+len(frame) > asideLimit {
		b.mu.Unlock()
		b.cfg.Dropped(DropBeat, 1)
		return
	}
	b.aside = append(b.aside, frame...)
	kicked := b.kicked()
	b.mu.Unlock()
	if kicked {
		b.stir()
	}
}

// end makes sending impossible. handled is what the peer said it has handled, if
// it has said so.
func (b *outbox) end(handled *wire.Counts) {
	var do after.List
	b.mu.Lock()
	if b.over {
		b.mu.Unlock()
		return
	}
	b.over = true
	if b.cfg.Rescue != 0 {
		b.left = b.log.leftover(b.cfg.Rescue, handled)
	}
	messages, waiting := b.log.drop(handled)
	b.mu.Unlock()
	b.cfg.Dropped(DropLinkLost, messages)
	for _, p := range waiting {
		do.Add(func() { b.wake("session/room", p.Wake) })
	}
	do.Run()
}
