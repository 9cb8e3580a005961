// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package check

import "time"

// viewMeasures is everything that is found out from what observers saw. It
// sees each sight once, because there are as many as observers times members.
type viewMeasures struct {
	calm      *disturbance
	current   *observation
	observers int
	correct   int // of them, those on nodes that are correct

	arrival   arrival
	detection detection
	agreement agreement
	zombies   zombies
	doubt     doubt
	forgotten forgotten
}

func newViewMeasures(c *disturbance) *viewMeasures {
	return &viewMeasures{
		calm:      c,
		detection: detection{seen: make(map[witness]time.Duration)},
		agreement: newAgreement(c),
		forgotten: forgotten{members: make(map[int]bool)},
	}
}

func (m *viewMeasures) see(s *sight) {
	if s.observation != m.current {
		m.current = s.observation
		m.observers++
		if s.node.Correct {
			m.correct++
		}
	}
	m.arrival.see(m.calm, s)
	m.detection.see(m.calm, s)
	m.agreement.see(m.calm, s)
	m.zombies.see(m.calm, s)
	m.doubt.see(m.calm, s)
	m.forgotten.see(m.calm, s)
}

// detected is when an observer knew of the removal of a node, if it ever had
// seen its member.
func (m *viewMeasures) detected(fault int, observer string) (time.Duration, bool) {
	t, ok := m.detection.seen[witness{fault, observer}]
	return t, ok
}

func (m *viewMeasures) measure(s sheet) {
	s.count("observers", m.observers)
	s.quantiles("seen", m.arrival.samples)
	s.count("detections", len(m.detection.samples))
	s.quantiles("detection", m.detection.samples)
	s.quantiles("convergence", m.agreement.samples())
	if m.observers > 0 {
		s.duration("zombie_max", m.zombies.longest)
		s.count("false_suspicions", m.doubt.suspicions)
		s.count("false_evictions", m.doubt.evictions)
	}
	if m.correct > 0 {
		s.duration("convergence_last", m.agreement.last)
		s.count("members_lost_for_good", len(m.forgotten.members))
	}
}

// finding is a sight that a checker objects to.
type finding struct {
	observer string
	cluster  string
	member   string
	node     string // the member's, "" if unknown
	when     span
}

func (s *sight) finding(when span) finding {
	out := finding{observer: s.node.Name, cluster: s.cluster, member: s.member, when: when}
	if s.of != nil {
		out.node = s.of.Node
	}
	return out
}

// maxFindings bounds what one checker keeps; more are only counted.
const maxFindings = 10_000

// whom names the member for people.
func (f finding) whom() string {
	if f.node == "" {
		return "member " + f.member + ", which nobody registered with these keys"
	}
	return "member " + f.member + " on " + f.node
}
