// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package netns

import "time"

// Stats is what the network did so far.
type Stats struct {
	// Packets counts by what became of them: "passed", "lost", "cut" and so
	// on.
	Packets map[string]uint64
	// LateP50 and LateP99 are how much later than asked packets were
	// delivered, because the machine was busy. At most 10 ms is told apart.
	LateP50, LateP99 time.Duration
}

// Stats describes the network.
func (n *Net) Stats() Stats {
	late := &n.router.post.late
	s := Stats{Packets: make(map[string]uint64), LateP50: late.percentile(50), LateP99: late.percentile(99)}
	for f := range fates {
		s.Packets[f.String()] = n.router.counts[f].Load()
	}
	return s
}
