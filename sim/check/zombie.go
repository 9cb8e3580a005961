// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package check

import "time"

// zombies measures how long undisturbed observers take the dead to be alive.
type zombies struct {
	longest time.Duration
	total   int
	found   []finding
	scratch []span
}

func (z *zombies) see(c *disturbance, s *sight) {
	for _, shown := range s.zombie {
		z.scratch = c.excused(s.node.Name, shown, z.scratch[:0])
		for _, part := range z.scratch {
			z.longest = max(z.longest, part.length())
			if part.length() <= c.rules.Zombie {
				continue
			}
			z.total++
			if len(z.found) < maxFindings {
				z.found = append(z.found, s.finding(part))
			}
		}
	}
}

// checkZombie: no observer takes a dead member to be alive for longer than
// the bound, not counting while it was disturbed and the convergence bound after.
func checkZombie(m *viewMeasures, d *docket) {
	for _, w := range m.zombies.found {
		d.add(w.when.from, "%s, observing %s, took the dead %s to be alive for %v",
			w.observer, w.cluster, w.whom(), w.when.length())
	}
	d.total += m.zombies.total - len(m.zombies.found)
}
