// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package check

import (
	"cmp"
	"slices"
	"strings"

	"github.com/arke-mesh/arke/sim/history"
)

// checkRound: what a gateway passes on to another one says through which networks it has
// come, and it is true: the gateway got it in the last of them, as one that had come
// through the others, and the first one is its caller's. Members are not told. Nothing
// enters a network that it has come through.
func checkRound(b *borders, d *violations) {
	messages, trails := messagesOf(b), trails{}
	for i := range b.h.Hops {
		h := &b.h.Hops[i]
		m, known := messages[h.Request]
		if !known {
			continue // of nobody's work, as a question to $federation
		}
		if complain := wrongHop(b, h, m.home, trails); complain != "" && !b.lives.hostile(h.From) {
			d.add(h.At, "message %d, which %s sent to %s in the network %s as one that has come through %s, %s",
				h.Request, h.From, h.To, h.Network, cmp.Or(strings.Join(h.Passed, ", "), "none"), complain)
		}
		trails.follow(h)
	}
}

// trails are how messages came to gateways: through which networks, in order.
type trails map[carrier][]string

// carrier is a gateway that has a message.
type carrier struct {
	request uint64
	gateway string
}

// follow takes in that a gateway, or a node, got a message.
func (t trails) follow(h *history.Hop) {
	k, way := carrier{h.Request, h.To}, strings.Join(append(slices.Clone(h.Passed), h.Network), " ")
	if !slices.Contains(t[k], way) {
		t[k] = append(t[k], way)
	}
}

// through are the networks that a message has come through which a gateway sends: those
// that it says, or, to a member, those by which it has come to the gateway without
// having been there, if it has.
func (t trails) through(h *history.Hop) []string {
	if len(h.Passed) > 0 {
		return h.Passed
	}
	for _, way := range t[carrier{h.Request, h.From}] {
		if passed := strings.Fields(way); !slices.Contains(passed, h.Network) {
			return passed
		}
	}
	return nil
}

// message is a request or a tunnel whose frames are heard.
type message struct {
	work, home string // home is its caller's network
	many       bool
}

// messagesOf are the requests and tunnels of a run, by their ids.
func messagesOf(b *borders) map[uint64]message {
	out := make(map[uint64]message)
	for i := range b.h.Requests {
		r := &b.h.Requests[i]
		out[r.ID] = message{r.Work, b.home(b.lives.at(r.Caller, r.Sent)), r.Many()}
	}
	for i := range b.h.Tunnels {
		t := &b.h.Tunnels[i]
		out[t.ID] = message{t.Work, b.home(b.lives.at(t.Caller, t.Sent)), false}
	}
	return out
}

// wrongHop says what is wrong with a frame of a message, whose caller is at home in a
// network, or "".
func wrongHop(b *borders, h *history.Hop, home string, known trails) string {
	from, to, passed := isGateway(b, h.From), isGateway(b, h.To), known.through(h)
	switch {
	case !from && len(h.Passed) > 0:
		return "is from no gateway"
	case !from && h.Network != home:
		return "is from " + home
	case !from:
		return ""
	case len(h.Passed) == 0 && to:
		return "crosses a border and does not say so"
	case len(passed) == 0:
		return "did not come to that gateway from elsewhere"
	case slices.Contains(passed, h.Network):
		return "enters that network again"
	case passed[0] != home:
		return "is from " + home
	case !slices.Contains(known[carrier{h.Request, h.From}], strings.Join(passed, " ")):
		return "did not come so to that gateway"
	}
	for i, name := range passed {
		if slices.Contains(passed[:i], name) {
			return "came through " + name + " twice"
		}
	}
	return ""
}

// isGateway says whether a node is one.
func isGateway(b *borders, node string) bool { return b.lives.first(node).Gateway != nil }

// carriage is what gateways carried of one work.
type carriage struct {
	far    int            // the most borders that one message had crossed
	copies map[uint64]int // of messages to all: frames that gateways were given
}

// measureHops measures how far messages came, and how many gateways had one that goes to
// all.
func measureHops(b *borders, s metrics) {
	if len(b.h.Hops) == 0 {
		return
	}
	messages, all, trails := messagesOf(b), make(map[string]*carriage), trails{}
	for i := range b.h.Hops {
		h := &b.h.Hops[i]
		far := len(trails.through(h))
		trails.follow(h)
		m, known := messages[h.Request]
		if !known || m.work == probe {
			continue
		}
		for _, name := range labels(m.work) {
			c := entry(all, name)
			c.far = max(c.far, far)
			if c.copies == nil {
				c.copies = make(map[uint64]int)
			}
			if m.many && isGateway(b, h.To) {
				c.copies[h.Request]++
			}
		}
	}
	for name, c := range all {
		c.measure(s, name)
	}
}

func (c *carriage) measure(s metrics, name string) {
	s.count(named("borders_max", name), c.far)
	most := 0
	for _, n := range c.copies {
		most = max(most, n)
	}
	if len(c.copies) > 0 {
		s.count(named("gateways_max", name), most)
	}
}

func hopMetrics() []MetricInfo {
	return perWork([]MetricInfo{
		{Name: "borders_max", Unit: Count, Meaning: "borders that one message had crossed, at most; level sim only"},
		{Name: "gateways_max", Unit: Count, Meaning: "how often gateways were given one survey or broadcast, all copies and borders together, at most; level sim only"},
	}, nil)
}
