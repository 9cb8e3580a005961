// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package patterns

// RequestOptions is what RequestOption values set. The zero value is the
// default: power of two choices, not idempotent, no waiting for a first
// member.
type RequestOptions struct {
	// Idempotent allows a retry when a handler may already have run.
	Idempotent bool
	// WaitForMember waits, up to the deadline, for a first member instead of
	// returning ErrNoMembers.
	WaitForMember bool
	// Policy chooses among live members.
	Policy Policy
	// StickyKey selects the member under PolicySticky and PolicyMember.
	StickyKey string
	// Report, if not nil, is filled with how the request went.
	Report *RequestReport
}

// Policy is a way to choose a member.
type Policy uint8

// The policies. PolicyLoad is the default: power of two choices by load and
// latency, the caller's zone first.
const (
	PolicyLoad Policy = iota
	PolicyRoundRobin
	PolicyRandom
	PolicyWeighted // random, in proportion to capacity
	PolicySticky   // rendezvous hash of StickyKey
	PolicyMember   // the member whose id is StickyKey, and no other
)

// RequestReport tells how a request went, for tools and tests.
type RequestReport struct {
	Member   string // id of the member that gave the outcome; "" if none
	Attempts int    // members tried; beside a relay that could not say how many, 1
}

// RequestOption changes one request.
type RequestOption func(*RequestOptions)

// Idempotent says that handling the request twice does no harm, which allows
// a retry on another member when the link is lost after sending.
func Idempotent() RequestOption {
	return func(o *RequestOptions) { o.Idempotent = true }
}

// WaitForMember waits for a first member until the deadline.
func WaitForMember() RequestOption {
	return func(o *RequestOptions) { o.WaitForMember = true }
}

// WithPolicy chooses the member by p.
func WithPolicy(p Policy) RequestOption {
	return func(o *RequestOptions) { o.Policy = p }
}

// Sticky sends requests with the same key to the same member while it lives.
func Sticky(key string) RequestOption {
	return func(o *RequestOptions) { o.Policy, o.StickyKey = PolicySticky, key }
}

// ToMember asks the member of that id, 16 hexadecimal digits, and no other.
func ToMember(id string) RequestOption {
	return func(o *RequestOptions) { o.Policy, o.StickyKey = PolicyMember, id }
}

// Report has r filled with how the request went.
func Report(r *RequestReport) RequestOption {
	return func(o *RequestOptions) { o.Report = r }
}

// CollectOptions applies opts to the zero RequestOptions.
func CollectOptions(opts []RequestOption) RequestOptions { return collect(opts) }

func collect[O any, F ~func(*O)](opts []F) (none O) {
	if len(opts) == 0 { // the usual case allocates nothing
		return none
	}
	var o O
	for _, opt := range opts {
		opt(&o)
	}
	return o
}

// PublishOptions is what PublishOption values set.
type PublishOptions struct {
	// Origin tells the clients of one node apart, for
	// SubscribeOptions.NoEcho; a relay sets it.
	Origin uint64
	// Keys is the id of the keys that the topic is under, if a client has brought some; a
	// relay sets it. Default: the node's own.
	Keys string
	// Confirm, if not nil, is filled with how many nodes acknowledged the message.
	Confirm *int
	// Accepted says that the message was accepted before: if the context has ended
	// nothing is waited for, and the nodes without room are told that it is missing. A
	// relay sets it.
	Accepted bool
}

// PublishOption changes one publication.
type PublishOption func(*PublishOptions)

// Origin says on behalf of which client of this node something is published.
func Origin(n uint64) PublishOption {
	return func(o *PublishOptions) { o.Origin = n }
}

// Confirm has nodes filled with how many nodes with a matching subscription acknowledged
// the message, this one included. Publish waits for them. If it returns ErrInterrupted or a
// DeadlineError, further nodes may have the message. A gateway is one node for all behind it.
// Another node than this one whose matching patterns all begin with a wildcard is not counted,
// though it gets the message. TryPublish does not confirm.
func Confirm(nodes *int) PublishOption {
	return func(o *PublishOptions) { o.Confirm = nodes }
}

// CollectPublishOptions applies opts to the zero PublishOptions.
func CollectPublishOptions(opts []PublishOption) PublishOptions {
	return collect(opts)
}
