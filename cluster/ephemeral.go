// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import "time"

// rekeyEvent: Config.Ephemeral may return other keys now.
type rekeyEvent struct{}

func (rekeyEvent) apply(c *control, now time.Time) { rekey(now, c.registrar) }

// rekey has the records of this node's members carry its present ephemeral key. It is
// another word of the same registration: leases stand meanwhile, and callers go on
// with the record that they have until the new one has come.
func rekey(now time.Time, r *registrar) {
	for _, g := range r.members {
		if key := r.ephemeral(g.name); g.record.ephemeral != key {
			g.record.ephemeral = key
			r.renew(now, g)
		}
	}
}
