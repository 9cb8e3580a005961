// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package overlay

import (
	"context"

	"github.com/arke-mesh/arke/internal/wire"
)

// Send queues one message and returns the session it belongs to. It never
// blocks, and copies parts, whose concatenation is the body. More than
// MaxFrameBody bytes go in fragments on lane bulk, whatever lane says; what is
// meant for lane bulk may have frameSlack bytes more.
//
// Errors: ErrLinkDown, ErrLaneFull (counted), ErrTooLarge, ErrClosed. Without
// an error the message arrives once, in the order of its lane, unless the
// session ends.
func (l *Link) Send(lane Lane, k wire.Kind, parts ...[]byte) (uint64, error) {
	n, err := l.o.measure(parts)
	if err != nil {
		return 0, err
	}
	if !single(lane, n) {
		return l.sendLarge(k, n, parts)
	}
	size := n + wire.FrameOverhead
	lane = accountOf(lane, n)
	l = l.lock()
	if err := l.reserve(lane, size); err != nil {
		l.release()
		return 0, err
	}
	return l.push(lane, k, size, parts), nil
}

// SendWait is Send, but waits for room in the lane until ctx ends. It fails
// with ErrLinkDown when the session ends meanwhile.
func (l *Link) SendWait(ctx context.Context, lane Lane, k wire.Kind, parts ...[]byte) (uint64, error) {
	n, err := l.o.measure(parts)
	if err != nil {
		return 0, err
	}
	size, large := n+wire.FrameOverhead, !single(lane, n)
	if large {
		lane, size = LaneBulk, messageSize(n)
	} else {
		lane = accountOf(lane, n)
	}
	l = l.lock()
	sess, err := l.waitReserve(ctx, lane, size)
	if err != nil {
		return 0, err
	}
	if large {
		return l.commit(sess, k, n, size, parts)
	}
	return l.push(lane, k, size, parts), nil
}

// HasRoom says whether Send of n bytes would find room in the lane now. It is
// false while the link is down.
func (l *Link) HasRoom(lane Lane, n int) bool {
	size := n + wire.FrameOverhead
	if n > MaxFrameBody {
		lane, size = LaneBulk, messageSize(n)
	}
	lane = accountOf(lane, n)
	l = l.lock()
	defer l.release()
	return l.sendable() == nil && l.sess.queue.hasRoom(lane, size)
}

// WaitRoom waits for room as SendWait does, for who decides only then what to
// send: until HasRoom is true, or ctx ends. It fails with ErrLinkDown as SendWait
// does. Nobody who waits behind the caller comes before it until it has called
// done, which it does as soon as it has sent, or has not; more than one call is
// one.
func (l *Link) WaitRoom(ctx context.Context, lane Lane, n int) (done func(), err error) {
	size := n + wire.FrameOverhead
	if n > MaxFrameBody {
		lane, size = LaneBulk, messageSize(n)
	}
	lane = accountOf(lane, n)
	l = l.lock()
	if err := l.sendable(); err != nil {
		l.release()
		return nil, err
	}
	sess := l.sess
	if sess.queue.hasRoom(lane, size) {
		l.release()
		return func() {}, nil
	}
	w := sess.queue.wait(lane, size)
	w.visits = true
	if err := l.stand(ctx, sess, lane, w); err != nil {
		return nil, err
	}
	l.release()
	return func() {
		l.mu.Lock()
		sess.queue.forget(lane, w)
		l.wakeGranted(sess)
		l.release()
	}, nil
}

// measure returns how many bytes parts have together.
func (o *Overlay) measure(parts [][]byte) (int, error) {
	n := 0
	for _, p := range parts {
		n += len(p)
		if n > o.cfg.MaxMessage || n < 0 {
			return 0, ErrTooLarge
		}
	}
	return n, nil
}

// sendable returns an error if nothing can be sent. mu is held, as for all
// below.
func (l *Link) sendable() error {
	switch {
	case l.o.leaving():
		return ErrClosed
	case !l.up():
		return ErrLinkDown
	}
	return nil
}

func (l *Link) reserve(lane Lane, size int) error {
	if err := l.sendable(); err != nil {
		return err
	}
	if !l.sess.queue.reserve(lane, size) {
		l.o.drops.add(dropLaneFull(min(lane, LaneBulk)), 1)
		return ErrLaneFull
	}
	return nil
}

// waitReserve reserves room when there is some. It returns with mu held,
// unless it returns an error.
func (l *Link) waitReserve(ctx context.Context, lane Lane, size int) (*session, error) {
	if err := l.sendable(); err != nil {
		l.release()
		return nil, err
	}
	sess := l.sess
	if sess.queue.reserve(lane, size) {
		return sess, nil
	}
	if err := l.stand(ctx, sess, lane, sess.queue.wait(lane, size)); err != nil {
		return nil, err
	}
	return sess, nil
}

// stand waits until w is granted room. It is called with mu held and returns
// with it, unless it returns an error.
func (l *Link) stand(ctx context.Context, sess *session, lane Lane, w *roomWaiter) (err error) {
	l.release()
	select {
	case <-w.ready:
	case <-ctx.Done():
		err = ctx.Err()
	case <-l.o.ctx.Done():
		err = ErrClosed
	}
	l.mu.Lock()
	if err == nil && (l.sess != sess || !w.granted) {
		err = ErrLinkDown
	}
	if err == nil {
		err = l.sendable()
	}
	if err == nil {
		return nil
	}
	sess.queue.forget(lane, w)
	l.wakeGranted(sess)
	l.release()
	return err
}

// wakeGranted wakes those who wait for room that there is now. What they have
// given out of their hands is put in its place before anything else can be.
func (l *Link) wakeGranted(sess *session) {
	for _, w := range sess.queue.grant() {
		if w.place != nil {
			w.place()
		}
		l.wakeLater("overlay/room", w.wake)
	}
}

// push queues a frame for which room is reserved, and releases mu. The way of
// every small message: nothing here allocates.
func (l *Link) push(lane Lane, k wire.Kind, size int, parts [][]byte) uint64 {
	l.sess.queue.push(lane, k, size, parts)
	number := l.sess.number
	var writer *stream
	if l.sender.idle {
		l.sender.idle = false
		writer = l.sender
	}
	l.mu.Unlock()
	if writer != nil {
		l.o.wake("overlay/write", l.key, writer.nudgeFunc)
	}
	return number
}

// sendLarge queues a message in fragments.
func (l *Link) sendLarge(k wire.Kind, n int, parts [][]byte) (uint64, error) {
	size := messageSize(n)
	l = l.lock()
	if err := l.reserve(LaneBulk, size); err != nil {
		l.release()
		return 0, err
	}
	return l.commit(l.sess, k, n, size, parts)
}

// commit queues a large message for which room is reserved. It is called with
// mu held and releases it: a large copy must not hold up others.
func (l *Link) commit(sess *session, k wire.Kind, n, size int, parts [][]byte) (uint64, error) {
	l.channel++
	channel := l.channel
	l.release()

	m := fragment(&l.o.chunks, channel, k, n, parts)

	l.mu.Lock()
	defer l.release()
	if l.sess != sess || !l.up() {
		l.o.chunks.putAll(m.chunks.head)
		return 0, ErrLinkDown
	}
	sess.queue.pushMessage(m)
	l.sender.kickLater()
	return sess.number, nil
}
