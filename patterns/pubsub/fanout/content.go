// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package fanout

import (
	"github.com/arke-mesh/arke/internal/wire"
)

// Content is what is published, as it goes on the wire.
type Content struct {
	Flags  uint8
	Head   []wire.Header // with body; not if packed
	Body   []byte
	Packed bool // body begins with the headers

	// Messages is, in place of all of it, so many that came from elsewhere; Unnamed is the
	// same of messages on one topic without queues, none of which is named.
	Messages, Unnamed wire.Messages
	Count             int
}

// Length is how many bytes headers and body have.
func (c *Content) Length() int {
	if c.Packed {
		return len(c.Body)
	}
	return wire.HeadersSize(c.Head) + len(c.Body)
}

// AppendHeaders appends all but the body.
func (c *Content) AppendHeaders(dst []byte) []byte {
	if c.Packed {
		return dst
	}
	return wire.AppendHeaders(dst, c.Head)
}

// Number is how many messages there are.
func (c *Content) Number() int { return max(1, c.Count) }

// Size is about how many bytes the message has in a frame.
func (c *Content) Size(topic string) int {
	const heads = 96
	return heads + len(topic) + wire.HeadersSize(c.Head) + len(c.Body) + len(c.Messages) + len(c.Unnamed)
}
