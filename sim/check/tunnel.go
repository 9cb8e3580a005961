// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package check

import (
	"fmt"
	"slices"
	"time"

	"github.com/arke-mesh/arke/sim/history"
)

// checkTunnel: each direction delivers the messages that were sent, from the
// first on and none else; after a good end, all of them. One handler at most
// has a tunnel, and one that was opened has one.
func checkTunnel(b *borders, d *violations) {
	for i := range b.h.Tunnels {
		t := &b.h.Tunnels[i]
		for _, text := range flaws(b, t) {
			d.add(max(t.Sent, t.Ended), "tunnel %s: %s", opened(t), text)
		}
	}
}

// opened names a tunnel for people.
func opened(t *history.Tunnel) string {
	return fmt.Sprintf("%d of %s to %s", t.ID, t.Caller, t.Cluster)
}

// flaws says what is wrong with a tunnel.
func flaws(b *borders, t *history.Tunnel) []string {
	var out []string
	complain := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	if len(t.Served) > 1 {
		complain("%d handlers had it", len(t.Served))
	}
	if t.Opened >= 0 && len(t.Served) == 0 && !lostOpening(b, t) {
		complain("it was opened to %s, and no handler had it", b.members.seat(t.Member))
	}
	if t.Own {
		return out
	}
	for _, flow := range []struct {
		name string
		*history.Flow
	}{{"to the member", &t.Forth}, {"back to the caller", &t.Back}} {
		switch {
		case flow.Wrong > 0:
			complain("%d of %d messages %s are not what was sent, in order", flow.Wrong, flow.Received, flow.name)
		case flow.Received > flow.Tried:
			complain("%d messages came %s, of %d", flow.Received, flow.name, flow.Tried)
		case flow.End && !flow.Closed:
			complain("a good end was told %s, and nobody had ended it so", flow.name)
		case flow.End && flow.Received != flow.Sent:
			complain("it ended well %s with %d messages, of %d", flow.name, flow.Received, flow.Sent)
		case t.Outcome == "done" && !flow.End:
			complain("it is said to have ended well, and not %s", flow.name)
		}
	}
	return out
}

// lostOpening says whether the node, or the gateway, to which a tunnel was opened was lost.
func lostOpening(b *borders, t *history.Tunnel) bool {
	if tenure, ok := b.members.named[t.Member]; ok {
		return b.members.lostNode(tenure, t.Sent)
	}
	return t.Lost || b.lent[t.Member] != "" && b.lostAnyGateway(t.Sent)
}

// checkEnded: the caller is done with its tunnel at its deadline; the handler
// is, soon after the caller, at the latest when the link is given up. While its node
// sleeps no handler can end.
func checkEnded(c *disturbance, m *registrations, d *violations) {
	for i := range c.h.Tunnels {
		t := &c.h.Tunnels[i]
		late := c.latest(t.Caller, t.Sent, t.Deadline)
		switch {
		case t.Ended < 0 && late < c.h.End:
			d.add(t.Deadline, "tunnel %s, opened at %v, never ended", opened(t), t.Sent)
			continue
		case t.Ended > late && !t.Lost:
			d.add(t.Ended, "tunnel %s ended (%s) %v after its deadline", opened(t), t.Outcome, minus(t.Ended, t.Deadline))
		}
		checkServed(c, m, t, d)
	}
}

func checkServed(c *disturbance, m *registrations, t *history.Tunnel, d *violations) {
	for _, v := range t.Served {
		if v.Tenure < 0 || v.Tenure >= len(m.h.Tenures) || m.lostNode(v.Tenure, v.Began) {
			continue
		}
		node, left := m.h.Tenures[v.Tenure].Node, max(t.Ended, v.Began)
		latest := c.awake(node, left, c.slack(node, span{left, plus(left, farewell)}, farewell))
		if latest < m.h.End && (v.Ended < 0 || v.Ended > latest) {
			d.add(latest, "tunnel %s ended (%s) at %v, and the handler on %s, which was awake, still had it %v later",
				opened(t), t.Outcome, t.Ended, node, minus(latest, t.Ended))
		}
	}
}

// checkAhead: the sender waits for credit.
func checkAhead(c *disturbance, d *violations) {
	for i := range c.h.Tunnels {
		t := &c.h.Tunnels[i]
		for _, flow := range []*history.Flow{&t.Forth, &t.Back} {
			if limit := c.rules.Ahead + 2*int64(t.Size); !t.Own && flow.Ahead > limit {
				d.add(max(t.Sent, t.Ended), "tunnel %s: the sender was %d bytes ahead of the receiver; at most %d are allowed", opened(t), flow.Ahead, limit)
			}
		}
	}
}

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

func measureTunnels(h *history.History, s metrics) {
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

func (x *traffic) measure(s metrics, work string) {
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
		s.sampled(named("tunnel_rate_p50", work), Rank(x.rates, 500), BytesSec, len(x.rates))
		s.sampled(named("tunnel_rate_min", work), x.rates[0], BytesSec, len(x.rates))
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
