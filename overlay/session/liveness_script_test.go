// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package session

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/arke-mesh/arke/internal/script"
)

// steady is a Jitter that adds and takes nothing.
type steady struct{}

func (steady) IntN(n int) int { return n / 2 }

// TestLivenessScripts plays the stories in testdata/liveness against the core that
// decides whether a peer is alive. Heartbeats have no jitter here. A step prints what
// the core does until then, with the time since the connection began, and says after
// an arrow when it wants to be woken next.
//
//	connect [interval=400ms] [rtt=1ms]   a connection begins, at 0s; rtt=0s = not measured yet
//	want                                 somebody begins to be interested in the peer
//	unwant                               nobody is any more
//	hear                                 bytes come from the peer
//	until TIME [every=PAUSE]             time passes; every = bytes come from the peer that often
//	stop TIME                            this process does not run until then
//	late BY                              from now on timers fire that much too late
func TestLivenessScripts(t *testing.T) {
	script.Run(t, "testdata/liveness", func() func(script.Step) []string {
		r := &livenessRun{}
		return func(s script.Step) []string { return []string{r.obey(s)} }
	})
}

// livenessRun plays a peer's life against the core, and notes what the core does.
type livenessRun struct {
	core  liveness
	start time.Time
	now   time.Time
	wake  time.Time
	late  time.Duration // of the timer
	v     vitals
	log   []livenessNote
}

type livenessNote struct {
	at   time.Duration
	what string
}

func newLivenessRun(core liveness) *livenessRun {
	start := time.Unix(1000, 0)
	core.begin(start)
	return &livenessRun{core: core, start: start, now: start, v: vitals{heard: start}}
}

func (r *livenessRun) note(what string) {
	r.log = append(r.log, livenessNote{r.now.Sub(r.start), what})
}

func (r *livenessRun) want() {
	r.v.since = r.now
	if r.wake.IsZero() {
		r.step()
	}
}

func (r *livenessRun) hear() {
	r.v.heard = r.now
	if r.core.suspect && r.core.heard(r.now) {
		r.note("recovered")
	}
}

func (r *livenessRun) step() {
	a := r.core.step(r.now, r.v)
	if a.suspect {
		r.note("suspect")
	}
	if a.stalled {
		r.note("stood still")
	}
	if a.ping {
		r.note("ask")
	}
	if a.close {
		r.note("close")
	}
	r.wake = a.wake
}

// until lets time pass, and bytes come every so often, if ever.
func (r *livenessRun) until(at, every time.Duration) {
	end := r.start.Add(at)
	for every > 0 && r.now.Add(every).Before(end) {
		r.until(r.now.Add(every).Sub(r.start), 0)
		r.hear()
	}
	for !r.wake.IsZero() && !r.wake.Add(r.late).After(end) {
		r.now = r.wake.Add(r.late)
		r.step()
	}
	r.now = end
}

// tell says what the core did since it was called last. Many questions are one line.
func (r *livenessRun) tell() string {
	var out strings.Builder
	for i := 0; i < len(r.log); {
		n, times := r.log[i], 1
		for i+times < len(r.log) && r.log[i+times].what == n.what {
			times++
		}
		if times > 5 {
			fmt.Fprintf(&out, "%v to %v: %s, %d times\n", n.at, r.log[i+times-1].at, n.what, times)
		} else {
			fmt.Fprintf(&out, "%v: %s\n", n.at, n.what)
			times = 1
		}
		i += times
	}
	r.log = nil
	if r.wake.IsZero() {
		return out.String() + "-> sleep"
	}
	return out.String() + fmt.Sprintf("-> %v", r.wake.Sub(r.start))
}

func (r *livenessRun) obey(s script.Step) string {
	switch s.Cmd {
	case "connect":
		*r = *newLivenessRun(liveness{
			interval: s.TimeOf("interval", 400*time.Millisecond), rtt: s.TimeOf("rtt", time.Millisecond),
			limit: silenceLimit, rand: steady{},
		})
	case "want":
		r.want()
	case "unwant":
		r.v.since = time.Time{}
	case "hear":
		r.hear()
	case "until":
		r.until(s.Time(0), s.TimeOf("every", 0))
	case "stop":
		r.now = r.start.Add(s.Time(0))
		r.step()
	case "late":
		r.late = s.Time(0)
	default:
		s.Unknown()
	}
	return r.tell()
}
