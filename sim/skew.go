// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"fmt"
	"time"
)

// million is what a drift is part of.
const million = 1_000_000

// skew is how far a host's clock is from the bubble's. All numbers are
// integers, so that it is the same on every architecture. Times are in ns. A
// skew does not change any more; the zero value is a right clock.
type skew struct {
	step  time.Duration // of the wall clock
	drift int64         // ppm; above -million
	since int64         // when this drift began
	gone  int64         // what earlier drifts amounted to
}

// drifted is how far the clock has run ahead at a time.
func (s *skew) drifted(now int64) int64 { return s.gone + part(now-s.since, s.drift, million) }

// next is the skew that follows s, without a jump.
func (s *skew) next(now int64, step time.Duration, drift int64) *skew {
	return &skew{step: step, drift: max(drift, 1-million), since: now, gone: s.drifted(now)}
}

// real is how long the clock takes to run on by d, rounded up so that it has
// when that time is over.
func (s *skew) real(d int64) int64 {
	if s.drift == 0 {
		return d
	}
	return d - part(d, s.drift, million+s.drift) + 1
}

// part is n·num/den rounded down, without an overflow.
func part(n, num, den int64) int64 {
	p := n / den * num
	rest := n % den * num
	p += rest / den
	if rest%den < 0 {
		p--
	}
	return p
}

// Skew changes the clock of a node, which is Clock of its Seam: Now and timers.
// From now on it is driftPPM millionths too fast, or too slow if that is
// negative; timers that are set already keep their time. The wall clock is
// ahead by offset, or behind. As in a real process, where Go's monotonic clock
// measures differences, no step of the wall clock is seen between two calls of
// Now: a node has the offset that its host had when its Seam was made. Zeros
// end both.
func (n *Network) Skew(name string, offset time.Duration, driftPPM int) {
	n.inject(fmt.Sprintf("skew %s %v %+d ppm", name, offset, driftPPM), func() {
		h := n.host(name)
		h.skew.Store(h.skew.Load().next(n.now(), offset, int64(driftPPM)))
	})
}
