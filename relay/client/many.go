// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"context"
	"errors"

	"github.com/arke-mesh/arke/patterns"
)

// Survey implements patterns.Messenger.
func (c *Client) Survey(ctx context.Context, cluster string, m patterns.Message, each func(patterns.SurveyReply) error, o patterns.SurveyOptions) (patterns.SurveyResult, error) {
	return patterns.SurveyResult{}, errors.ErrUnsupported
}

// Broadcast implements patterns.Messenger.
func (c *Client) Broadcast(ctx context.Context, cluster string, m patterns.Message) (patterns.BroadcastResult, error) {
	return patterns.BroadcastResult{}, errors.ErrUnsupported
}

// Push implements patterns.Messenger.
func (c *Client) Push(ctx context.Context, cluster string, m patterns.Message, opts ...patterns.RequestOption) error {
	return errors.ErrUnsupported
}
