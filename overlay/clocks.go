// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package overlay

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"
)

// How wall clocks are compared.
const (
	clockWarning = 30 * time.Second // from here on a difference is worth a line in the log
	clockStep    = time.Second      // our wall clock was set, and did not just run
	clockOverlap = time.Minute      // for so long after that, the time that it showed before counts, too
	clockLook    = 30 * time.Second // how often we look whether it was set
	clockAgain   = time.Hour        // how often the peers are asked anyway: clocks drift
	clockQuiet   = time.Minute      // between two lines in the log about the same thing
	fewClocks    = 64               // up to here each word of a peer is weighed at once
	weighEvery   = time.Second      // beyond that, this often
)

// ClockState says how the wall clock of this node compares with those of the peers
// that it has links to.
type ClockState string

// The states of ClockStatus.
const (
	ClockAgrees  ClockState = "agrees"  // at least half of them are near it, or there are none
	ClockDiffers ClockState = "differs" // most differ, and there is no telling who is wrong
	ClockWrong   ClockState = "wrong"   // most differ, and agree with each other
	ClockSet     ClockState = "set"     // it was set far off, and most have not said yet what theirs show
)

// ClockStatus compares the wall clock of this node with those of its peers.
type ClockStatus struct {
	State ClockState `json:"state"`
	// Ahead is how far the clocks of those who differ are ahead of this node's, as
	// the median; negative = behind.
	Ahead time.Duration `json:"ahead_ns,omitempty"`
	// Differ counts the peers whose clocks are off by the tolerance or more, Of all
	// that were compared. Each peer counts once.
	Differ int `json:"differ"`
	Of     int `json:"of"`
}

// Err says in one sentence what is wrong, nil if nothing is.
func (s ClockStatus) Err() error {
	switch s.State {
	case ClockWrong:
		return fmt.Errorf("this node's clock is wrong: it differs by %v from %d of %d peers", s.Ahead.Abs().Round(time.Second), s.Differ, s.Of)
	case ClockDiffers:
		return fmt.Errorf("clock differs by %v from %d of %d peers", s.Ahead.Abs().Round(time.Second), s.Differ, s.Of)
	case ClockSet:
		return errors.New("this node's clock was set, and its peers have not said yet whether theirs agree")
	}
	return nil
}

// instant is a moment on both clocks of this node.
type instant struct {
	link time.Duration // since the overlay was made: only this one never jumps
	wall time.Duration // since 1970
}

// clocks is the core that compares wall clocks. A peer's word counts as long as
// there is a session with it, and each peer counts once, whatever it says: who wants
// this node to believe that its clock is wrong needs more than half of its links.
type clocks struct {
	tolerance time.Duration // from here on a clock is off

	peers  map[peer.ID]*peerClock
	ours   time.Duration // our wall clock minus our link clock
	agreed time.Duration // what ours was when it last counted alone
	set    time.Duration // when our wall clock was set last, on the link clock
	told   walls         // what the shell was told last
	graded [clockGrades]int
	status ClockStatus
	weigh  time.Duration // when status may change next, on the link clock
	asked  time.Duration // when the peers were asked last
	begun  bool

	saidState, saidPeer time.Duration // when the log had it last; 0 = never
	said                ClockState
	unsaid              int // peers that the log has not named since saidPeer
}

// walls are the wall clocks that count: ours, and beside it another one that this node's
// peers may go by. Both are what they show minus our link clock.
type walls struct{ ours, also time.Duration }

// peerClock is what one peer has said of its wall clock.
type peerClock struct {
	session uint64
	base    time.Duration // its wall clock minus our link clock
	grade   clockGrade
}

// clockGrade is how much a difference matters.
type clockGrade uint8

const (
	clockNear    clockGrade = iota
	clockWarned             // worth a line
	clockOff                // epochs may differ
	clockUnknown            // said before our own clock was set
	clockGrades  = iota
)

// clockEvent is one thing that the core is told: what a peer's wall clock shows, that
// the session with a peer has ended, or without a peer that time has passed.
type clockEvent struct {
	peer peer.ID
	// session is in which it was said, or which has ended: news of another one may
	// come first. Later ones have larger numbers.
	session uint64
	gone    bool
	name    string
	wall    time.Duration // since 1970
	trip    time.Duration // the round trip to it, 0 = not measured
}

// clockNews is what has to be done.
type clockNews struct {
	ask   bool          // all peers what their clocks show, and tell them ours
	turn  bool          // other wall clocks count
	set   time.Duration // to log: our wall clock was set by so much; 0 = it was not
	state *ClockStatus  // to log: it is another one than the log had last
	peer  peer.ID       // to log: its clock differs …
	name  string
	ahead time.Duration
	grade clockGrade
	alone bool // … and most others agree with this node
	more  int  // … and so do so many that were not logged
}

func newClocks(tolerance time.Duration) clocks {
	return clocks{
		tolerance: tolerance, peers: make(map[peer.ID]*peerClock),
		status: ClockStatus{State: ClockAgrees}, said: ClockAgrees,
	}
}

// step takes an event in.
func (c *clocks) step(now instant, e clockEvent) []clockNews {
	news := c.look(now)
	switch {
	case e.peer == "":
	case e.gone:
		if p := c.peers[e.peer]; p != nil && p.session <= e.session {
			c.graded[p.grade]--
			delete(c.peers, e.peer)
		}
	default:
		news = c.heard(now, e, news)
	}
	if now.link >= c.weigh {
		if c.weigh = 0; len(c.peers) > fewClocks {
			c.weigh = now.link + weighEvery
		}
		c.status = c.judge()
	}
	if c.status.State == ClockAgrees && now.link-c.set >= clockOverlap {
		c.agreed = c.ours
	}
	if w := c.walls(); (w.ours-c.told.ours).Abs() >= clockWarning || (w.also-c.told.also).Abs() >= clockWarning {
		c.told = w
		news = append(news, clockNews{turn: true})
	}
	if c.status.State != c.said && c.status.State != ClockSet && due(now.link, c.saidState, clockQuiet) {
		c.said, c.saidState = c.status.State, now.link
		s := c.status
		news = append(news, clockNews{state: &s})
	}
	return news
}

// due says whether so long has passed since last; 0 = never.
func due(now, last, every time.Duration) bool { return last == 0 || now-last >= every }

// look finds out whether our wall clock was set, and says whether the peers are to be
// asked. If it was set far, what they said before counts no more: if this machine slept,
// their clocks went on, and our link clock did not.
func (c *clocks) look(now instant) (news []clockNews) {
	ours := now.wall - now.link
	moved := ours - c.ours
	stepped := moved.Abs() >= clockStep
	switch first := !c.begun; {
	case first:
		c.begun, c.ours, c.agreed, c.told, c.asked = true, ours, ours, walls{ours, ours}, now.link
		return nil
	case stepped:
		c.ours, c.set, c.weigh = ours, now.link, 0
		for _, p := range c.peers {
			if (ours - c.agreed).Abs() >= c.tolerance {
				c.regrade(p, clockUnknown)
			} else {
				c.regrade(p, c.gradeOf(p))
			}
		}
		if moved.Abs() >= clockWarning {
			news = append(news, clockNews{set: moved})
		}
	case !due(now.link, c.asked, clockAgain):
		return nil
	}
	c.asked = now.link
	return append(news, clockNews{ask: true})
}

// walls are the wall clocks that count. While most peers differ, theirs does, too; after
// ours was set, what it showed before does until peers agree, and a moment longer: they,
// or their clocks, may follow. So members and callers find each other whoever is wrong.
func (c *clocks) walls() walls {
	switch c.status.State {
	case ClockWrong, ClockDiffers:
		return walls{c.ours, c.ours + c.status.Ahead}
	}
	return walls{c.ours, c.agreed}
}

// heard takes in what a peer's wall clock shows.
func (c *clocks) heard(now instant, e clockEvent, news []clockNews) []clockNews {
	p := c.peers[e.peer]
	if p == nil {
		p = &peerClock{}
		c.peers[e.peer] = p
		c.graded[p.grade]++
	}
	if e.session < p.session {
		return news
	}
	p.session, p.base = e.session, e.wall+e.trip/2-now.link
	ahead, before, grade := c.ahead(p), p.grade, c.gradeOf(p)
	c.regrade(p, grade)
	if grade == clockNear || grade == before {
		return news
	}
	if !due(now.link, c.saidPeer, clockQuiet) {
		c.unsaid++
		return news
	}
	known := len(c.peers) - c.graded[clockUnknown]
	near := known - c.graded[clockOff]
	news = append(news, clockNews{
		peer: e.peer, name: e.name, ahead: ahead, grade: grade, more: c.unsaid,
		alone: grade == clockOff && near >= 2 && 2*near > known,
	})
	c.saidPeer, c.unsaid = now.link, 0
	return news
}

func (c *clocks) gradeOf(p *peerClock) clockGrade {
	switch d := c.ahead(p).Abs(); {
	case d >= c.tolerance:
		return clockOff
	case d >= clockWarning:
		return clockWarned
	}
	return clockNear
}

func (c *clocks) regrade(p *peerClock, g clockGrade) {
	c.graded[p.grade]--
	p.grade = g
	c.graded[g]++
}

func (c *clocks) ahead(p *peerClock) time.Duration { return p.base - c.ours }

// judge weighs what the peers say. Whose clock is wrong is known only if more than
// half of them agree against this node, and at least two.
func (c *clocks) judge() ClockStatus {
	known := len(c.peers) - c.graded[clockUnknown]
	if known < c.graded[clockUnknown] {
		return ClockStatus{State: ClockSet, Of: known}
	}
	if 2*c.graded[clockOff] <= known {
		return ClockStatus{State: ClockAgrees, Differ: c.graded[clockOff], Of: known}
	}
	var off []time.Duration
	for _, p := range c.peers {
		if p.grade == clockOff {
			off = append(off, c.ahead(p))
		}
	}
	slices.SortFunc(off, cmp.Compare[time.Duration])
	s := ClockStatus{State: ClockDiffers, Ahead: off[len(off)/2], Differ: c.graded[clockOff], Of: known}
	agree := 0
	for _, d := range off {
		if (d - s.Ahead).Abs() < c.tolerance {
			agree++
		}
	}
	if agree >= 2 && 2*agree > known {
		s.State, s.Differ = ClockWrong, agree
	}
	return s
}
