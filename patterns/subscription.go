// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package patterns

import (
	"cmp"
	"context"
)

// Subscription is one pattern that is listened to. Methods may be called
// concurrently.
type Subscription interface {
	// Pattern is what was subscribed to.
	Pattern() string
	// Status counts since Subscribe.
	Status() SubscriptionStatus
	// Close ends it: nothing new is taken; what is queued is delivered until
	// ctx ends. Idempotent. It must not be called by the Subscriber itself
	// with a ctx that does not end. The last one of a queue on its node takes
	// what was given to it already, for which Close waits about 250 ms.
	Close(ctx context.Context) error
}

// SubscriptionStatus counts what a subscription got.
type SubscriptionStatus struct {
	Delivered uint64 // messages handed to the Subscriber
	Missed    uint64 // the sum of all gaps
	Queued    int    // messages that wait for the Subscriber
	Bytes     int    // bytes of them
}

// SubscribeOptions is how a subscription behaves; zero means the defaults.
type SubscribeOptions struct {
	// Queue is the name of a group of subscriptions, on any nodes, to the same
	// pattern: each message goes to one of them. Default: none, every message.
	Queue string
	// NoEcho leaves out what the same Messenger publishes.
	NoEcho bool
	// Signed refuses messages that do not carry a signature by the node key of
	// their publisher, whoever passed them on; each is told as a gap. Publishers
	// sign only as long as somebody asks for it: until they have heard of it, what
	// they publish is missing, too. What this node publishes needs no signature.
	Signed bool
	// QueueLength and QueueBytes bound what waits for the Subscriber, in
	// messages and bytes of topics, headers and bodies. Defaults 4,096 and
	// 16 MiB. A message that is alone has room whatever its size.
	QueueLength, QueueBytes int
	// Overflow says what happens when there is no room. Default OverflowOldest.
	Overflow Overflow
	// Origin tells the clients of one node apart, for NoEcho; a relay sets it.
	Origin uint64
	// Keys is the id of the keys that the topics are under, if a client has brought
	// some; a relay sets it. Default: the node's own.
	Keys string
}

// WithDefaults returns o with its zero fields filled in.
func (o SubscribeOptions) WithDefaults() SubscribeOptions {
	o.QueueLength = cmp.Or(o.QueueLength, 4096)
	o.QueueBytes = cmp.Or(o.QueueBytes, 16<<20)
	return o
}

// Overflow says what a full subscription does.
type Overflow uint8

// The policies of a full subscription.
const (
	// OverflowOldest drops the oldest message that waits.
	OverflowOldest Overflow = iota
	// OverflowNewest drops the message that comes.
	OverflowNewest
	// OverflowBlock has publishers on the same node wait until there is room
	// or their context ends; what comes from other nodes is dropped as
	// OverflowNewest.
	OverflowBlock
)
