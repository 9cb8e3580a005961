// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package check

import (
	"time"

	"github.com/arke-mesh/arke/sim/history"
)

// usage is what one life of a node sent: in all, and between two samples of the
// safety phase.
type usage struct {
	last        *history.Sample
	first, upto *history.Sample
}

func measureResources(l *lives, s metrics) {
	if len(l.h.Samples) == 0 {
		return
	}
	var queue uint64
	var waiting, running, links, leases int
	lives := make(map[int]*usage)
	for i := range l.h.Samples {
		p := &l.h.Samples[i]
		queue = max(queue, p.Queued[0]+p.Queued[1]+p.Queued[2]+p.Queued[3])
		waiting, running = max(waiting, p.Waiting), max(running, p.Running)
		links, leases = max(links, p.Links), max(leases, p.Leases)
		if life := l.at(p.Node, p.At); life >= 0 {
			entry(lives, life).add(p, span{l.h.Start, l.h.Safety})
		}
	}
	s.bytes("queue_max", queue)
	s.count("waiting_max", waiting)
	s.count("running_max", running)
	s.count("links_max", links)
	s.count("leases_max", leases)
	measureSent(s, lives)
}

func (u *usage) add(p *history.Sample, safety span) {
	if u.last == nil || p.At >= u.last.At {
		u.last = p
	}
	if p.At < safety.from || p.At > safety.until {
		return
	}
	if u.first == nil || p.At < u.first.At {
		u.first = p
	}
	if u.upto == nil || p.At >= u.upto.At {
		u.upto = p
	}
}

func measureSent(s metrics, lives map[int]*usage) {
	var sent [4]uint64
	var control uint64
	var seconds time.Duration
	samples := 0
	for _, u := range lives {
		for lane, n := range u.last.Sent {
			sent[lane] += n
		}
		if u.first == nil || u.upto.At <= u.first.At || u.upto.Sent[0] < u.first.Sent[0] {
			continue
		}
		control += u.upto.Sent[0] - u.first.Sent[0]
		seconds = plus(seconds, minus(u.upto.At, u.first.At))
		samples++
	}
	for lane, name := range [...]string{"sent_ctl", "sent_rpc", "sent_pub", "sent_bulk"} {
		s.bytes(name, sent[lane])
	}
	s.sampled("control_bytes_per_node_s", float64(control)/seconds.Seconds(), BytesSec, samples)
}

// lanePub is the index of the lane for broadcasts and topics.
const lanePub = 2

// measureEgress finds out how many bytes nodes sent for what was published,
// between the first and the last sample of each life in the safety phase.
func measureEgress(x *topics, s metrics) {
	if len(x.h.Publications) == 0 {
		return
	}
	lives := make(map[int]*usage)
	for i := range x.h.Samples {
		p := &x.h.Samples[i]
		if life := x.lives.at(p.Node, p.At); life >= 0 {
			entry(lives, life).add(p, span{x.h.Start, x.h.Safety})
		}
	}
	worst, busiest, publishers, others := 0.0, 0.0, 0, 0
	for life, u := range lives {
		if u.first == nil || u.upto.At <= u.first.At || u.upto.Sent[lanePub] < u.first.Sent[lanePub] {
			continue
		}
		own, all := bodies(x, life, span{u.first.At, u.upto.At})
		sent := float64(u.upto.Sent[lanePub] - u.first.Sent[lanePub])
		switch {
		case own > 0:
			worst = max(worst, sent/float64(own))
			publishers++
		case all > 0:
			busiest = max(busiest, sent/float64(all))
			others++
		}
	}
	s.sampled("egress", worst, Ratio, publishers)
	s.sampled("egress_others", busiest, Ratio, others)
}

// bodies sums up the bodies that one life, and that all, published in a time.
func bodies(x *topics, life int, s span) (own, all int) {
	for i := range x.h.Publications {
		p := &x.h.Publications[i]
		if p.Sent < s.from || p.Sent >= s.until || p.Outcome != "published" {
			continue
		}
		all += p.Size
		if x.source[i] == life {
			own += p.Size
		}
	}
	return own, all
}

// laneSlack is what an empty lane takes beyond its limit: one message of any
// legal size.
const laneSlack = 16 << 20

// checkQueues: what waits in lanes, what waits for handlers and what runs stays
// within the limits, for each link and each member of a node.
func checkQueues(m *registrations, r *Rules, d *violations) {
	for i := range m.h.Samples {
		p := &m.h.Samples[i]
		links := uint64(max(1, p.Links))
		for lane, name := range [...]string{"ctl", "rpc", "pub", "bulk"} {
			if limit := r.LaneBytes[lane]*links + laneSlack; p.Queued[lane] > limit {
				d.add(p.At, "%d bytes waited in lane %s of %s, which has %d links; at most %d may", p.Queued[lane], name, p.Node, p.Links, limit)
			}
		}
		checkWork(m, r, p, d)
	}
}

func checkWork(m *registrations, r *Rules, p *history.Sample, d *violations) {
	if p.Waiting <= 0 && p.Running <= 0 {
		return
	}
	members := m.serving(p.Node, p.At)
	if limit := r.Waiting * members; p.Waiting > limit {
		d.add(p.At, "%d requests waited at %s, which has %d members; at most %d may", p.Waiting, p.Node, members, limit)
	}
	if limit := r.Running * members; p.Running > limit {
		d.add(p.At, "%d handlers ran at %s, which has %d members; at most %d may", p.Running, p.Node, members, limit)
	}
}

func measureMembers(m *registrations, s metrics) {
	type service struct {
		life    int
		cluster string
	}
	acknowledged, failed := 0, 0
	first := make(map[service]time.Duration)
	var register []time.Duration
	for _, t := range m.h.Tenures {
		if t.From < 0 {
			if t.Leaving < 0 {
				failed++
			}
			continue
		}
		acknowledged++
		register = append(register, minus(t.From, t.Asked))
		k := service{m.lives.at(t.Node, t.Asked), t.Cluster}
		if from, again := first[k]; k.life >= 0 && (!again || t.From < from) {
			first[k] = t.From
		}
	}
	var serve []time.Duration
	for k, from := range first {
		serve = append(serve, minus(from, m.h.Nodes[k.life].From))
	}
	s.count("members", acknowledged)
	s.count("registrations_failed", failed)
	s.quantiles("serve", serve)
	s.quantiles("register", register)
}
