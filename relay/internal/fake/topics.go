// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package fake

import (
	"context"
	"errors"

	"github.com/arke-mesh/arke/patterns"
)

// Publish implements patterns.Messenger.
func (n *Node) Publish(ctx context.Context, topic string, m patterns.Message, opts ...patterns.PublishOption) error {
	return errors.ErrUnsupported
}

// TryPublish implements patterns.Messenger.
func (n *Node) TryPublish(topic string, m patterns.Message, opts ...patterns.PublishOption) error {
	return errors.ErrUnsupported
}

// Subscribe implements patterns.Messenger.
func (n *Node) Subscribe(ctx context.Context, pattern string, s patterns.Subscriber, o patterns.SubscribeOptions) (patterns.Subscription, error) {
	return nil, errors.ErrUnsupported
}
