// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package relay

import (
	"context"
	"math"
	"time"

	"github.com/arke-mesh/arke/internal/wire/session"
	"github.com/arke-mesh/arke/patterns"
)

// resume attaches the feed to a client that may have had it before, and returns
// how that stands. Nothing goes out yet.
func (d *feed) resume(c *client, f *session.Subscribe) *session.Subscribed {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.Place = session.Place{} // nobody is left in the line of an earlier session
	d.client = c
	answer := &session.Subscribed{ID: f.ID}
	switch {
	case d.state == feedAway:
		d.bound(f)
		number := max(f.Number, d.base) // less is of a count before this one: of this it has had nothing
		d.backlog.resume(number, d.inexact <= number)
		answer.Continued, answer.Number = true, d.backlog.sent
	case f.Resumed:
		// What came between the sessions was not counted. If this answer is
		// lost, too, the client's number tells that it has had none of it.
		d.base = nextCount(f.Number)
		d.backlog.sent, d.inexact = d.base, d.base+1
		d.backlog.gap(patterns.Gap{Reason: patterns.GapRelay})
		answer.Number = d.base
	}
	d.become(feedMute)
	return answer
}

// nextCount is where a new count begins if the one before ended at number.
func nextCount(number uint64) uint64 {
	if number >= math.MaxUint64/2 {
		return 0
	}
	return number + 1
}

// taken gives the window of what the client has had free; false if it can't
// have had that.
func (d *feed) taken(number uint64) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.backlog.taken(number) {
		return false
	}
	if !d.backlog.empty() {
		d.announce()
	}
	return true
}

// close ends the subscription at the node, and waits until the client has been
// sent all of it or ctx ends.
func (d *feed) close(ctx context.Context) error {
	if err := d.source.Close(ctx); err != nil {
		return err
	}
	return d.flush(ctx)
}

// flush waits until all that waits is in the connection's queue.
func (d *feed) flush(ctx context.Context) error {
	drained := make(chan struct{})
	d.mu.Lock()
	d.drained = drained
	d.announce()
	d.mu.Unlock()
	select {
	case <-drained:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// giveUp tells the client how much it does not get of what waits.
func (d *feed) giveUp(ctx context.Context) {
	d.mu.Lock()
	for range d.backlog.length() {
		d.relay.count.drop(dropInSession)
	}
	d.hold(-d.backlog.bytes)
	d.backlog.resume(d.backlog.sent, d.inexact <= d.backlog.sent)
	d.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	d.flush(ctx) // if it does not read even that, it learns nothing
}

// end takes nothing any more.
func (d *feed) end() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.become(feedEnded)
	d.hold(-d.backlog.bytes)
	d.backlog.drop()
}

// leave is for a session that broke: what comes is counted, and nothing kept.
func (d *feed) leave() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.become(feedAway)
	d.client = nil
	for range d.backlog.drop() {
		d.relay.count.drop(dropInSession)
	}
}
