// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package env

// DropReason says why a frame, or a message for somebody, went no further.
type DropReason uint8

const (
	DropMalformed     DropReason = iota // a frame that can't be decoded
	DropUnauthorized                    // not sealed as it should be, or not for this group
	DropNotNamed                        // in the name of a publisher whose signed path does not name the sender, or goes beyond it
	DropSignatures                      // with signatures that are good, faster than they are verified for one peer
	DropForger                          // shown by a peer that has shown too many false signatures of late: not looked at
	DropUnsigned                        // without its publisher's signature, or again, where a subscription asks for it; told to that
	DropReplay                          // sealed, and opened before, or sealed before this node was known
	DropLate                            // came after it was given up, or twice
	DropStreams                         // from a publisher too many
	DropYielded                         // a publisher, path or stream that was forgotten: the peer that brought it had most
	DropGap                             // given up after the wait, or because too much waits; told to subscribers
	DropUnsent                          // waited for a link that could not be established
	DropEarlier                         // for this node before it was started anew
	DropUnreachable                     // for a node that can't be reached now
	DropLane                            // for a node whose lane is full, after the wait
	DropForward                         // a forwarder's: the lane to the next node is full, or the link is lost
	DropNoPath                          // to be forwarded on a path that is not known (any more)
	DropPath                            // a path beyond the limits
	DropUnpicked                        // for a queue that has no subscription here any more
	DropQueues                          // for a queue of more than 1,024 that one message is for
	DropTooLarge                        // not published: the message is beyond a limit
	DropSubscriptions                   // refused: MaxSubscriptions are there, or what they say of queues does not fit the lease
	DropNotAllowed                      // by its publisher's certificate
	DropReasons
)

// String returns the reason as used in the status.
func (d DropReason) String() string {
	return [...]string{
		"malformed", "unauthorized", "not_named", "too_many_signatures", "forger", "unsigned", "replay", "late", "streams", "yielded", "gap", "unsent", "earlier_life", "unreachable", "lane_full",
		"forward", "no_path", "path_refused", "unpicked", "queues", "too_large", "subscriptions", "not_allowed",
	}[d]
}
