// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package relay

import (
	"slices"
	"sync/atomic"

	"github.com/arke-mesh/arke/internal/wire"
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
	dropRefused         // a request was refused by its client
	dropAway            // a request was refused because its client's connection is broken
	dropBadReply        // a reply was dropped because its client does not take so much
	dropSlowPublication // a message was dropped because too much waits for its client
	dropBadPublication  // a message was dropped because its client does not take so much
	dropServeRefused    // the policy does not let a client serve a cluster
	dropCallRefused     // or call one, or know who serves it
	dropPublishRefused  // or publish to a topic
	dropSubscribeRefused
	dropTooManyDeliveries // a request was refused because its client has so many
	// Refused because the client has its share of what all may have.
	dropShareOfRegistrations
	dropShareOfSubscriptions
	dropShareOfTunnels
	dropShareOfRequests
	dropShareOfDeliveries
	dropShareOfWork
	dropShareOfWaits
	dropShareOfBytes
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
	case dropRefused:
		return "delivery.refused"
	case dropAway:
		return "delivery.away"
	case dropBadReply:
		return "reply.too_large"
	case dropSlowPublication:
		return "publication.slow_client"
	case dropBadPublication:
		return "publication.too_large"
	case dropServeRefused:
		return "serve.not_allowed"
	case dropCallRefused:
		return "call.not_allowed"
	case dropPublishRefused:
		return "publish.not_allowed"
	case dropSubscribeRefused:
		return "subscribe.not_allowed"
	case dropTooManyDeliveries:
		return "delivery.too_many"
	case dropShareOfRegistrations:
		return "registration.share"
	case dropShareOfSubscriptions:
		return "subscription.share"
	case dropShareOfTunnels:
		return "tunnel.share"
	case dropShareOfRequests:
		return "request.share"
	case dropShareOfDeliveries:
		return "delivery.share"
	case dropShareOfWork:
		return "work.share"
	case dropShareOfWaits:
		return "wait.share"
	case dropShareOfBytes:
		return "bytes.share"
	}
	return "unknown"
}

// counters count since the start. The zero value is ready.
type counters struct {
	sessions atomic.Uint64
	drops    [dropCount]atomic.Uint64
	refused  [wire.EndCodes]atomic.Uint64 // connections, by code
	ended    [wire.EndCodes]atomic.Uint64 // sessions, by the relay, by code
}

func (c *counters) drop(d drop) { c.drops[d].Add(1) }

func (c *counters) add(d drop, n int) { c.drops[d].Add(uint64(n)) }

// limit counts err if it is a limit of a client, or that the relay drains.
func (c *counters) limit(err error) {
	switch err {
	case ErrTooManyRequests:
		c.drop(dropTooManyRequests)
	case ErrTooManyBytes:
		c.drop(dropTooManyBytes)
	case ErrTooManySubscriptions:
		c.drop(dropTooManySubscriptions)
	case ErrTooManyRegistrations:
		c.drop(dropTooManyRegistrations)
	case ErrTooManyTunnels:
		c.drop(dropTooManyTunnels)
	case errTooManyDeliveries:
		c.drop(dropTooManyDeliveries)
	case ErrShareOfRegistrations:
		c.drop(dropShareOfRegistrations)
	case ErrShareOfSubscriptions:
		c.drop(dropShareOfSubscriptions)
	case ErrShareOfTunnels:
		c.drop(dropShareOfTunnels)
	case ErrShareOfRequests:
		c.drop(dropShareOfRequests)
	case errShareOfDeliveries:
		c.drop(dropShareOfDeliveries)
	case ErrShareOfWork:
		c.drop(dropShareOfWork)
	case ErrShareOfBytes:
		c.drop(dropShareOfBytes)
	case errDraining:
		c.drop(dropRequestInDrain)
	}
}

// refusal counts that a client refused a request, if it did.
func (c *counters) refusal(r *wire.Reply) {
	switch r.Outcome {
	case wire.OutcomeReply, wire.OutcomeRemoteError, wire.OutcomeCancelled, wire.OutcomeDeadline:
	default:
		c.drop(dropRefused)
	}
}

// DropNames are the names of what Status.Drops counts.
func DropNames() []string {
	var names []string
	for i := range dropCount {
		names = append(names, i.String())
	}
	for i := range wire.EndCode(wire.EndCodes) {
		names = append(names, "refused."+i.String(), "ended."+i.String())
	}
	slices.Sort(names)
	return slices.Compact(names) // numbers without a meaning share a name
}

// snapshot returns every count that is not zero, by "thing.reason".
func (c *counters) snapshot() map[string]uint64 {
	m := map[string]uint64{}
	add := func(name string, v *atomic.Uint64) {
		if n := v.Load(); n > 0 {
			m[name] += n // numbers without a meaning share a name
		}
	}
	for i := range c.drops {
		add(drop(i).String(), &c.drops[i])
	}
	for i := range wire.EndCodes {
		add("refused."+wire.EndCode(i).String(), &c.refused[i])
		add("ended."+wire.EndCode(i).String(), &c.ended[i])
	}
	return m
}
