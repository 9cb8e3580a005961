// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package pubsub

import (
	"crypto/sha256"
	"encoding/binary"

	"github.com/arke-mesh/arke/patterns/pubsub/env"
	"github.com/arke-mesh/arke/security"
)

// NewLender returns a proxy for the subscriptions of a gateway, which lends what they
// get to another network: it may have queues whose names begin with $. Of the gateways
// that share one each message of a publisher goes to one, and to the same one as long as
// that is live.
func NewLender(e *Engine, s Sink) *Proxy {
	o := e.NewProxy(s, 0)
	o.lender = true
	return o
}

// LentQueue is the queue of the gateways that lend to the network of that id.
func LentQueue(to security.NetworkID) string {
	h := sha256.Sum256(append([]byte("arke lent topics "), to[:]...))
	return env.LentPrefix + env.Hex(binary.BigEndian.Uint64(h[:]))
}
