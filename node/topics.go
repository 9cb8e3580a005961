// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package node

import (
	"context"

	"github.com/arke-mesh/arke/patterns"
)

// Publish implements patterns.Messenger.
func (n *Node) Publish(ctx context.Context, topic string, m patterns.Message, opts ...patterns.PublishOption) error {
	if err := n.running(); err != nil {
		return err
	}
	return n.topics.Publish(ctx, topic, m, patterns.CollectPublishOptions(opts))
}

// TryPublish implements patterns.Messenger.
func (n *Node) TryPublish(topic string, m patterns.Message, opts ...patterns.PublishOption) error {
	if err := n.running(); err != nil {
		return err
	}
	return n.topics.TryPublish(topic, m, patterns.CollectPublishOptions(opts))
}

// Subscribe implements patterns.Messenger.
func (n *Node) Subscribe(ctx context.Context, pattern string, s patterns.Subscriber, o patterns.SubscribeOptions) (patterns.Subscription, error) {
	if err := n.accepting(); err != nil {
		return nil, err
	}
	if s == nil {
		return nil, errNoSubscriber
	}
	return n.topics.Subscribe(ctx, pattern, s, o)
}
