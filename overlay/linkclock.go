// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package overlay

// A clock that nobody disciplines drifts by up to 50 ppm; two of them part by
// twice that. An old estimate is worth less by this fraction of its age.
const driftFraction = 10_000

// oneWayError is what is assumed to be the error, in ns, of an estimate from a
// message whose way here was not timed.
const oneWayError = 1_000_000_000

// linkClock estimates how far the peer's link clock is ahead of ours, from the
// exchange with the shortest round trip. Pure core. All times are in
// nanoseconds: "local" on our link clock, "remote" on the peer's.
type linkClock struct {
	known  bool
	offset int64  // remote - local
	err    uint64 // the offset's largest error when it was taken
	taken  uint64 // local
	rtt    uint64 // of the best exchange; 0 = none was timed
}

// maxLinkTime bounds what is believed of a peer's clock: 146 years.
const maxLinkTime = 1 << 62

// oneWay learns from a message that carried the peer's clock; what arrives is
// always later than it was, so the offset comes out too small.
func (c *linkClock) oneWay(now, remote uint64) bool {
	return c.learn(now, remote, oneWayError, 0)
}

// exchange learns from an answer: we asked at sent, the peer kept it for held,
// its clock said remote when it answered, and now the answer is here.
func (c *linkClock) exchange(now, sent, held, remote uint64) bool {
	if sent > now || held > now-sent {
		return false // not an answer to what we asked
	}
	rtt := now - sent - held
	return c.learn(now-rtt/2, remote, rtt/2, max(rtt, 1))
}

// learn takes the estimate over if it is better than the one there is, and
// says so.
func (c *linkClock) learn(local, remote, err, rtt uint64) bool {
	if remote > maxLinkTime || local > maxLinkTime {
		return false
	}
	if c.known {
		var age uint64
		if local > c.taken {
			age = local - c.taken
		}
		if err > c.err+age/driftFraction {
			return false
		}
	}
	*c = linkClock{known: true, offset: int64(remote) - int64(local), err: err, taken: local, rtt: rtt}
	return true
}
