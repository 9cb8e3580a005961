// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package overlay

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"

	story "github.com/arke-mesh/arke/internal/script"
)

// TestClockScripts plays the stories in testdata/clocks against the core that compares
// wall clocks. This node's link clock begins at 1s, its wall clock is right at first.
// A step prints what the core wants done, and the state after it if that is not what
// the step before left.
//
//	hear PEER… ahead=TIME [trip=TIME]   peers tell what their clocks show; ahead of the right time
//	gone PEER…                          the sessions with peers end
//	wait TIME                           time passes, and the core looks as often as it is due
//	set BY                              somebody sets this node's clock, so far forward
//	sleep TIME                          the machine sleeps: its link clock stands still
func TestClockScripts(t *testing.T) {
	story.Run(t, "testdata/clocks", func() func(story.Step) []string {
		r := &clockRun{core: newClocks(15 * time.Minute), link: time.Second, right: 1e6 * time.Second}
		r.status = r.core.status
		r.tell(clockEvent{})
		return r.obey
	})
}

// clockRun plays a life among peers against the core.
type clockRun struct {
	core   clocks
	link   time.Duration
	right  time.Duration // the right time, since 1970
	wrong  time.Duration // how far this node's clock is ahead of it
	status ClockStatus   // when it was printed last
	out    []string
}

func (r *clockRun) obey(s story.Step) []string {
	r.out = nil
	switch s.Cmd {
	case "hear":
		for _, p := range s.Words() {
			trip := s.TimeOf("trip", 0)
			wall := r.right + s.TimeOf("ahead", 0) - trip/2
			r.tell(clockEvent{peer: peer.ID(p), name: "node " + p, wall: wall, trip: trip})
		}
	case "gone":
		for _, p := range s.Words() {
			r.tell(clockEvent{peer: peer.ID(p), gone: true})
		}
	case "wait":
		for left := s.Time(0); left > 0; left -= clockLook {
			d := min(left, clockLook)
			r.link, r.right = r.link+d, r.right+d
			r.tell(clockEvent{})
		}
	case "set":
		r.wrong += s.Time(0)
		r.tell(clockEvent{})
	case "sleep":
		r.right += s.Time(0)
		r.tell(clockEvent{})
	default:
		return s.Unknown()
	}
	if now := r.core.status; now != r.status {
		r.status = now
		r.out = append(r.out, fmt.Sprintf("state: %s, %d of %d differ, ahead by %v", now.State, now.Differ, now.Of, now.Ahead))
	}
	return slices.Compact(r.out)
}

func (r *clockRun) tell(e clockEvent) {
	for _, n := range r.core.step(instant{link: r.link, wall: r.right + r.wrong}, e) {
		switch {
		case n.ask:
			r.out = append(r.out, "ask all peers")
		case n.turn:
			w := r.core.walls()
			r.out = append(r.out, fmt.Sprintf("count: own clock, and %v", w.also-w.ours))
		case n.set != 0:
			r.out = append(r.out, fmt.Sprintf("log: the clock was set by %v", n.set))
		case n.state != nil:
			r.out = append(r.out, fmt.Sprintf("log: state %s: %v", n.state.State, n.state.Err()))
		default:
			r.out = append(r.out, fmt.Sprintf("log: %s: %s, ahead by %v, and %d more", n.words(), n.name, n.ahead, n.more))
		}
	}
}
