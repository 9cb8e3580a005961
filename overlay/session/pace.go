// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package session

import "time"

// What is handed to the connection has no priority any more, so it is bounded by the
// time that it takes to leave. Up to two batches are below the scheduler in each direction,
// so 1 ms of batchTime is some 4 ms of a round trip on a slow line.
const (
	batchTime  = 4 * time.Millisecond
	rateTime   = 100 * time.Millisecond // of writing, which the rate is taken from
	rateLeast  = 10 * time.Millisecond  // less says nothing
	batchLimit = 256 << 10              // the most in one Write, in bytes
	batchLeast = 1 << 10
	batchFirst = 64 << 10 // while nothing is known
)

// pace decides how many bytes the next batch may have, from the rate at which the
// connection took those before. No batch says much by itself: one that took long may have
// waited for the processor or for a packet that was lost, and after a pause the queues
// below are empty and take several at once, whatever the line does. A Conn may return from
// Write when it has taken the batch, or the one before. Pure core.
type pace struct {
	limit   int
	flowing bool // the connection was not idle before the last batch
	sent    int  // bytes of the batches that the rate is taken from
	took    time.Duration
}

func newPace() pace { return pace{limit: batchFirst} }

// paused notes that there was nothing to write: how long the next batch takes says
// nothing about the one before.
func (p *pace) paused() { p.flowing = false }

// wrote notes that a batch of n bytes took so long. If it was slow the limit falls to
// what leaves in batchTime, but to a quarter at most; if it was large the limit rises to that.
func (p *pace) wrote(n int, took time.Duration) {
	first := !p.flowing
	p.flowing = true
	if first && took <= batchTime {
		return
	}
	p.sent += n
	p.took += took
	switch {
	case took > batchTime:
		p.limit = max(min(p.limit, p.perBatch()), p.limit/4, batchLeast)
	case n >= p.limit/2 && p.took >= rateLeast:
		p.limit = min(max(p.limit, p.perBatch()), batchLimit)
	}
	if p.took >= rateTime {
		p.sent, p.took = p.sent/2, p.took/2
	}
}

// perBatch is how many bytes leave in batchTime.
func (p *pace) perBatch() int { return int(int64(p.sent) * int64(batchTime) / int64(p.took)) }
