// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package session

import "time"

// What is handed to the connection has no priority any more, so it is bounded by the
// time that it takes to leave. Up to two batches are below the scheduler in each direction,
// so 2 ms of batchTime are some 8 ms of a round trip on a slow line.
const (
	batchTime  = 8 * time.Millisecond
	batchLimit = 256 << 10 // the most in one Write, in bytes
	batchLeast = 1 << 10
	batchFirst = 64 << 10 // while nothing is known
)

// pace decides how many bytes the next batch may have, from how long the connection
// took for those before. A Conn may return from Write when it has taken the batch, or
// the one before. Pure core.
type pace struct {
	limit  int
	before int // bytes of the last batch; 0 = the connection was idle
}

func newPace() pace { return pace{limit: batchFirst} }

// paused notes that there was nothing to write: how long the next batch takes says
// nothing about the one before.
func (p *pace) paused() { p.before = 0 }

// wrote notes that a batch of n bytes took so long. One that was held up says little,
// so the limit falls to a quarter at most; it doubles while full batches in a row
// leave in less than half of the time.
func (p *pace) wrote(n int, took time.Duration) {
	bytes := n
	if p.before > 0 {
		bytes = min(n, p.before)
	}
	switch {
	case took > batchTime:
		p.limit = max(int(int64(bytes)*int64(batchTime)/int64(took)), p.limit/4, batchLeast)
	case took < batchTime/2 && p.before > 0 && bytes >= p.limit/2:
		p.limit = min(2*p.limit, batchLimit)
	}
	p.before = n
}
