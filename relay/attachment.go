// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package relay

import (
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/overlay"
	"github.com/arke-mesh/arke/overlay/session"
)

// attachment is how a client's session stands to its connections. One carries it
// at a time.
type attachment struct {
	// Immutable after newClient.
	c        *client
	instance [wire.InstanceSize]byte // of the client's process
	beat     time.Duration           // 0 = only the connection says whether it lives
	keys     *brought                // with the Hello that began the session
	turn     chan struct{}           // has room for the one that attaches

	broken atomic.Bool // the client broke the protocol: nothing is handled any more

	// Guarded by mu.
	mu       sync.Mutex
	number   int // of the connection that carries the session, or is about to
	carried  bool
	finished bool
	timer    overlay.Timer
	process  process
}

// process is what is known of the process at the other end of a connection.
type process struct {
	local bool        // it came over the socket
	gone  func() bool // says that it has ended; nil = nobody can tell
	pid   int         // 0 = nobody can tell
}

const (
	// awayLimit is how long a session outlives its connection, and unseenLimit
	// how long on TCP, where nobody can tell whether the client's process lives.
	awayLimit   = 15 * time.Second
	unseenLimit = 5 * time.Second
)

// looks are the pauses between looks at whether the process of a client whose
// connection broke has ended: the system closes its sockets a moment before that.
var looks = [...]time.Duration{time.Millisecond, 4 * time.Millisecond, 15 * time.Millisecond, 40 * time.Millisecond}

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

// pid is of the process that the session is with; 0 = nobody can tell.
func (a *attachment) pid() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.process.pid
}

// begin takes the session from the connection that carries it, if one does,
// and returns the number of the new one and what to say that was received. ok is
// false if the session has ended.
func (a *attachment) begin() (number int, received wire.Counts, ok bool) {
	select {
	case a.turn <- struct{}{}:
	case <-a.c.ctx.Done():
		return 0, received, false
	}
	defer func() { <-a.turn }()
	a.mu.Lock()
	if a.finished {
		a.mu.Unlock()
		return 0, received, false
	}
	a.number++
	number = a.number
	a.stop()
	a.mu.Unlock()
	return number, a.c.sess.Detach(), true
}

// carry has the connection carry the session until it does not any more.
func (a *attachment) carry(number int, carrier *session.Carrier, h *wire.LeafHello, got time.Time, p process) error {
	a.mu.Lock()
	current := number == a.number && !a.finished
	a.carried = a.carried || current
	if current {
		a.process = p
	}
	a.mu.Unlock()
	if !current {
		return session.ErrReplaced
	}
	sample := session.Sample{Got: a.c.linkTime(got), Remote: h.Clock}
	a.recovered()
	err := a.c.sess.Run(carrier, session.Greeting{Received: h.Received, Sample: sample})
	a.detached(number, err)
	return err
}

// detached decides what becomes of the session when a connection has ended.
func (a *attachment) detached(number int, err error) {
	ends := a.c.features&wire.FeatureResume == 0 || a.broken.Load()
	for _, final := range []error{session.ErrGoodbye, session.ErrLeft, session.ErrDown, session.ErrPoison, session.ErrProtocol} {
		ends = ends || errors.Is(err, final)
	}
	a.mu.Lock()
	ends = ends || !a.carried // nobody knows of it
	switch {
	case a.finished, number != a.number:
		a.mu.Unlock()
		return
	case ends:
		a.mu.Unlock()
		if errors.Is(err, session.ErrProtocol) {
			a.c.relay.count.ended[wire.EndProtocol].Add(1)
		}
		a.c.end(err)
		return
	}
	limit := awayLimit
	if !a.process.local {
		limit = unseenLimit
	}
	if a.c.sess.Silent() {
		limit -= a.c.now().Sub(a.c.sess.Heard())
	}
	a.timer = a.c.relay.clock.AfterFunc("relay/away", max(limit, 0), func() { a.lapse(number) })
	a.mu.Unlock()
	a.missed()
	a.look(number, 0)
}

// look ends the session of a client whose process has ended, at the latest some
// time after its connection has.
func (a *attachment) look(number, times int) {
	a.mu.Lock()
	current, gone := number == a.number && !a.finished, a.process.gone
	a.mu.Unlock()
	switch {
	case !current || gone == nil:
	case gone():
		a.lapse(number)
	case times < len(looks):
		a.c.relay.clock.AfterFunc("relay/look", looks[times], func() { a.look(number, times+1) })
	}
}

// lapse ends the session of a client that has not come back, or can't.
func (a *attachment) lapse(number int) {
	a.mu.Lock()
	current := number == a.number && !a.finished
	a.mu.Unlock()
	if current {
		a.c.relay.count.ended[wire.EndSilent].Add(1)
		a.c.end(errGone)
	}
}

// changed is called when the client leaves beats unanswered, or no longer does.
func (a *attachment) changed() {
	if a.c.sess.Silent() {
		a.missed()
	} else {
		a.recovered()
	}
}

// missed is called when nothing reaches the client: others are asked, and what is
// with it is in doubt unless it comes back soon.
func (a *attachment) missed() {
	a.c.deliveries.mark(missing)
	a.c.relay.clock.AfterFunc("relay/doubt", doubtAfter, func() {
		if a.c.deliveries.doubt() {
			a.c.topics.pause(true)
		}
	})
}

// recovered is called when it can be reached again.
func (a *attachment) recovered() {
	a.c.deliveries.mark(attached)
	a.c.topics.pause(false)
}
