// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import "time"

// rekeyEvent: Config.Ephemeral may return other keys now.
type rekeyEvent struct{}

// apply has the records of this node's members carry its present ephemeral key. It is
// another word of the same registration: leases stand meanwhile, and callers go on
// with the record that they have until the new one has come.
func (rekeyEvent) apply(c *control, now time.Time) { c.registrar.redescribe(now) }
