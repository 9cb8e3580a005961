// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package node

import (
	"context"
	"errors"

	"github.com/arke-mesh/arke/patterns"
)

// Survey implements patterns.Messenger.
func (n *Node) Survey(ctx context.Context, cluster string, m patterns.Message, each func(patterns.SurveyReply) error, o patterns.SurveyOptions) (patterns.SurveyResult, error) {
	return patterns.SurveyResult{}, errors.ErrUnsupported
}

// Broadcast implements patterns.Messenger.
func (n *Node) Broadcast(ctx context.Context, cluster string, m patterns.Message) (patterns.BroadcastResult, error) {
	return patterns.BroadcastResult{}, errors.ErrUnsupported
}

// Push implements patterns.Messenger.
func (n *Node) Push(ctx context.Context, cluster string, m patterns.Message, opts ...patterns.RequestOption) error {
	return errors.ErrUnsupported
}
