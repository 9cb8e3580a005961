// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package node

import (
	"github.com/libp2p/go-libp2p/core/peer"

	"github.com/arke-mesh/arke/internal/verb"
	"github.com/arke-mesh/arke/patterns/pubsub"
)

// topicRights says who may publish and subscribe what, by certificates.
type topicRights struct{ *credentials }

var _ pubsub.Rights = topicRights{}

// Asks implements pubsub.Rights.
func (r topicRights) Asks() bool { return r.Asked() }

// Subscribes implements pubsub.Rights.
func (r topicRights) Subscribes(pattern string) error { return r.Own(verb.Subscribe, pattern) }

// MayPublish implements pubsub.Rights.
func (r topicRights) MayPublish(p peer.ID, topic []byte) bool {
	return r.MayBytes(p, verb.Publish, topic)
}

// MaySubscribe implements pubsub.Rights.
func (r topicRights) MaySubscribe(p peer.ID, certificate []byte, pattern string) bool {
	return r.Lets(p, certificate, verb.Subscribe, pattern)
}

// MayPublishBy implements pubsub.Rights.
func (r topicRights) MayPublishBy(p peer.ID, certificate []byte, topic string) bool {
	return r.Lets(p, certificate, verb.Publish, topic)
}

// Version implements pubsub.Rights.
func (r topicRights) Version() uint64 { return r.version.Load() }
