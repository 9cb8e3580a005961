// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package check

import "time"

func measureMembers(m *registrations, s sheet) {
	type service struct {
		life    int
		cluster string
	}
	acknowledged, failed := 0, 0
	first := make(map[service]time.Duration)
	var register []time.Duration
	for i := range m.h.Tenures {
		t := &m.h.Tenures[i]
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
