// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"go.uber.org/zap"

	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/overlay"
	"github.com/arke-mesh/arke/overlay/session"
)

const (
	// beat is how often the relay hears of a client.
	beat = 400 * time.Millisecond
	// firstPause is the longest before the first attempt to come back. It doubles,
	// up to lastPause, with each connection in a row that did not last for stable.
	// A relay that refuses is asked again as often: on one machine that is cheap.
	firstPause = 10 * time.Millisecond
	lastPause  = 200 * time.Millisecond
	stable     = time.Second
	// handshakeTime is how long a relay may take to answer a Hello.
	handshakeTime = 3 * time.Second
	// leaveTime is how long the relay has to answer our Goodbye.
	leaveTime = time.Second
	// maxMessage bounds what is sent and received, in bytes.
	maxMessage = 17 << 20
)

// attacher keeps a link's session attached to the relay: it dials, says Hello,
// runs the session, and begins another one where that is over.
type attacher struct {
	// Immutable.
	link     *link
	log      *zap.Logger
	instance [wire.InstanceSize]byte
	standby  *session.Standby
	// began makes each new session the link's, and is told what the relay received in
	// the one before, attached is called when the engines
	// know of it, ended ends it, gone says
	// that the relay's process is. Set before start.
	began    func(*session.Session, wire.Counts)
	ended    func(s *session.Session, gone bool)
	attached func()

	ctx     context.Context // ends with close
	cancel  context.CancelFunc
	wg      sync.WaitGroup // the loop and the sessions' writers
	leaving atomic.Bool    // close has begun

	// Owned by the loop, but for start, which comes before.
	relay  wire.RelayHello
	last   uint64 // the last session's number
	outage session.Reconnect
}

func newAttacher(l *link, log *zap.Logger) *attacher {
	a := &attacher{link: l, log: log, standby: session.NewStandby(l.clock)}
	_, _ = l.rand.Read(a.instance[:]) // never fails
	a.ctx, a.cancel = context.WithCancel(context.Background())
	return a
}

// start attaches for the first time, with as many attempts as ctx has time for.
func (a *attacher) start(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(a.ctx, cancel)()
	a.outage.Begin(a.link.now())
	var why error
	for {
		c, err := a.dial(ctx)
		if err == nil {
			w := a.link.watch()
			a.wg.Go(func() { a.run(c) })
			<-w.changed // the session, or its end, is told
			a.link.unwatch(w)
			_, err = await[struct{}](context.Background(), &a.link.presence, nil) // at once
			return err
		}
		if why != nil && a.late(ctx) {
			err = why // which says more than that time is over
		}
		why = err
		pause := a.outage.Failed(a.link.now(), failureOf(err))
		if isFinal(err) || errors.Is(err, context.Canceled) || !a.rest(ctx, shortened(pause, a.link.roll())) {
			return err
		}
	}
}

// late says whether ctx is over. A dial may fail because of its deadline a moment
// before it knows.
func (a *attacher) late(ctx context.Context) bool {
	deadline, limited := ctx.Deadline()
	return ctx.Err() != nil || limited && !a.link.now().Before(deadline)
}

// close ends everything, and waits. The relay hears of it, if it is there.
func (a *attacher) close() {
	a.leaving.Store(true)
	if s := a.link.session.Load(); s != nil && s.Attached() {
		s.Leave(session.CodeShutdown, "")
		timer := a.link.clock.AfterFunc("client/leave", leaveTime, a.cancel)
		defer timer.Stop()
	} else {
		a.cancel()
	}
	a.wg.Wait()
	a.cancel()
}

// rest waits; false means that ctx ended before.
func (a *attacher) rest(ctx context.Context, d time.Duration) bool {
	return overlay.Sleep(ctx, a.link.clock, "client/pause", d)
}

// dial connects to the relay and exchanges Hellos, with what is to be said about
// the session there is.
func (a *attacher) dial(ctx context.Context) (*connection, error) {
	l := a.link
	hello := wire.LeafHello{
		MinVersion: wire.LeafVersionMin, MaxVersion: wire.LeafVersionMax, Features: wire.AllFeatures,
		Instance: a.instance, Leaf: a.relay.Leaf, Clock: l.LinkTime(a.link.now()), BeatMillis: uint32(beat.Milliseconds()),
		Name: l.cfg.Name,
	}
	if l.cfg.Observer {
		hello.Features |= wire.FeatureObserver
	}
	hello.Keys, _ = leafKeys(l.cfg.Keys) // they were checked
	var challenge wire.LeafChallenge
	_, _ = l.rand.Read(challenge.Nonce[:]) // never fails
	if s := l.session.Load(); s != nil {
		hello.Session, hello.Received = s.ID(), s.Detach()
	} else if s := l.former.Load(); s != nil {
		hello.Session, hello.Received = s.ID(), wire.UnknownCounts()
	}
	ctx, cancel := overlay.WithTimeout(ctx, l.clock, "client/hello", handshakeTime)
	defer cancel()
	return l.cfg.dial(ctx, hello, challenge, func() uint64 { return l.LinkTime(l.now()) }, &l.bodies)
}

// run carries sessions over one connection after the other until close.
func (a *attacher) run(c *connection) {
	defer a.finish()
	pause := firstPause
	for c != nil {
		began := a.link.now()
		err := a.carry(c)
		s := a.link.session.Load()
		a.link.change(false, err)
		if a.ctx.Err() != nil || a.leaving.Load() {
			return
		}
		a.log.Info("lost the relay, re-attaching", zap.Error(err))
		a.outage.Begin(s.Heard())
		if isOver(err) || s.ID() == 0 {
			a.end(err)
		} else {
			a.link.report(overlay.LinkSuspect, s.Number(), nil)
		}
		if a.link.now().Sub(began) >= stable {
			pause = firstPause
		}
		c = a.redial(time.Duration(a.link.roll() * float64(pause)))
		pause = min(2*pause, lastPause)
	}
}

// isOver says that Run ended with the session.
func isOver(err error) bool {
	return isAny(err, session.ErrGoodbye, session.ErrLeft, session.ErrDown, session.ErrPoison)
}

// redial tries until it is connected, and ends the session when that is over. It
// returns nil after close.
func (a *attacher) redial(pause time.Duration) *connection {
	for a.waitOutage(pause) {
		ctx, cancel := a.ctx, context.CancelFunc(func() {})
		if a.link.session.Load() != nil {
			ctx, cancel = overlay.WithTimeout(a.ctx, a.link.clock, "client/outage", a.outage.Left(a.link.now()))
		}
		c, err := a.dial(ctx)
		cancel()
		if err == nil {
			return c
		}
		a.link.change(false, err)
		pause = shortened(min(a.outage.Failed(a.link.now(), failureOf(err)), lastPause), a.link.roll())
	}
	return nil
}

// waitOutage waits before the next attempt, and ends the session if it is over
// before. false means that the client was closed.
func (a *attacher) waitOutage(pause time.Duration) bool {
	if a.link.session.Load() == nil {
		return a.rest(a.ctx, pause)
	}
	if left := a.outage.Left(a.link.now()); !a.outage.Gone() && left > 0 {
		if !a.rest(a.ctx, min(pause, left)) {
			return false
		}
	}
	if a.outage.Over(a.link.now()) {
		a.end(session.ErrSilent)
	}
	return a.ctx.Err() == nil
}

// carry runs the session over a connection, a new one if the relay has not the
// one there was, and returns why it does not any more.
func (a *attacher) carry(c *connection) error {
	defer c.conn.Close()
	defer context.AfterFunc(a.ctx, func() { c.conn.Close() })()
	s := a.link.session.Load()
	same := c.relay.Instance == a.relay.Instance
	resumed := s != nil && c.relay.Session == s.ID() && same
	if a.relay = c.relay; !same {
		a.relay.Received = wire.UnknownCounts()
	}
	if !resumed {
		if s != nil {
			a.end(session.ErrReplaced)
		}
		s = a.begin()
	}
	a.link.change(true, nil)
	if resumed {
		a.link.report(overlay.LinkRecovered, s.Number(), nil)
	}
	return s.Run(c.Carrier, session.Greeting{Received: c.relay.Received, Window: soonAcked(c.relay.LaneBytes), Sample: c.sample})
}

// soonAcked returns the windows by which the session acknowledges what comes. Where a
// relay has no room for a publication nobody waits, as on other lanes: it is lost. What
// the program has read takes room until that is acknowledged: so not more than a
// sixteenth of the lane does.
func soonAcked(lanes [wire.Lanes]uint32) (window [wire.Lanes]int) {
	window[wire.LanePub] = int(lanes[wire.LanePub] / 4)
	return window
}

// begin makes a session.
func (a *attacher) begin() *session.Session {
	a.last++
	var lanes [wire.Lanes]int
	for i, n := range a.relay.LaneBytes {
		lanes[i] = int(n)
	}
	a.link.several = a.relay.Features&wire.FeatureSeveral != 0
	s := session.New(session.Config{
		Seam: session.Seam{
			Clock: a.link.clock, Exec: a.link.exec, Rand: a.link.rand,
			Go:   func(f func()) bool { a.wg.Go(f); return true },
			Done: a.ctx.Done(), Standby: a.standby,
		},
		Number: a.last, ID: a.relay.Session, Epoch: a.link.epoch,
		LaneBytes: lanes, MaxMessage: maxMessage, Beat: beat, Memory: session.Memory{Bodies: &a.link.bodies},
		Handler: a.link.handle, Leaf: true, Rescue: wire.LanePub, Notice: a.noticed,
	})
	s.Want(func() bool { return true })
	a.began(s, a.relay.Received)
	a.link.patience.end()
	a.link.report(overlay.LinkUp, s.Number(), nil)
	a.attached()
	return s
}

// noticed takes in what the relay says about itself.
func (a *attacher) noticed(m *wire.Notice) {
	if uint8(m.GetTopic()) == wire.NoticeDraining {
		a.log.Info("the relay is shutting down", zap.String("text", m.GetDetail()))
	}
}

// end ends the session.
func (a *attacher) end(cause error) {
	s := a.link.session.Load()
	if s == nil {
		return
	}
	a.ended(s, a.outage.Gone())
	a.link.former.Store(s)
	a.link.session.Store(nil)
	a.link.report(overlay.LinkDown, s.Number(), cause)
	a.link.Open(nil)
}

// finish is the end of the loop: there won't be a session any more.
func (a *attacher) finish() {
	close(a.link.closed)
	a.end(overlay.ErrClosed)
}
