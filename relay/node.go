// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package relay

import (
	"context"

	"github.com/arke-mesh/arke/internal/node"
	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/overlay/session"
	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/patterns/pubsub"
	"github.com/arke-mesh/arke/patterns/request"
	"github.com/arke-mesh/arke/patterns/tunnel"
)

// Node is what a relay needs of the node that its clients share: what
// *node.Node offers to who passes messages on, without decoding them. The
// contracts are those of the node's methods. Nothing but Members, Everybody,
// Forward, Publish and Subscribe waits.
type Node interface {
	// Bring gives the node keys of a cluster until release is called; ref is the
	// cluster under them.
	Bring(set *wire.LeafKeys) (ref string, release func(), err error)

	// Rounds are shared by all sessions between which messages are forwarded.
	Rounds() *session.Rounds

	// Begin asks one member of a cluster: see request.Engine.Start.
	Begin(a request.Ask, done func(request.Answer, error)) (cancel func())
	// Everybody asks all of them: see request.Engine.AskAll.
	Everybody(ctx context.Context, a request.All, each request.EachFunc) (request.Tally, error)
	// Members is that of patterns.Messenger.
	Members(ctx context.Context, cluster string) ([]patterns.Member, error)
	MembersAfter(ctx context.Context, cluster, version string) ([]patterns.Member, error)
	// NameOf is what people call the node of a peer id; "" = nobody knows.
	NameOf(id string) string

	// Forward registers a member that lives elsewhere, as Messenger.Serve does.
	Forward(ctx context.Context, cluster string, serves request.Serves, l patterns.Limits, f request.Forwarder) (*node.Forwarded, error)

	// Proxy makes a place for subscriptions that live elsewhere: see
	// pubsub.Engine.NewProxy.
	Proxy(s pubsub.Sink, origin uint64) *pubsub.Proxy
	// Subscribe is that of patterns.Messenger, for those that block publishers.
	Subscribe(ctx context.Context, pattern string, s patterns.Subscriber, o patterns.SubscribeOptions) (patterns.Subscription, error)
	// PublishTail and TryPublishTail are those of pubsub.Engine.
	PublishTail(ctx context.Context, topic string, tail []byte, o patterns.PublishOptions) error
	TryPublishTail(topic string, tail []byte, o patterns.PublishOptions) error
	// PublishRun and TryPublishRun are those of package pubsub.
	PublishRun(ctx context.Context, topic string, run wire.Messages, count int, o patterns.PublishOptions) (done, failed int, err error)
	TryPublishRun(topic string, run wire.Messages, count int, o patterns.PublishOptions) (done, failed int, err error)

	// Hop makes a place for tunnels: see tunnel.Engine.NewHop.
	Hop(c tunnel.HopConfig) *tunnel.Hop
}

var _ Node = (*node.Node)(nil)
