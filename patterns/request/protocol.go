// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package request

import (
	"math"
	"time"
)

// never is a time, in ns of the engine's clock, that does not come.
const never = math.MaxInt64

// Times of the request pattern.
const (
	// DefaultTimeout is the deadline of a request whose context has none.
	DefaultTimeout = 5 * time.Second

	// connectTime bounds one attempt's wait for a link; then another member
	// is tried.
	connectTime = time.Second
	// viewPatience bounds the wait for the view of a cluster to change when
	// every known member has been tried.
	viewPatience = 2 * time.Second
	// A written request that may be repeated is tried elsewhere if its member's
	// connection broke and has not come back after two round trips, within these
	// bounds.
	minPatience = 20 * time.Millisecond
	maxPatience = 60 * time.Millisecond
	// Between two looks at the view; doubled from the first to the last.
	firstPause = 10 * time.Millisecond
	lastPause  = 100 * time.Millisecond

	// How long behind its deadline a leaf waits for its relay to say what became of a
	// request, and who is missing of those that everybody is asked. The relay says it at
	// the deadline; it may be on another machine.
	outcomeGrace = 4 * time.Millisecond // an outcome comes 5 ms behind the deadline at the latest
	summaryGrace = time.Second

	// workerPause is how long an accepted message waits before it looks for a
	// worker again.
	workerPause = 10 * time.Millisecond

	// What the engine keeps for a peer or a cluster is given up when it was
	// not used for idleTime; it looks every sweepTime while it keeps anything.
	idleTime  = 30 * time.Second
	sweepTime = 10 * time.Second

	// A drained node stays for lingerTime at least, so that callers can learn
	// that its members left while their requests are still answered; then
	// until no request has come for quietTime, at most lingerLimit.
	lingerTime  = 250 * time.Millisecond
	quietTime   = 100 * time.Millisecond
	lingerLimit = 2 * time.Second
)

// Limits of the request pattern.
const (
	// maxMembers is how many distinct members one request may try.
	maxMembers = 3
	// maxAttempts bounds the attempts, counting those at a member that was
	// tried before and could not be reached then.
	maxAttempts = 6

	// MaxMessage bounds bodies and headers of requests and replies, in bytes,
	// whatever a member's limits say.
	MaxMessage = 16 << 20
	// MaxOverhead is what this pattern adds to them on the wire, at most.
	MaxOverhead = 1 << 10
	// maxErrorText bounds the text of a RemoteError, in bytes.
	maxErrorText = 16 << 10

	// maxRefusals bounds the workers that wait to send a refusal, because the
	// caller does not read: they must not keep members from working.
	maxRefusals = 256

	// replayMemory is how many sealed requests a member remembers.
	replayMemory = 16384
	// replaySealers bounds the nodes of whose forgotten requests it knows how far they
	// went.
	replaySealers = 16384
)
