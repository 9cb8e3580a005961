// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"go.uber.org/zap"

	"github.com/arke-mesh/arke/internal/wire/session"
	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/relay/internal/failure"
)

const (
	// outLength and outBytes bound the publishes that the relay has not
	// answered; and so does half of what it allows in calls.
	outLength = 1024
	outBytes  = 4 << 20
)

// outbox is what is being published: many at a time, in order, over all
// sessions.
type outbox struct {
	client *Client

	// Guarded by mu. Whoever holds mu may not take client.mu.
	mu      sync.Mutex
	session *attachment // nil = away
	length  int         // the window
	bytes   int
	lastID  uint64                // on the session
	pending map[uint64]*departure // by id: not answered
	held    int                   // bytes of these
	again   []*departure          // for the next session: nobody has looked at them
	lost    int                   // that TryPublish took, and that were not published
	lostErr error                 // of one of them
	room    chan struct{}         // closed when there may be room; nil = nobody waits
}

// departure is one publish under way.
type departure struct {
	frame *session.Publish
	size  int
	end   uint64     // of the frame in the stream of its session
	done  chan error // has room for the only one; nil = TryPublish does not wait
}

func newOutbox(c *Client) *outbox {
	return &outbox{client: c, pending: map[uint64]*departure{}}
}

// attach begins a session. What the one before certainly did not do goes first.
// It returns how many of them can't.
func (o *outbox) attach(a *attachment) (lost int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	limits := a.welcome.Limits
	o.session, o.lastID = a, 0
	o.length = max(min(outLength, int(limits.Requests/2)), 1)
	o.bytes = max(min(outBytes, int(limits.RequestBytes/2)), 1)
	for _, d := range o.again {
		if _, err := o.send(d); err != nil {
			o.lose(d, err) // the relay is a smaller one, perhaps
			lost++
		}
	}
	o.again = nil
	o.wake()
	return lost
}

// full says that no publish of that size may go out now.
func (o *outbox) full(size int) bool {
	return len(o.pending) > 0 && (len(o.pending) >= o.length || o.held+size > o.bytes)
}

// hasRoom says whether a publish of that size may go out now.
func (o *outbox) hasRoom(size int) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.session != nil && !o.full(size)
}

// send puts d into the session's queue. The caller holds mu.
func (o *outbox) send(d *departure) (room <-chan struct{}, err error) {
	d.frame.ID = o.lastID + 1
	end, room, err := o.session.sender.TrySend(d.frame)
	if err != nil {
		return room, err
	}
	d.end = end
	o.lastID++
	o.pending[o.lastID] = d
	o.held += d.size
	return nil, nil
}

// try sends d if nothing has to be waited for. Otherwise it returns
// session.ErrQueueFull and what to wait for, nil if that is a session.
func (o *outbox) try(a *attachment, d *departure) (room <-chan struct{}, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	switch {
	case o.session == nil || a != nil && o.session != a:
		return nil, errNotSent
	case o.full(d.size):
		if o.room == nil {
			o.room = make(chan struct{})
		}
		return o.room, session.ErrQueueFull
	}
	return o.send(d)
}

// publish sends d on the session and waits for what becomes of it. Errors are
// those of call and of a failed publish.
func (o *outbox) publish(ctx context.Context, a *attachment, d *departure) error {
	for {
		room, err := o.try(a, d)
		switch {
		case err == nil:
			return o.await(ctx, d)
		case !errors.Is(err, session.ErrQueueFull):
			if errors.Is(err, errNotSent) {
				return err
			}
			return o.client.notSent(ctx, err)
		}
		select {
		case <-room:
		case <-a.ctx.Done():
			return errNotSent
		case <-ctx.Done():
			return &patterns.DeadlineError{Cause: cause(ctx)}
		}
	}
}

// await waits for the answer; the end of a session is one, too.
func (o *outbox) await(ctx context.Context, d *departure) error {
	select {
	case err := <-d.done:
		return err
	case <-ctx.Done():
	}
	// As for a call, the relay has a moment to have the last word.
	moment, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace)
	defer cancel()
	select {
	case err := <-d.done:
		return err
	case <-moment.Done():
		return &patterns.DeadlineError{Cause: cause(ctx), MaybeRan: true}
	}
}

// published is the reader's.
func (o *outbox) published(a *attachment, f *session.Published) error {
	o.mu.Lock()
	tried := 0
	for id := f.First; id-f.First < uint64(f.Count); id++ {
		d := o.take(a, id)
		if d == nil {
			o.mu.Unlock()
			return fmt.Errorf("client: the relay answers publish %d, which is not under way", id)
		}
		if d.done == nil {
			tried++
		} else {
			d.done <- nil
		}
	}
	o.mu.Unlock()
	if tried > 0 {
		o.client.ended(tried)
	}
	return nil
}

// failed is the reader's.
func (o *outbox) failed(a *attachment, f *session.PublishFailed) error {
	o.mu.Lock()
	d := o.take(a, f.ID)
	if d == nil {
		o.mu.Unlock()
		return fmt.Errorf("client: the relay answers publish %d, which is not under way", f.ID)
	}
	err := failure.Error(f.Failure, "")
	tried := d.done == nil
	switch {
	case !tried:
		d.done <- err
	case errors.Is(err, failure.ErrDraining):
		o.again = append(o.again, d)
		tried = false
	default:
		o.lose(d, err)
	}
	o.mu.Unlock()
	if tried {
		o.client.end()
	}
	return nil
}

// take removes one that is under way; nil if it is not. The caller holds mu.
func (o *outbox) take(a *attachment, id uint64) *departure {
	d := o.pending[id]
	if d == nil || o.session != a {
		return nil
	}
	delete(o.pending, id)
	o.held -= d.size
	o.wake()
	return d
}

func (o *outbox) wake() {
	if o.room != nil {
		close(o.room)
		o.room = nil
	}
}

// lose counts what TryPublish took and what was not published. The caller holds
// mu.
func (o *outbox) lose(d *departure, err error) {
	o.lost++
	o.lostErr = err
	o.client.log.Warn("a message that TryPublish took was not published", zap.String("topic", d.frame.Topic), zap.Error(err))
}

// giveUp loses what waits for the next session, and returns how many that are.
func (o *outbox) giveUp(err error) (lost int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, d := range o.again {
		o.lose(d, err)
	}
	lost = len(o.again)
	o.again = nil
	return lost
}

// takeLost returns, once, what became of messages that TryPublish took.
func (o *outbox) takeLost() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.lost == 0 {
		return nil
	}
	err := fmt.Errorf("%d messages that were taken before were not published: %w", o.lost, o.lostErr)
	o.lost, o.lostErr = 0, nil
	return err
}

// detach ends a session, when nothing more is written and read.
func (o *outbox) detach(a *attachment) {
	how, written := a.howOver(), a.sender.Written()
	o.mu.Lock()
	if o.session != a {
		o.mu.Unlock()
		return
	}
	o.session = nil
	ids := make([]uint64, 0, len(o.pending))
	for id := range o.pending {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	ended := 0
	for _, id := range ids {
		d, how := o.pending[id], how
		if d.end > written {
			how = errNotSent
		}
		switch {
		case d.done != nil:
			d.done <- how
		case errors.Is(how, errLost):
			o.lose(d, patterns.ErrInterrupted)
			ended++
		default:
			o.again = append(o.again, d)
		}
	}
	clear(o.pending)
	o.held = 0
	o.wake()
	o.mu.Unlock()
	if ended > 0 {
		o.client.ended(ended)
	}
}
