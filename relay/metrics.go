// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package relay

import (
	"sync/atomic"

	"github.com/arke-mesh/arke/internal/wire/session"
)

// drop is a reason why the relay did not do what somebody wanted of it.
type drop uint8

// The reasons.
const (
	dropTooManyRegistrations drop = iota
	dropTooManyRequests
	dropTooManyBytes
	dropSlowDelivery   // a request was refused because its client does not read
	dropSlowReply      // a reply was lost because its client does not read
	dropLateAnswer     // an answer came that nobody waits for
	dropRequestInDrain // a call came when only the rest was finished
	dropUnknownFrame   // a skippable frame of a kind that this version does not know
	dropHandshakeBusy  // a connection came while too many had not said Hello
	dropTooManyTunnels // a tunnel was refused because its client has so many
	dropTooManySubscriptions
	dropLostPush            // a push or broadcast was lost with the session it was accepted for
	dropSlowPublication     // a message was dropped because its subscription's queue was full
	dropTooManyPublications // a message was dropped because too many bytes wait for its client
	dropBadPublication      // a message was dropped because it does not fit into a frame
	dropInSession           // a message went down with the session that it was for
	dropSession             // what a broken session missed is not counted: too many are
	dropCount
)

// String returns the reason as it is counted.
func (d drop) String() string {
	switch d {
	case dropTooManyRegistrations:
		return "registration.too_many"
	case dropTooManyRequests:
		return "request.too_many"
	case dropTooManyBytes:
		return "request.too_many_bytes"
	case dropSlowDelivery:
		return "delivery.slow_client"
	case dropSlowReply:
		return "reply.slow_client"
	case dropLateAnswer:
		return "answer.late"
	case dropRequestInDrain:
		return "request.draining"
	case dropUnknownFrame:
		return "frame.unknown"
	case dropHandshakeBusy:
		return "handshake.too_many"
	case dropTooManyTunnels:
		return "tunnel.too_many"
	case dropTooManySubscriptions:
		return "subscription.too_many"
	case dropLostPush:
		return "push.session_lost"
	case dropSlowPublication:
		return "publication.slow_client"
	case dropTooManyPublications:
		return "publication.too_many_bytes"
	case dropBadPublication:
		return "publication.too_large"
	case dropInSession:
		return "publication.session_lost"
	case dropSession:
		return "session.not_kept"
	}
	return "unknown"
}

const reasonCount = int(session.ReasonUnexpected) + 1

// counters count since the start. The zero value is ready.
type counters struct {
	sessions atomic.Uint64
	drops    [dropCount]atomic.Uint64
	refused  [reasonCount]atomic.Uint64 // connections, by reason
	ended    [reasonCount]atomic.Uint64 // sessions, by the relay, by reason
}

func (c *counters) drop(d drop) { c.drops[d].Add(1) }

// snapshot returns every count that is not zero, by "thing.reason".
func (c *counters) snapshot() map[string]uint64 {
	m := map[string]uint64{}
	add := func(name string, v *atomic.Uint64) {
		if n := v.Load(); n > 0 {
			m[name] = n
		}
	}
	for i := range c.drops {
		add(drop(i).String(), &c.drops[i])
	}
	for i := range reasonCount {
		add("refused."+session.Reason(i).String(), &c.refused[i])
		add("ended."+session.Reason(i).String(), &c.ended[i])
	}
	return m
}
