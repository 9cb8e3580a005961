// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package relay

import (
	"time"

	"go.uber.org/zap"

	"github.com/arke-mesh/arke/internal/notice"
)

// notices is what the log says of a relay's numbers and clients. It belongs to its
// watch.
type notices struct {
	limits notice.Limits
	hung   notice.Changes[uint64] // by origin
	names  map[uint64]string      // of those
}

// heard is what is known of whether a client lives.
type heard struct {
	origin  uint64
	name    string
	members int
	silent  bool // it leaves beats unanswered
	away    bool // no connection carries its session
}

// mostHung is how many clients are named in one look.
const mostHung = 10

// look takes in the numbers of a relay, and its clients.
func (n *notices) look(now time.Time, drops map[string]uint64, clients []heard) []notice.Line {
	news := n.limits.Step(now, drops)
	known, names := map[uint64]heard{}, map[uint64]string{}
	var hung []uint64
	for _, c := range clients {
		known[c.origin] = c
		_, was := n.names[c.origin]
		if c.silent || was && c.away { // its connection was closed for that
			hung = append(hung, c.origin)
			names[c.origin] = c.name
		}
	}
	came, gone := n.hung.Step(hung)
	for i, origin := range came {
		if i == mostHung {
			news = append(news, notice.Line{Warn: true, Text: "more clients hang", Fields: []zap.Field{zap.Int("clients", len(came)-mostHung)}})
			break
		}
		c := known[origin]
		news = append(news, notice.Line{Warn: true, Text: "a client hangs: callers ask other members than its own until it is heard", Fields: []zap.Field{
			zap.String("client", c.name), zap.Int("members", c.members),
		}})
	}
	for _, origin := range gone[:min(len(gone), mostHung)] {
		text := "a client that hung is heard again"
		if _, here := known[origin]; !here {
			text = "a client that hung has gone"
		}
		news = append(news, notice.Line{Text: text, Fields: []zap.Field{zap.String("client", n.names[origin])}})
	}
	n.names = names
	return news
}

// newNotices returns what looks at a relay's numbers and clients once it is started.
func newNotices(r *Relay) *notice.Watch {
	n := &notices{}
	return notice.NewWatch(r.clock, r.log, func(now time.Time) []notice.Line {
		drops := map[string]uint64{}
		for reason, count := range r.count.snapshot() {
			drops["relay."+reason] = count
		}
		var all []heard
		for _, c := range r.attached() {
			all = append(all, heard{c.origin, c.name, len(c.claims.all(registration)), c.sess.Silent(), c.conn.away()})
		}
		return n.look(now, drops, all)
	})
}
