// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package overlay

import (
	"context"
	"fmt"
	"sync"
	"time"

	"go.uber.org/zap"
)

// Times in which connections are replaced that an older key has admitted. The side
// with the lower id comes first, so that the two seldom do it at once; and not all
// links at once, for each costs a handshake at both ends.
const (
	renewSpread = 10 * time.Second
	renewTries  = 4 // with pauses of renewSpread, doubled each time
)

// renewal replaces connections, while they carry their sessions, by such that the
// newest key of the network admits: make before break. Methods may be called concurrently.
type renewal struct {
	o     *Overlay
	below Renewer // nil = connections depend on no keys

	mu     sync.Mutex
	timers map[*Link]Timer // guarded by mu
	over   bool            // likewise
}

func newRenewal(o *Overlay) *renewal {
	below, _ := o.transport.(Renewer)
	return &renewal{o: o, below: below, timers: make(map[*Link]Timer)}
}

// Renew tells that other keys count than before. It does not wait.
func (r *renewal) Renew() {
	if r.below == nil {
		return
	}
	for _, l := range r.o.links.sorted() {
		if l.Up() {
			r.plan(l, 0)
		}
	}
}

// plan has a link looked at a little later.
func (r *renewal) plan(l *Link, tried int) {
	in := renewSpread << tried
	if !l.first() {
		in += renewSpread
	}
	in -= renewSpread / 1000 * time.Duration(r.o.rand.IntN(1000))
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.over {
		return
	}
	if t := r.timers[l]; t != nil {
		t.Stop()
	}
	r.timers[l] = r.o.after("overlay/renew", in, func() {
		r.mu.Lock()
		delete(r.timers, l)
		r.mu.Unlock()
		if l.Up() && !l.suspected.Load() && r.below.Retire(l.peer) {
			l.o.wake("overlay/renew", l.key, func() { r.o.gate.Spawn(func() { r.replace(l, tried) }) })
		}
	})
}

// replace has a new connection take the session over, and serves it to its end.
func (r *renewal) replace(l *Link, tried int) {
	st, err := dialer{Link: l, takeover: true}.call()
	r.below.Settle(l.peer, err == nil)
	if err == nil {
		l.o.log.Debug("a connection was replaced", zap.Stringer("peer", l.peer), zap.String("addr", st.s.RemoteAddr()))
		st.carry()
		return
	}
	st.refuse(err)
	if tried+1 < renewTries {
		r.plan(l, tried+1)
	}
}

func (r *renewal) stop() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.over = true
	for _, t := range r.timers {
		t.Stop()
	}
}

// detach takes the link's session off the connection that carries it. The link's mu is
// held, and released for a while.
func detach(st *stream) error {
	l := st.l
	if !l.attached() || l.joining != nil || l.dialing.greeting != nil {
		return errNotNeeded
	}
	s := l.last.Load()
	l.joining = st
	l.unlock()
	s.Detach()
	l.mu.Lock()
	if !l.up() || l.last.Load() != s {
		unjoin(l)
		return errNotNeeded
	}
	return nil
}

// failed begins an outage where a session was detached for nothing; without mu.
func failed(st *stream, cause error) {
	l := st.l
	l.mu.Lock()
	defer l.unlock()
	if l.joining != st {
		return
	}
	unjoin(l)
	if l.up() && !l.attached() {
		l.do(l.reconnect.broke(l.state(), fmt.Errorf("%w: %w", ErrLost, cause), l.last.Load().Heard()))
	}
}

// hello is greet for a dialer that may take a session over.
func (l dialer) hello(ctx context.Context, st *stream) error {
	stop := context.AfterFunc(ctx, func() { st.s.Reset(codeTimeout) })
	defer stop()
	if !l.takeover {
		return st.greet(false)
	}
	over := make(chan struct{})
	if !l.dialing.replacing.CompareAndSwap(nil, &over) {
		return errBusy
	}
	err := st.greet(true)
	if err != nil {
		failed(st, err)
	}
	l.dialing.replacing.Store(nil)
	// Whoever the old connection belongs to goes on in a step of its own: this goroutine
	// is about to end that connection, too.
	l.o.wake("overlay/replaced", l.key, func() { close(over) })
	return err
}
