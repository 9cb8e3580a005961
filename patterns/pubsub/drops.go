// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package pubsub

// dropReason says why a frame, or a message for somebody, went no further.
type dropReason uint8

const (
	dropMalformed     dropReason = iota // a frame that can't be decoded
	dropUnauthorized                    // not sealed as it should be, or not for this group
	dropNotNamed                        // in the name of a publisher whose signed path does not name the sender, or goes beyond it
	dropSignatures                      // with signatures that are good, faster than they are verified for one peer
	dropForger                          // shown by a peer that has shown too many false signatures of late: not looked at
	dropUnsigned                        // without its publisher's signature, or again, where a subscription asks for it; told to that
	dropReplay                          // sealed, and opened before, or sealed before this node was known
	dropLate                            // came after it was given up, or twice
	dropStreams                         // from a publisher too many
	dropYielded                         // a publisher, path or stream that was forgotten: the peer that brought it had most
	dropGap                             // given up after the wait, or because too much waits; told to subscribers
	dropUnsent                          // waited for a link that could not be established
	dropEarlier                         // for this node before it was started anew
	dropUnreachable                     // for a node that can't be reached now
	dropLane                            // for a node whose lane is full, after the wait
	dropForward                         // a forwarder's: the lane to the next node is full, or the link is lost
	dropNoPath                          // to be forwarded on a path that is not known (any more)
	dropPath                            // a path beyond the limits
	dropUnpicked                        // for a queue that has no subscription here any more
	dropQueues                          // for a queue of more than 1,024 that one message is for
	dropTooLarge                        // not published: the message is beyond a limit
	dropSubscriptions                   // refused: MaxSubscriptions are there, or what they say of queues does not fit the lease
	dropNotAllowed                      // by its publisher's certificate
	dropReasons
)

// String returns the reason as used in the status.
func (d dropReason) String() string {
	return [...]string{
		"malformed", "unauthorized", "not_named", "too_many_signatures", "forger", "unsigned", "replay", "late", "streams", "yielded", "gap", "unsent", "earlier_life", "unreachable", "lane_full",
		"forward", "no_path", "path_refused", "unpicked", "queues", "too_large", "subscriptions", "not_allowed",
	}[d]
}
