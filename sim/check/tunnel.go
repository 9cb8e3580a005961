// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package check

import (
	"fmt"

	"github.com/arke-mesh/arke/sim/history"
)

// checkTunnel: each direction delivers the messages that were sent, from the
// first on and none else; after a good end, all of them. One handler at most
// has a tunnel, and one that was opened has one.
func checkTunnel(m *registrations, d *docket) {
	for i := range m.h.Tunnels {
		t := &m.h.Tunnels[i]
		for _, text := range flaws(m, t) {
			d.add(max(t.Sent, t.Ended), "tunnel %d of %s to %s: %s", t.ID, t.Caller, t.Cluster, text)
		}
	}
}

// flaws says what is wrong with a tunnel.
func flaws(m *registrations, t *history.Tunnel) []string {
	var out []string
	complain := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	if len(t.Served) > 1 {
		complain("%d handlers had it", len(t.Served))
	}
	if t.Opened >= 0 && len(t.Served) == 0 && !lostOpening(m, t) {
		complain("it was opened to %s, and no handler had it", m.seat(t.Member))
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

// lostOpening says whether the node to which a tunnel was opened was lost.
func lostOpening(m *registrations, t *history.Tunnel) bool {
	if tenure, ok := m.named[t.Member]; ok {
		return m.lostNode(tenure, t.Sent)
	}
	return t.Lost
}

// checkEnded: the caller is done with its tunnel at its deadline; the handler
// is, soon after the caller, at the latest when the link is given up.
func checkEnded(c *disturbance, m *registrations, d *docket) {
	for i := range c.h.Tunnels {
		t := &c.h.Tunnels[i]
		late := plus(t.Deadline, c.rules.Outcome)
		if c.skewed(t.Caller, span{t.Sent, t.Deadline}) {
			late = plus(late, minus(t.Deadline, t.Sent)/100)
		}
		switch {
		case t.Ended < 0 && late < c.h.End:
			d.add(t.Deadline, "tunnel %d of %s to %s, opened at %v, never ended", t.ID, t.Caller, t.Cluster, t.Sent)
			continue
		case t.Ended > late && !t.Lost:
			d.add(t.Ended, "tunnel %d of %s to %s ended (%s) %v after its deadline", t.ID, t.Caller, t.Cluster, t.Outcome, minus(t.Ended, t.Deadline))
		}
		checkServed(m, t, d)
	}
}

func checkServed(m *registrations, t *history.Tunnel, d *docket) {
	for _, v := range t.Served {
		if v.Tenure < 0 || v.Tenure >= len(m.h.Tenures) || m.lostNode(v.Tenure, v.Began) {
			continue
		}
		latest := plus(max(t.Ended, v.Began), farewell)
		if latest < m.h.End && (v.Ended < 0 || v.Ended > latest) {
			d.add(latest, "tunnel %d of %s to %s ended (%s) at %v, and the handler on %s still had it %v later",
				t.ID, t.Caller, t.Cluster, t.Outcome, t.Ended, m.h.Tenures[v.Tenure].Node, farewell)
		}
	}
}

// checkAhead: the sender waits for credit.
func checkAhead(c *disturbance, d *docket) {
	for i := range c.h.Tunnels {
		t := &c.h.Tunnels[i]
		for _, flow := range []*history.Flow{&t.Forth, &t.Back} {
			if limit := c.rules.Ahead + 2*int64(t.Size); !t.Own && flow.Ahead > limit {
				d.add(max(t.Sent, t.Ended), "tunnel %d of %s to %s: the sender was %d bytes ahead of the receiver; at most %d are allowed",
					t.ID, t.Caller, t.Cluster, flow.Ahead, limit)
			}
		}
	}
}
