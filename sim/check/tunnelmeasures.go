// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package check

import (
	"slices"
	"time"

	"github.com/arke-mesh/arke/sim/history"
)

// farewell is how long a handler may keep a tunnel that its caller has left: as
// long as a silent link is kept, and a little.
const farewell = 12 * time.Second

// traffic counts the tunnels of one work.
type traffic struct {
	all, done, broken, refused, excused int
	messages                            int
	bytes, ahead                        uint64
	opened                              []time.Duration
	rates                               []float64
}

func measureTunnels(h *history.History, s sheet) {
	works := make(map[string]*traffic)
	for i := range h.Tunnels {
		t := &h.Tunnels[i]
		for _, work := range labels(t.Work) {
			entry(works, work).add(t)
		}
	}
	for work, t := range works {
		t.measure(s, work)
	}
}

func (x *traffic) add(t *history.Tunnel) {
	x.all++
	received := uint64(t.Forth.Received+t.Back.Received) * uint64(max(0, t.Size))
	x.bytes += received
	x.messages += t.Forth.Received + t.Back.Received
	x.ahead = max(x.ahead, uint64(max(0, t.Forth.Ahead, t.Back.Ahead)))
	if t.Opened >= 0 {
		x.opened = append(x.opened, minus(t.Opened, t.Sent))
	}
	switch {
	case t.Lost:
		x.excused++
	case t.Outcome == "done":
		x.done++
		if took := minus(t.Ended, t.Opened); took > 0 {
			x.rates = append(x.rates, float64(received)/took.Seconds())
		}
	case t.Opened >= 0:
		x.broken++
	default:
		x.refused++
	}
}

func (x *traffic) measure(s sheet, work string) {
	for metric, n := range map[string]int{
		"tunnels": x.all, "tunnels_done": x.done, "tunnels_broken": x.broken, "tunnels_refused": x.refused,
		"tunnels_excused": x.excused, "tunnel_messages": x.messages,
	} {
		s.count(named(metric, work), n)
	}
	s.bytes(named("tunnel_bytes", work), x.bytes)
	s.bytes(named("tunnel_ahead_max", work), x.ahead)
	s.quantilesOf(work, "tunnel_open", x.opened)
	if len(x.rates) > 0 {
		slices.Sort(x.rates)
		s[named("tunnel_rate_p50", work)] = Metric{Value: x.rates[rank(50, len(x.rates))], Unit: BytesSec, Samples: len(x.rates)}
		s[named("tunnel_rate_min", work)] = Metric{Value: x.rates[0], Unit: BytesSec, Samples: len(x.rates)}
	}
}

func tunnelMetrics() []MetricInfo {
	return perWork(slices.Concat([]MetricInfo{
		{Name: "tunnels", Unit: Count, Meaning: "tunnels that were to be opened"},
		{Name: "tunnels_done", Unit: Count, Meaning: "of them, those of which both directions ended in good order"},
		{Name: "tunnels_broken", Unit: Count, Meaning: "of them, those that were opened and did not end so"},
		{Name: "tunnels_refused", Unit: Count, Meaning: "of them, those that could not be opened"},
		{Name: "tunnels_excused", Unit: Count, Meaning: "of them, those whose caller's own node was hit; none of the three above counts them"},
		{Name: "tunnel_messages", Unit: Count, Meaning: "messages that came out of tunnels, on either side"},
		{Name: "tunnel_bytes", Unit: Bytes, Meaning: "bytes of them"},
		{Name: "tunnel_ahead_max", Unit: Bytes, Meaning: "by how many bytes a sender was ahead of its receiver at most"},
		{Name: "tunnel_rate_p50", Unit: BytesSec, Meaning: "bytes per second that came out of a tunnel that ended well, both sides together, while it was open: median"},
		{Name: "tunnel_rate_min", Unit: BytesSec, Meaning: "the same, of the slowest"},
	}, quantiles("tunnel_open", "time until a tunnel was opened")), nil)
}
