// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"errors"
	"sync/atomic"

	"github.com/arke-mesh/arke/patterns"
)

// drop is a reason why a client did not send what its program gave it. What
// the relay or its node refuse is counted there.
type drop uint8

// The reasons.
const (
	dropTooLarge      drop = iota // a message beyond a limit was not sent
	dropReplyTooLarge             // a handler's reply was; its caller was told so
	dropWouldBlock                // TryPublish would have had to wait
	dropCount
)

// String returns the reason as it is counted.
func (d drop) String() string {
	return [...]string{"message.too_large", "reply.too_large", "publish.would_block"}[d]
}

// counters count since New. The zero value is ready.
type counters [dropCount]atomic.Uint64

// refuse counts err, which says that a message is too large or would have to
// wait, and returns it. Other errors are no refusals of the client's own.
func (c *counters) refuse(err error) error {
	switch {
	case errors.Is(err, patterns.ErrTooLarge):
		c[dropTooLarge].Add(1)
	case errors.Is(err, patterns.ErrWouldBlock):
		c[dropWouldBlock].Add(1)
	}
	return err
}

// Drops counts what the client itself has refused, by "thing.reason", since
// New: "message.too_large" with patterns.ErrTooLarge, "publish.would_block"
// with patterns.ErrWouldBlock, and "reply.too_large", a handler's reply whose
// caller got a *patterns.RemoteError instead. What never occurred is not in it.
// What the relay and its node refuse is in Status.
func (c *Client) Drops() map[string]uint64 {
	counts := map[string]uint64{}
	for d := range dropCount {
		if n := c.count[d].Load(); n > 0 {
			counts[d.String()] = n
		}
	}
	return counts
}
