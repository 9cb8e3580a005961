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

func measureResources(l *lives, s sheet) {
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

func measureSent(s sheet, lives map[int]*usage) {
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
	if samples > 0 {
		s["control_bytes_per_node_s"] = Metric{
			Value: float64(control) / seconds.Seconds(), Unit: BytesSec, Samples: samples,
		}
	}
}
