// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/arke-mesh/arke/patterns"
)

// face is one pattern, as all of them look from afar.
type face interface {
	name() string
	// promise is what differs between patterns.
	promise() promise
	// receive has r take what is sent to that name, as l allows, until it is
	// closed.
	receive(ctx context.Context, m patterns.Messenger, to string, r *receiver, l patterns.Limits) (closer, error)
	// send sends one message and says what became of it. If the pattern has
	// answers, it waits for the one, which must be the message itself.
	send(ctx context.Context, m patterns.Messenger, to string, msg patterns.Message) error
}

// promise is what a pattern does where patterns differ.
type promise struct {
	answers bool  // the sender hears from the handler
	nobody  error // if nobody is there
	// topics: who receives is not known to the sender, who is told nothing of
	// how they fare.
	topics bool
}

// closer is a registration or a subscription.
type closer interface {
	Close(ctx context.Context) error
}

func faces() []face {
	return []face{requests{}, surveys{}, pushes{}, broadcasts{}, topics{}, tunnels{}}
}

// member is what the patterns have in common that go to members.
type member struct{}

func (member) promise() promise { return promise{answers: true, nobody: patterns.ErrNoMembers} }

// echo answers requests and surveys.
func echo(r *receiver) func(context.Context, *patterns.Request) (patterns.Message, error) {
	return func(ctx context.Context, q *patterns.Request) (patterns.Message, error) {
		m := patterns.Message{Headers: q.Headers, Body: q.Body}
		r.take(ctx, m)
		return m, nil
	}
}

// swallow takes pushes and broadcasts.
func swallow(r *receiver) func(context.Context, *patterns.Request) {
	return func(ctx context.Context, q *patterns.Request) {
		r.take(ctx, patterns.Message{Headers: q.Headers, Body: q.Body})
	}
}

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

// tunnels sends what a tunnel is opened with, and expects it as the tunnel's one
// message.
type tunnels struct{ member }

func (tunnels) name() string { return "tunnel" }

func (tunnels) receive(ctx context.Context, m patterns.Messenger, to string, r *receiver, l patterns.Limits) (closer, error) {
	return m.Serve(ctx, to, patterns.Service{Tunnel: func(ctx context.Context, t patterns.Tunnel) error {
		first := t.Info().Open
		r.take(ctx, first)
		return t.Send(ctx, first.Body)
	}}, l)
}

func (tunnels) send(ctx context.Context, m patterns.Messenger, to string, msg patterns.Message) error {
	t, err := m.OpenTunnel(ctx, to, msg)
	if err != nil {
		return err
	}
	defer t.Close()
	body, err := t.Receive(ctx)
	if err != nil {
		t.Reset(patterns.CodeUnknown, "the check is over")
		return asRemote(to, err)
	}
	if err := same(patterns.Message{Body: msg.Body}, patterns.Message{Body: body}); err != nil {
		return err
	}
	if _, err := t.Receive(ctx); !errors.Is(err, io.EOF) {
		return fmt.Errorf("after the last message comes %w", err)
	}
	return nil
}

// asRemote makes a handler's reset what its refusal would be to a request.
func asRemote(to string, err error) error {
	var reset *patterns.TunnelError
	if errors.As(err, &reset) {
		return &patterns.RemoteError{Cluster: to, Code: reset.Code, Message: reset.Message}
	}
	return err
}
