// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package overlay

import "github.com/arke-mesh/arke/internal/wire"

// inLine is a message that stands in line for room in a lane, without a
// goroutine that waits for it.
type inLine struct {
	// Immutable.
	l     *Link
	sess  *session
	lane  Lane
	kind  wire.Kind
	n     int // bytes of parts
	large bool
	parts [][]byte
	sent  func(session uint64, err error)

	// Guarded by l.mu.
	w      *roomWaiter
	over   bool          // withdrawn, or on its way
	number uint64        // the session a small one is queued in; 0 = it is not
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
// takes the message back and says whether it is certain not to be sent; sent is
// not called any more, unless that has begun. It may be called more than once.
func (l *Link) SendLater(lane Lane, k wire.Kind, sent func(session uint64, err error), parts ...[]byte) (withdraw func() bool, err error) {
	n, err := l.o.measure(parts)
	if err != nil {
		return nil, err
	}
	p := &inLine{kind: k, n: n, large: !single(lane, n), parts: parts, sent: sent}
	size := n + wire.FrameOverhead
	if p.lane = accountOf(lane, n); p.large {
		p.lane, size = LaneBulk, messageSize(n)
	}
	p.l = l.lock()
	if err := p.l.sendable(); err != nil {
		p.l.release()
		return nil, err
	}
	p.sess = p.l.sess
	p.w = p.sess.queue.wait(p.lane, size)
	p.w.tell = p.proceed
	if !p.large {
		p.w.place = p.place
	}
	p.l.wakeGranted(p.sess)
	p.l.release()
	return p.withdraw, nil
}

// place queues a small message as soon as it has room, so that nobody behind it
// comes first. mu is held.
func (p *inLine) place() {
	l := p.l
	if l.sess != p.sess || l.sendable() != nil {
		return // proceed tells
	}
	p.over = true
	p.number = p.sess.number
	p.sess.queue.push(p.lane, p.kind, p.w.size, p.parts)
	l.sender.kickLater()
}

// proceed tells that the message is queued, queues a large one, which takes too
// long to be done under mu, or tells that the session has ended.
func (p *inLine) proceed() {
	l := p.l
	l.mu.Lock()
	if number := p.number; number != 0 {
		silent := p.silent
		l.mu.Unlock()
		if !silent {
			p.sent(number, nil)
		}
		return
	}
	if p.over {
		l.mu.Unlock()
		return
	}
	p.over = true
	err := l.sendable()
	if err == nil && (l.sess != p.sess || !p.w.granted || !p.large) {
		err = ErrLinkDown
	}
	if err != nil {
		p.lost = true
		p.sess.queue.forget(p.lane, p.w)
		l.wakeGranted(p.sess)
		l.release()
		p.sent(0, err)
		return
	}
	p.copied = make(chan struct{})
	number, err := l.commit(p.sess, p.kind, p.n, p.w.size, p.parts)
	l.mu.Lock()
	p.lost = err != nil
	close(p.copied)
	l.mu.Unlock()
	p.sent(number, err)
}

func (p *inLine) withdraw() bool {
	l := p.l
	l.mu.Lock()
	if !p.over {
		p.over, p.lost = true, true
		p.sess.queue.forget(p.lane, p.w)
		l.wakeGranted(p.sess)
		l.release()
		return true
	}
	p.silent = true
	copied, lost := p.copied, p.lost
	l.mu.Unlock()
	if copied == nil {
		return lost
	}
	<-copied // not for long: it is a copy in memory
	return p.lost
}
