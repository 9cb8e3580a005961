// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package check

// measureHeld finds out what relays hold for clients that do not read, or read
// slowly, and for the others.
func measureHeld(c *disturbance, s metrics) {
	var most, calm uint64
	clients := 0
	for _, p := range c.h.Samples {
		for _, held := range p.Held {
			clients++
			most = max(most, held.Bytes)
			if !c.node(held.Client, span{p.At, p.At}) {
				calm = max(calm, held.Bytes)
			}
		}
	}
	if clients > 0 {
		s.bytes("held_max", most)
		s.bytes("held_calm_max", calm)
	}
}

// checkHeld: what a relay holds for one client stays within the limits of one
// client, however many wait.
func checkHeld(c *disturbance, d *violations) {
	for _, p := range c.h.Samples {
		for _, held := range p.Held {
			if limit := c.rules.HeldBytes + laneSlack; held.Bytes > limit {
				d.add(p.At, "%s held %d bytes for its client %s; at most %d may", p.Node, held.Bytes, held.Client, limit)
			}
		}
	}
}
