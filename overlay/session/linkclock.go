// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package session

// A clock that nobody disciplines drifts by up to 50 ppm; two of them part by
// twice that. An old estimate is worth less by this fraction of its age.
const driftFraction = 10_000

// linkClock estimates how far the peer's link clock is ahead of ours, from the
// exchange with the shortest round trip: the error is half of that at most.
// Whatever else the peer says, it says before we hear it. An estimate that
// contradicts that is too small, by as much at least: so one that was made while
// messages were held up is mended by the first that is not.
//
// Pure core. All times are in nanoseconds: "local" on our link clock, "remote"
// on the peer's.
type linkClock struct {
	known  bool
	offset int64  // remote - local
	err    uint64 // the offset's largest error when it was taken
	taken  uint64 // local
	rtt    uint64 // of the best exchange; 0 = none was timed
}

// maxLinkTime bounds what is believed of a peer's clock: 146 years.
const maxLinkTime = 1 << 62

// noBound is the error of an estimate from messages one way: nobody knows how
// long they took.
const noBound = maxLinkTime

// message learns from a message that carried the peer's clock, and says whether
// the estimate has changed.
func (c *linkClock) message(now, remote uint64) bool {
	if remote > maxLinkTime || now > maxLinkTime {
		return false
	}
	least := int64(remote) - int64(now)
	if c.known && least <= c.offset {
		return false
	}
	left := uint64(noBound)
	if c.known && least <= c.offset+int64(c.doubt(now)) {
		left = c.doubt(now) - uint64(least-c.offset)
	} // else one of the clocks has stood still
	*c = linkClock{known: true, offset: least, err: left, taken: now, rtt: c.rtt}
	return true
}

// exchange learns from an answer: we asked at sent, the peer kept it for held,
// its clock said remote when it answered, and now the answer is here.
func (c *linkClock) exchange(now, sent, held, remote uint64) bool {
	if sent > now || held > now-sent || remote > maxLinkTime || now > maxLinkTime {
		return false // not an answer to what we asked
	}
	rtt := now - sent - held
	err := rtt / 2
	offset := int64(remote) - int64(now-err)
	if c.known && err > c.doubt(now) && apart(offset, c.offset) <= err+c.doubt(now) {
		return c.message(now, remote)
	}
	*c = linkClock{known: true, offset: offset, err: err, taken: now, rtt: max(rtt, 1)}
	return true
}

// doubt is how wrong the estimate may be by now.
func (c *linkClock) doubt(now uint64) uint64 {
	if now <= c.taken {
		return c.err
	}
	return c.err + (now-c.taken)/driftFraction
}

func apart(a, b int64) uint64 {
	if a < b {
		a, b = b, a
	}
	return uint64(a - b)
}
