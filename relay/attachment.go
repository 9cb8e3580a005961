// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package relay

import (
	"errors"
	"sync"
	"time"

	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/overlay"
	"github.com/arke-mesh/arke/overlay/session"
)

// attachment is how a client's session stands to its connections. One carries it
// at a time.
type attachment struct {
	// Immutable after newClient.
	instance [wire.InstanceSize]byte // of the client's process
	beat     time.Duration           // 0 = only the connection says whether it lives
	turn     chan struct{}           // has room for the one that attaches

	// Guarded by mu.
	mu       sync.Mutex
	number   int // of the connection that carries the session, or is about to
	carried  bool
	finished bool
	timer    overlay.Timer
}

// finish ends the session for ever; false if it has ended already.
func (a *attachment) finish() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	was := a.finished
	a.finished = true
	a.stop()
	return !was
}

// stop stops the timer. The caller holds mu.
func (a *attachment) stop() {
	if a.timer != nil {
		a.timer.Stop()
		a.timer = nil
	}
}

// over says that the session has ended.
func (a *attachment) over() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.finished
}

// away says that no connection carries the session.
func (a *attachment) away() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.timer != nil
}

// reattach takes the session from the connection that carries it, if one does,
// and returns the number of the new one and what to say that was received. ok is
// false if the session has ended.
func (c *client) reattach() (number int, received wire.Counts, ok bool) {
	select {
	case c.turn <- struct{}{}:
	case <-c.ctx.Done():
		return 0, received, false
	}
	defer func() { <-c.turn }()
	c.mu.Lock()
	if c.finished {
		c.mu.Unlock()
		return 0, received, false
	}
	c.number++
	number = c.number
	c.stop()
	c.mu.Unlock()
	return number, c.sess.Detach(), true
}

// carry has the connection carry the session until it does not any more.
func (c *client) carry(number int, carrier *session.Carrier, h *wire.LeafHello, got time.Time) error {
	c.mu.Lock()
	current := number == c.number && !c.finished
	c.carried = c.carried || current
	c.mu.Unlock()
	if !current {
		return session.ErrReplaced
	}
	sample := session.Sample{Got: c.linkTime(got), Remote: h.Clock}
	c.members.recover()
	err := c.sess.Run(carrier, session.Greeting{Received: h.Received, Sample: sample})
	c.detached(number, err)
	return err
}

// detached decides what becomes of the session when a connection has ended.
func (c *client) detached(number int, err error) {
	ends := c.features&wire.FeatureResume == 0 || c.broken.Load()
	for _, final := range []error{session.ErrGoodbye, session.ErrLeft, session.ErrDown, session.ErrPoison, session.ErrProtocol} {
		ends = ends || errors.Is(err, final)
	}
	c.mu.Lock()
	ends = ends || !c.carried // nobody knows of it
	switch {
	case c.finished, number != c.number:
		c.mu.Unlock()
		return
	case ends:
		c.mu.Unlock()
		if errors.Is(err, session.ErrProtocol) {
			c.relay.count.ended[wire.EndProtocol].Add(1)
		}
		c.end(err)
		return
	}
	limit := awayLimit
	if c.sess.Silent() {
		limit -= c.now().Sub(c.sess.Heard())
	}
	c.timer = c.relay.clock.AfterFunc("relay/away", max(limit, 0), func() { c.lapse(number) })
	c.mu.Unlock()
	c.missed()
}

// lapse ends the session of a client that has not come back.
func (c *client) lapse(number int) {
	c.mu.Lock()
	current := number == c.number && !c.finished
	c.mu.Unlock()
	if current {
		c.relay.count.ended[wire.EndSilent].Add(1)
		c.end(errGone)
	}
}

// changed is called when the client leaves beats unanswered, or no longer does.
func (c *client) changed() {
	if c.sess.Silent() {
		c.missed()
	} else {
		c.members.recover()
	}
}

// missed is called when nothing reaches the client: others are asked, and what is
// with it is in doubt unless it comes back soon.
func (c *client) missed() {
	c.members.suspect()
	c.relay.clock.AfterFunc("relay/doubt", doubtAfter, c.members.doubt)
}
