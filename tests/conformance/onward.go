// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"context"

	"github.com/arke-mesh/arke/patterns"
)

type pushes struct{}

func (pushes) name() string     { return "push" }
func (pushes) promise() promise { return promise{nobody: patterns.ErrNoMembers} }

func (pushes) receive(ctx context.Context, m patterns.Messenger, to string, r *receiver, l patterns.Limits) (closer, error) {
	return m.Serve(ctx, to, patterns.Service{Push: swallow(r)}, l)
}

func (pushes) send(ctx context.Context, m patterns.Messenger, to string, msg patterns.Message) error {
	return m.Push(ctx, to, msg)
}

type broadcasts struct{}

func (broadcasts) name() string     { return "broadcast" }
func (broadcasts) promise() promise { return promise{nobody: patterns.ErrNoMembers} }

func (broadcasts) receive(ctx context.Context, m patterns.Messenger, to string, r *receiver, l patterns.Limits) (closer, error) {
	return m.Serve(ctx, to, patterns.Service{Broadcast: swallow(r)}, l)
}

func (broadcasts) send(ctx context.Context, m patterns.Messenger, to string, msg patterns.Message) error {
	result, err := m.Broadcast(ctx, to, msg)
	if err != nil {
		return err
	}
	return whole(result.Members, result.Missing, result.Complete)
}

type topics struct{}

func (topics) name() string     { return "publish" }
func (topics) promise() promise { return promise{topics: true} }

func (topics) receive(ctx context.Context, m patterns.Messenger, to string, r *receiver, l patterns.Limits) (closer, error) {
	return m.Subscribe(ctx, to+".*", r, patterns.SubscribeOptions{
		QueueLength: max(l.QueueLength, 0), QueueBytes: l.QueueBytes, Overflow: patterns.OverflowNewest,
	})
}

func (topics) send(ctx context.Context, m patterns.Messenger, to string, msg patterns.Message) error {
	return m.Publish(ctx, to+".news", msg)
}
