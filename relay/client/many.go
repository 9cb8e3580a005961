// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"bytes"
	"context"
	"time"

	"github.com/arke-mesh/arke/internal/wire/session"
	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/relay/internal/failure"
)

// Push implements patterns.Messenger.
func (c *Client) Push(ctx context.Context, cluster string, m patterns.Message, opts ...patterns.RequestOption) error {
	_, err := c.askOne(ctx, session.KindReply, cluster, m, opts, func(f session.Request) session.Frame { return &session.Push{Request: f} })
	return err
}

// Broadcast implements patterns.Messenger. If the relay does not say in time
// how far it came, the error is a *patterns.DeadlineError.
func (c *Client) Broadcast(ctx context.Context, cluster string, m patterns.Message) (patterns.BroadcastResult, error) {
	headers, err := c.checked(cluster, m)
	if err != nil {
		return patterns.BroadcastResult{}, err
	}
	body := lasting(m.Body)
	f, err := c.ask(ctx, session.KindBroadcastReply, cluster, course{}, func(id uint64, timeout time.Duration) session.Frame {
		return &session.Broadcast{
			ID: id, Timeout: session.Micros(timeout), Cluster: cluster, Headers: headers, Body: body,
		}
	})
	reply, ok := f.(*session.BroadcastReply)
	if !ok {
		return patterns.BroadcastResult{}, err
	}
	return patterns.BroadcastResult{
		Members:  int(reply.Members),
		Nodes:    int(reply.Nodes),
		Missing:  missing(reply.Missing, cluster),
		Complete: reply.Complete,
	}, err
}

// lasting returns a body that the queue may hold on to for longer than its
// caller does.
func lasting(body []byte) []byte {
	if len(body) >= session.CopiedBelow {
		return bytes.Clone(body)
	}
	return body
}

func missing(frames []session.Missing, cluster string) []patterns.Missing {
	var list []patterns.Missing
	for i := range frames {
		list = append(list, patterns.Missing{
			Member: frames[i].Member, Peer: frames[i].Peer, Err: failure.Error(frames[i].Failure, cluster),
		})
	}
	return list
}
