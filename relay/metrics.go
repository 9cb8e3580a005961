// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package relay

import (
	"errors"
	"slices"
	"sync/atomic"

	"github.com/arke-mesh/arke/internal/drop"
	"github.com/arke-mesh/arke/internal/wire"
)

// dropReason is why the relay did not do what somebody wanted of it.
type dropReason uint8

// The reasons.
const (
	dropTooManyRegistrations dropReason = iota
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
	dropBuffer // a subscription was refused: its buffer is larger than what the relay holds
	dropCount
)

// String returns the reason as it is counted.
func (d dropReason) String() string {
	return [dropCount]string{
		dropTooManyRegistrations: "registration.too_many",
		dropTooManyRequests:      "request.too_many",
		dropTooManyBytes:         "request.too_many_bytes",
		dropSlowDelivery:         "delivery.slow_client",
		dropSlowReply:            "reply.slow_client",
		dropLateAnswer:           "answer.late",
		dropRequestInDrain:       "request.draining",
		dropUnknownFrame:         "frame.unknown",
		dropHandshakeBusy:        "handshake.too_many",
		dropTooManyTunnels:       "tunnel.too_many",
		dropTooManySubscriptions: "subscription.too_many",
		dropRefused:              "delivery.refused",
		dropAway:                 "delivery.away",
		dropBadReply:             "reply.too_large",
		dropSlowPublication:      "publication.slow_client",
		dropBadPublication:       "publication.too_large",
		dropServeRefused:         "serve.not_allowed",
		dropCallRefused:          "call.not_allowed",
		dropPublishRefused:       "publish.not_allowed",
		dropSubscribeRefused:     "subscribe.not_allowed",
		dropTooManyDeliveries:    "delivery.too_many",
		dropShareOfRegistrations: "registration.share",
		dropShareOfSubscriptions: "subscription.share",
		dropShareOfTunnels:       "tunnel.share",
		dropShareOfRequests:      "request.share",
		dropShareOfDeliveries:    "delivery.share",
		dropShareOfWork:          "work.share",
		dropShareOfWaits:         "wait.share",
		dropShareOfBytes:         "bytes.share",
		dropBuffer:               "subscription.buffer",
	}[d]
}

// counters count since the start.
type counters struct {
	sessions atomic.Uint64
	drops    drop.Counts[dropReason]
	refused  [wire.EndCodes]atomic.Uint64 // connections, by code
	ended    [wire.EndCodes]atomic.Uint64 // sessions, by the relay, by code
}

func newCounters() *counters { return &counters{drops: drop.New(dropCount)} }

func (c *counters) drop(d dropReason) { c.drops.Inc(d) }

func (c *counters) add(d dropReason, n int) { c.drops.Add(d, uint64(n)) }

// limit counts err if it is a limit of a client, or that the relay drains.
func (c *counters) limit(err error) {
	var l *limitError
	switch {
	case errors.As(err, &l):
		c.drop(l.drop)
	case err == errTooManyDeliveries:
		c.drop(dropTooManyDeliveries)
	case err == errShareOfDeliveries:
		c.drop(dropShareOfDeliveries)
	case err == errDraining:
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
	names := drop.Names(dropCount)
	for i := range wire.EndCode(wire.EndCodes) {
		names = append(names, "refused."+i.String(), "ended."+i.String())
	}
	slices.Sort(names)
	return slices.Compact(names) // numbers without a meaning share a name
}

// snapshot returns every count that is not zero, by "thing.reason".
func (c *counters) snapshot() map[string]uint64 {
	m := c.drops.ByName()
	add := func(name string, v *atomic.Uint64) {
		if n := v.Load(); n > 0 {
			m[name] += n // numbers without a meaning share a name
		}
	}
	for i := range wire.EndCodes {
		add("refused."+wire.EndCode(i).String(), &c.refused[i])
		add("ended."+wire.EndCode(i).String(), &c.ended[i])
	}
	return m
}
