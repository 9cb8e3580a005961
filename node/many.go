// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package node

import (
	"context"

	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/patterns/broadcast"
	"github.com/arke-mesh/arke/patterns/push"
	"github.com/arke-mesh/arke/patterns/survey"
)

// assembleMany makes the patterns that stand upon requests alone.
func (n *Node) assembleMany() (err error) {
	if n.surveys, err = survey.New(survey.Config{Requests: n.requests}); err != nil {
		return err
	}
	if n.pushes, err = push.New(push.Config{Requests: n.requests}); err != nil {
		return err
	}
	n.broadcasts, err = broadcast.New(broadcast.Config{Requests: n.requests})
	return err
}

// Survey implements patterns.Messenger. Like Request it still works while the
// node drains.
func (n *Node) Survey(ctx context.Context, cluster string, m patterns.Message, each func(patterns.SurveyReply) error, o patterns.SurveyOptions) (patterns.SurveyResult, error) {
	if err := n.reaches(cluster); err != nil {
		return patterns.SurveyResult{}, err
	}
	return n.surveys.Survey(ctx, cluster, m, each, o)
}

// Broadcast implements patterns.Messenger. Like Request it still works while
// the node drains.
func (n *Node) Broadcast(ctx context.Context, cluster string, m patterns.Message) (patterns.BroadcastResult, error) {
	if err := n.reaches(cluster); err != nil {
		return patterns.BroadcastResult{}, err
	}
	return n.broadcasts.Broadcast(ctx, cluster, m)
}

// Push implements patterns.Messenger. Like Request it still works while the
// node drains.
func (n *Node) Push(ctx context.Context, cluster string, m patterns.Message, opts ...patterns.RequestOption) error {
	if err := n.reaches(cluster); err != nil {
		return err
	}
	return n.pushes.Push(ctx, cluster, m, patterns.CollectOptions(opts))
}
