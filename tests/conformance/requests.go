// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"context"

	"github.com/arke-mesh/arke/patterns"
)

type requests struct{ member }

func (requests) name() string { return "request" }

func (requests) receive(ctx context.Context, m patterns.Messenger, to string, r *receiver, l patterns.Limits) (closer, error) {
	return m.Serve(ctx, to, patterns.Service{Request: echo(r)}, l)
}

func (requests) send(ctx context.Context, m patterns.Messenger, to string, msg patterns.Message) error {
	reply, err := m.Request(ctx, to, msg)
	if err != nil {
		return err
	}
	return same(msg, reply)
}

type surveys struct{ member }

func (surveys) name() string { return "survey" }

func (surveys) receive(ctx context.Context, m patterns.Messenger, to string, r *receiver, l patterns.Limits) (closer, error) {
	return m.Serve(ctx, to, patterns.Service{Request: echo(r)}, l)
}

func (surveys) send(ctx context.Context, m patterns.Messenger, to string, msg patterns.Message) error {
	var answer error
	result, err := m.Survey(ctx, to, msg, func(r patterns.SurveyReply) error {
		if answer = r.Err; answer == nil {
			answer = same(msg, r.Message)
		}
		return nil
	}, patterns.SurveyOptions{})
	if err != nil {
		return err
	}
	if answer != nil {
		return answer
	}
	return whole(result.Replies, result.Missing, result.Complete)
}
