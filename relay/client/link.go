// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"

	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/overlay"
	"github.com/arke-mesh/arke/overlay/session"
	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/patterns/request"
)

// relayID is what the engines call the relay.
const relayID peer.ID = "relay"

// flushTime is how long flush waits for one answer before it asks again.
const flushTime = 50 * time.Millisecond

// link is the one link that the engines see: to the relay, in one session after
// the other. Its attacher keeps it alive.
type link struct {
	// Immutable after the engines were made.
	cfg       Config
	rand      overlay.RandStream
	epoch     time.Time // where this side's link clock begins
	handlers  [64]func(body []byte) (kept bool)
	listeners []func(overlay.PeerEvent)

	several bool // wire.FeatureSeveral; owned by who runs the session

	session atomic.Pointer[session.Session] // nil = there is none
	former  atomic.Pointer[session.Session] // that has ended last; nil = none has

	bodies wire.Bodies // memory that long frames are read into

	presence
	patience patience
}

var (
	_ request.Links = (*link)(nil)
	_ request.Link  = (*link)(nil)
)

func newLink(cfg Config, seam Seam) *link {
	return &link{
		cfg: cfg, rand: seam.Rand.Stream("client"),
		epoch: seam.Clock.Now().Add(-time.Nanosecond),
		presence: presence{
			clock: seam.Clock, exec: seam.Exec, limit: cfg.RelayWait, target: cfg.target(), closed: make(chan struct{}),
		},
	}
}

// Self implements request.Links: a client has no peer id of its own.
func (l *link) Self() peer.ID { return "" }

// Link implements request.Links.
func (l *link) Link(peer.ID) request.Link { return l }

// LinkTime implements request.Links.
func (l *link) LinkTime(t time.Time) uint64 { return uint64(max(1, t.Sub(l.epoch))) }

// Handle implements request.Links.
func (l *link) Handle(k wire.Kind, h func(request.Link, []byte)) {
	l.handlers[k] = func(body []byte) bool {
		h(l, body)
		return true
	}
}

// HandleLent implements request.Links.
func (l *link) HandleLent(k wire.Kind, h func(request.Link, []byte) bool) {
	l.handlers[k] = func(body []byte) bool { return h(l, body) }
}

// Subscribe implements request.Links.
func (l *link) Subscribe(f func(overlay.PeerEvent)) { l.listeners = append(l.listeners, f) }

func (l *link) report(t overlay.PeerEventType, number uint64, err error) {
	for _, f := range l.listeners {
		f(overlay.PeerEvent{Type: t, Peer: relayID, Session: number, Err: err})
	}
}

// listen has h called with each frame of a kind.
func (l *link) listen(k wire.Kind, h func(frame []byte) (kept bool)) { l.handlers[k] = h }

// handle is what the session calls for each message.
func (l *link) handle(_ wire.Lane, k wire.Kind, body []byte) (kept bool) {
	if h := l.handlers[k&63]; h != nil {
		return h(body)
	}
	return false
}

// Recycle takes the chunk of a tunnel that nobody looks at any more.
func (l *link) Recycle(chunk []byte) { l.bodies.Put(chunk) }

// Peer implements request.Link.
func (l *link) Peer() peer.ID { return relayID }

// Session implements request.Link.
func (l *link) Session() uint64 {
	if s := l.session.Load(); s != nil {
		return s.Number()
	}
	return 0
}

// Suspect implements request.Link: whether the relay lives does not change what
// is asked of it.
func (l *link) Suspect() bool { return false }

// Hold implements request.Link: the relay's life is always of interest.
func (l *link) Hold() (release func()) { return func() {} }

// LocalTime implements request.Link.
func (l *link) LocalTime(remote uint64) time.Time {
	var offset time.Duration
	if s := l.session.Load(); s != nil {
		offset = s.Offset()
	}
	return l.epoch.Add(time.Duration(remote) - offset)
}

// Open implements request.Link: there is nothing to do but to say, once
// RelayWait has passed, that the relay has not come back.
func (l *link) Open([]string) {
	l.patience.begin(l.clock, l.cfg.RelayWait, func() {
		if l.session.Load() == nil {
			l.report(overlay.DialFailed, 0, l.gone())
		}
	})
}

// Send implements request.Link.
func (l *link) Send(lane overlay.Lane, k wire.Kind, parts ...[]byte) (overlay.Receipt, error) {
	if s := l.session.Load(); s != nil {
		return s.Send(lane, k, parts...)
	}
	return overlay.Receipt{}, l.down()
}

// Last implements request.Link.
func (l *link) Last(f func()) bool {
	s := l.session.Load()
	return s != nil && session.Last(s, f)
}

// SendWait implements request.Link.
func (l *link) SendWait(ctx context.Context, lane overlay.Lane, k wire.Kind, parts ...[]byte) (overlay.Receipt, error) {
	if s := l.session.Load(); s != nil {
		return s.SendWait(ctx, lane, k, parts...)
	}
	return overlay.Receipt{}, l.down()
}

// Extend adds to a frame that the session has not sent, as an overlay's link does.
func (l *link) Extend(r overlay.Receipt, parts ...[]byte) bool {
	s := l.session.Load()
	return s != nil && session.Extend(s, r, parts...)
}

// SendLater implements request.Link.
func (l *link) SendLater(lane overlay.Lane, k wire.Kind, sent func(overlay.Receipt, error), parts ...[]byte) (withdraw func() bool, err error) {
	if s := l.session.Load(); s != nil {
		return s.SendLater(lane, k, sent, parts...)
	}
	return nil, l.down()
}

// Withdraw implements request.Link: of a session that is neither the last nor the
// one before, nothing is certain.
func (l *link) Withdraw(r overlay.Receipt) bool {
	for _, s := range []*session.Session{l.session.Load(), l.former.Load()} {
		if s != nil && s.Number() == r.Session {
			return s.Withdraw(r)
		}
	}
	return false
}

// sendWait sends in whatever session there is, waits for room, and for a session
// as await does. Errors are those of package patterns.
func (l *link) sendWait(ctx context.Context, lane wire.Lane, k wire.Kind, parts ...[]byte) error {
	for {
		_, err := l.SendWait(ctx, lane, k, parts...)
		switch {
		case err == nil:
			return nil
		case errors.Is(err, overlay.ErrTooLarge):
			return patterns.ErrTooLarge
		case errors.Is(err, overlay.ErrClosed):
			return patterns.ErrClosed
		case ctx.Err() != nil:
			return &patterns.DeadlineError{Cause: cause(ctx)}
		}
		if err := l.arrival(ctx); err != nil {
			return err
		}
	}
}

// now is the time, and roll a random number in [0, 1).
func (l *link) now() time.Time { return l.clock.Now() }

func (l *link) roll() float64 { return float64(l.rand.IntN(1<<20)) / (1 << 20) }
