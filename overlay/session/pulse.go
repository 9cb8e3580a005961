// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package session

import (
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/arke-mesh/arke/internal/after"
	"github.com/arke-mesh/arke/internal/wire"
)

// silenceLimit is after how long without a byte a connection is given up, so
// that another one can be tried.
const silenceLimit = 10 * time.Second

// Sample is what a Hello exchange says about the peer's clock. Times are in ns:
// Sent and Got on our link clock, Remote on the peer's.
type Sample struct {
	Sent   uint64 // our Hello; 0 if the peer's came first
	Got    uint64 // the peer's Hello
	Remote uint64 // in the peer's Hello
}

// Greeting is what the Hellos of a connection say.
type Greeting struct {
	// Received counts what the peer has received in the session.
	Received wire.Counts
	// Window is how many bytes the peer keeps at most in each lane, 0 = it has not
	// said: so it is told in time what it need not keep.
	Window [wire.Lanes]int
	// Sample is what the exchange says about the peer's clock.
	Sample Sample
}

// pulse drives the liveness core and the estimates of the peer's clock and of the
// round trip.
type pulse struct {
	// Immutable after New.
	cfg  *Config
	out  *outbox
	idle func() // breaks the connection of a peer that was silent for too long

	// Read without mu.
	suspect atomic.Bool
	offset  atomic.Int64 // the peer's link clock minus ours, ns
	heard   atomic.Int64 // the last byte from the peer, ns on our link clock
	rtt     atomic.Int64 // smoothed, ns; 0 = not measured

	// Guarded by mu.
	mu       sync.Mutex
	live     liveness
	clock    linkClock
	attached bool
	wanted   bool      // somebody is interested in the peer's life
	since    time.Time // when that began
	timer    Timer
	number   uint64 // which timer counts
	probe    *probe // the question whether the connection is still alive
	owed     uint64 // the clock of the first question since this process stood still; 0 = answered
}

// probe is answered by the Beat that echoes clock.
type probe struct {
	clock    uint64
	answered func()
}

// now is our link clock.
func (c *Config) now() uint64 { return c.linkTime(c.Clock.Now()) }

// wall is our wall clock in ms since 1970, never 0.
func (c *Config) wall() int64 { return max(1, c.Clock.Now().UnixMilli()) }

func (c *Config) linkTime(t time.Time) uint64 { return uint64(max(1, t.Sub(c.Epoch))) }

// attach begins anew on a connection.
func (p *pulse) attach(s Sample) {
	now := p.cfg.Clock.Now()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.attached, p.owed = true, 0
	p.heard.Store(int64(p.cfg.linkTime(now)))
	p.suspect.Store(false)
	p.live.begin(now)
	if s.Remote == 0 {
		return
	}
	if s.Sent == 0 {
		p.learned(p.clock.message(s.Got, s.Remote))
		return
	}
	p.exchange(s.Got, s.Sent, 0, s.Remote)
}

// started has the first questions asked, now that the connection stands.
func (p *pulse) started(s Sample) {
	var do after.List
	p.mu.Lock()
	now := p.cfg.Clock.Now()
	if s.Sent != 0 && s.Remote != 0 {
		// The side that was called has not timed an exchange yet: this answers its
		// Hello, before anything else that it gets.
		local := p.cfg.linkTime(now)
		m := wire.Beat{Clock: local, Echo: s.Remote, Held: local - min(local, s.Got)}
		do.Add(func() { p.say(&m) })
	}
	if p.wanted {
		p.step(&do, now)
	}
	p.mu.Unlock()
	do.Run()
}

// detach notes that no connection is left.
func (p *pulse) detach() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.attached = false
	p.stop()
}

// want asks whether anybody is interested in the peer's life.
func (p *pulse) want(wanted func() bool) {
	var do after.List
	p.mu.Lock()
	on := wanted()
	if on && !p.wanted {
		now := p.cfg.Clock.Now()
		if !p.live.suspect { // else it was never left alone
			p.since = now
		}
		p.wanted = true
		if p.attached && p.timer == nil {
			p.step(&do, now)
		}
	}
	p.wanted = on // the timer lapses by itself: interest often comes back at once
	p.mu.Unlock()
	do.Run()
}

// step steps the liveness core, and sets the timer. mu is held, as below.
func (p *pulse) step(do *after.List, now time.Time) {
	if p.cfg.Beat == 0 {
		return
	}
	v := vitals{heard: p.cfg.Epoch.Add(time.Duration(p.heard.Load()))}
	// A suspect peer is watched to its end, even if the suspicion has cost it
	// those who were interested. Left alone it would stay up, and whoever wants it
	// again would wait for a connection that may be dead since long ago.
	if p.wanted || p.live.suspect {
		v.since = p.since
	}
	a := p.live.step(now, v)
	p.stop()
	if a.close {
		do.Add(p.idle)
		return
	}
	if a.suspect {
		p.suspect.Store(true)
		do.Add(p.cfg.Changed)
	}
	if a.ping {
		p.ping(do, now)
	}
	if a.stalled {
		p.owed = p.cfg.linkTime(now)
	}
	if a.wake.IsZero() {
		return
	}
	number := p.number
	p.timer = p.cfg.Clock.AfterFunc("session/beat", a.wake.Sub(now), func() { p.time(number) })
}

// time is what the timer calls; without mu.
func (p *pulse) time(number uint64) {
	var do after.List
	p.mu.Lock()
	if number == p.number && p.attached {
		p.timer = nil
		p.step(&do, p.cfg.Clock.Now())
	}
	p.mu.Unlock()
	do.Run()
}

// stop makes the timer that is running, if any, count no more.
func (p *pulse) stop() {
	p.number++
	if p.timer != nil {
		p.timer.Stop()
		p.timer = nil
	}
}

// sign notes a byte from the peer; without mu.
func (p *pulse) sign() {
	now := p.cfg.Clock.Now()
	p.heard.Store(int64(now.Sub(p.cfg.Epoch)))
	if !p.suspect.Load() {
		return
	}
	p.mu.Lock()
	recovered := p.attached && p.live.heard(now)
	if recovered {
		p.suspect.Store(false)
	}
	p.mu.Unlock()
	if recovered {
		p.cfg.Changed()
	}
}

// ping asks the peer for a sign of life and for its clock.
func (p *pulse) ping(do *after.List, now time.Time) {
	m := wire.Beat{Clock: p.cfg.linkTime(now), WantReply: true}
	do.Add(func() { p.say(&m) })
}

// say sends a Beat; without mu.
func (p *pulse) say(m *wire.Beat) { p.out.put(p.cfg.beat(m)) }

// beat answers, learns, or both; without mu.
func (p *pulse) beat(body []byte) error {
	m, err := p.cfg.heardBeat(body)
	if err != nil {
		return err
	}
	if m.GetClock() > maxLinkTime || m.GetEcho() > maxLinkTime || m.GetHeld() > maxLinkTime {
		return fmt.Errorf("%w: beat: clock", ErrProtocol)
	}
	now := p.cfg.now()
	if m.GetWantReply() {
		answer := &wire.Beat{Clock: now, Echo: m.GetClock(), Held: p.cfg.now() - now}
		if m.GetWall() != 0 {
			answer.Wall = p.cfg.wall()
		}
		p.say(answer)
	}
	var do after.List
	p.mu.Lock()
	switch {
	case m.GetEcho() == 0:
		p.learned(p.clock.message(now, m.GetClock()))
	default:
		if q := p.probe; q != nil && q.clock == m.GetEcho() {
			p.probe = nil
			do.Add(q.answered)
		}
		if m.GetEcho() >= p.owed {
			p.owed = 0
		}
		p.exchange(now, m.GetEcho(), m.GetHeld(), m.GetClock())
	}
	p.mu.Unlock()
	do.Run()
	if m.GetWall() != 0 && p.cfg.Wall != nil {
		p.cfg.Wall(m.GetWall())
	}
	return nil
}

// tellWall sends what this side's wall clock shows, and asks for the peer's.
func (p *pulse) tellWall() {
	now := p.cfg.now()
	p.mu.Lock()
	p.owed = now // if the clock was set because this machine slept
	p.mu.Unlock()
	p.say(&wire.Beat{Clock: now, WantReply: true, Wall: p.cfg.wall()})
}

// exchange learns from an answer.
func (p *pulse) exchange(now, sent, held, remote uint64) {
	if sent > now || held > now-sent {
		return
	}
	rtt := time.Duration(max(now-sent-held, 1))
	if p.live.rtt != 0 {
		rtt = p.live.rtt + (rtt-p.live.rtt)/8
	}
	p.live.rtt = rtt
	p.rtt.Store(int64(rtt))
	p.learned(p.clock.exchange(now, sent, held, remote))
}

func (p *pulse) learned(better bool) {
	if better {
		p.offset.Store(p.clock.offset)
	}
}

// behind is described at Session.Behind.
func (p *pulse) behind() bool {
	now := p.cfg.Clock.Now()
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.attached && (p.owed != 0 || p.live.stalled(now))
}

func (p *pulse) patience() time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.live.patience()
}

// ask asks the peer on this connection for a sign of life, and has answered called
// once it has answered this very question: other bytes may have been under way
// when it died. A new question replaces an older one.
func (p *pulse) ask(clock uint64, answered func()) {
	p.mu.Lock()
	p.probe = &probe{clock: clock, answered: answered}
	p.mu.Unlock()
	p.say(&wire.Beat{Clock: clock, WantReply: true})
}
