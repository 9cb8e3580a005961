// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package check

import (
	"time"

	"github.com/arke-mesh/arke/sim/history"
)

// Calm tells times in which no fault stood, or had just ended, from the others.
// The metrics latency_calm and latency_fault are made by it.
type Calm struct {
	// After is how long after a fault it is not calm yet.
	After  time.Duration
	faulty spans
}

// NewCalm looks at the faults of a run. It keeps nothing of the history.
func NewCalm(h *history.History, r Rules) Calm {
	c := Calm{After: r.withDefaults().Converge}
	var faulty []span
	for i := range h.Faults {
		if fault := &h.Faults[i]; !Undoes(fault) {
			faulty = append(faulty, span{fault.At, plus(Over(h, fault), c.After)})
		}
	}
	c.faulty = merged(faulty)
	return c
}

// Between says whether it was calm from one time until just before another.
func (c Calm) Between(from, until time.Duration) bool {
	return !c.faulty.touches(span{from, until})
}
