// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package patterns

// Publication is one message of a topic, as a subscription gets it.
type Publication struct {
	Topic string
	// From is the peer id of the publisher's node as text; of one in another network
	// PEER@NETWORK, as the gateway says.
	From string
	// Headers and Body are shared by all subscriptions of a node: they must
	// not be changed. Body lies in the frame that it came in, up to 64 KiB, which stays as
	// long as any part of it is kept.
	Headers Headers
	Body    []byte
}

// Gap tells a subscription that messages are missing. It stands where they
// would have been.
type Gap struct {
	// From is the peer id of the publisher's node as text, as in Publication; "" if
	// messages of several publishers are missing.
	From string
	// Missed is how many messages are missing; at most so many if !Exact. 0
	// then means that nobody knows: a relay was replaced, or a publisher's
	// process lost, and the count went down with it.
	Missed uint64
	Exact  bool
	Reason GapReason
}

// GapReason says why messages are missing.
type GapReason string

// The reasons.
const (
	GapSlow  GapReason = "slow"  // this subscription's queue was full
	GapLane  GapReason = "lane"  // a lane on the way was full
	GapLost  GapReason = "lost"  // a link or a forwarder on the way was lost
	GapRelay GapReason = "relay" // the relay was lost, or had no room for this client
	// GapPublisher: the publisher's process, or every way to it, was lost. How
	// much it had published nobody knows: Missed is 0.
	GapPublisher GapReason = "publisher"
	// GapUnsigned: what came did not carry its publisher's signature, or had come
	// before; see SubscribeOptions.Signed. It may have been invented on the way.
	GapUnsigned GapReason = "unsigned"
	// GapBorder: a gateway could not bring it from another network: it was beyond its
	// limits, did not come as far as the gateway, or was lost with one.
	GapBorder GapReason = "border"
)

// Subscriber takes what a subscription gets, which is its own to keep. Its methods are
// called one at a time, in order.
type Subscriber interface {
	ServePublication(p Publication)
	ServeGap(g Gap)
}

// SubscriberFunc makes a function a Subscriber that is not told of gaps;
// Subscription.Status has their sum.
type SubscriberFunc func(p Publication)

// ServePublication implements Subscriber.
func (f SubscriberFunc) ServePublication(p Publication) { f(p) }

// ServeGap implements Subscriber.
func (f SubscriberFunc) ServeGap(Gap) {}
