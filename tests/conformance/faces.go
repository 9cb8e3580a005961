// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/arke-mesh/arke"
)

// face is one pattern, as all of them look from afar.
type face interface {
	name() string
	// promise is what differs between arke.
	promise() promise
	// receive has r take what is sent to that name, as l allows, until it is
	// closed.
	receive(ctx context.Context, m *arke.Conn, to string, r *receiver, l limits) (closer, error)
	// send sends one message and says what became of it. If the pattern has
	// answers, it waits for the one, which must be the message itself.
	send(ctx context.Context, m *arke.Conn, to string, msg arke.Message) error
}

// promise is what a pattern does where patterns differ.
type promise struct {
	answers bool  // the sender hears from the handler
	nobody  error // if nobody is there
	// topics: who receives is not known to the sender, who is told nothing of
	// how they fare.
	topics bool
}

// limits are those of a receiver; 0 means the default.
type limits struct{ Concurrency, QueueLength, QueueBytes, MessageBytes, Tunnels int }

func (l limits) options() []arke.ServeOption {
	return []arke.ServeOption{
		arke.Concurrency(l.Concurrency), arke.QueueLength(l.QueueLength), arke.QueueBytes(l.QueueBytes),
		arke.MaxMessage(l.MessageBytes), arke.Tunnels(l.Tunnels),
	}
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

func (member) promise() promise { return promise{answers: true, nobody: arke.ErrNoMembers} }

// echo answers requests and surveys.
func echo(r *receiver) func(context.Context, *arke.Request) (arke.Message, error) {
	return func(ctx context.Context, q *arke.Request) (arke.Message, error) {
		m := arke.Message{Headers: q.Headers, Body: q.Body}
		r.take(ctx, m)
		return m, nil
	}
}

// swallow takes pushes and broadcasts.
func swallow(r *receiver) func(context.Context, *arke.Request) {
	return func(ctx context.Context, q *arke.Request) {
		r.take(ctx, arke.Message{Headers: q.Headers, Body: q.Body})
	}
}

type pushes struct{}

func (pushes) name() string     { return "push" }
func (pushes) promise() promise { return promise{nobody: arke.ErrNoMembers} }

func (pushes) receive(ctx context.Context, m *arke.Conn, to string, r *receiver, l limits) (closer, error) {
	return m.Serve(ctx, to, arke.Service{Push: swallow(r)}, l.options()...)
}

func (pushes) send(ctx context.Context, m *arke.Conn, to string, msg arke.Message) error {
	return m.Push(ctx, to, msg)
}

type broadcasts struct{}

func (broadcasts) name() string     { return "broadcast" }
func (broadcasts) promise() promise { return promise{nobody: arke.ErrNoMembers} }

func (broadcasts) receive(ctx context.Context, m *arke.Conn, to string, r *receiver, l limits) (closer, error) {
	return m.Serve(ctx, to, arke.Service{Broadcast: swallow(r)}, l.options()...)
}

func (broadcasts) send(ctx context.Context, m *arke.Conn, to string, msg arke.Message) error {
	result, err := m.Broadcast(ctx, to, msg)
	if err != nil {
		return err
	}
	return whole(result.Members, result.Missing, result.Complete)
}

type topics struct{}

func (topics) name() string     { return "publish" }
func (topics) promise() promise { return promise{topics: true} }

func (topics) receive(ctx context.Context, m *arke.Conn, to string, r *receiver, l limits) (closer, error) {
	return m.SubscribeFunc(ctx, to+".*", r.hear, arke.OnGap(r.miss), arke.Buffer(max(l.QueueLength, 0), l.QueueBytes), arke.WhenFull(arke.DropNewest))
}

func (topics) send(ctx context.Context, m *arke.Conn, to string, msg arke.Message) error {
	return m.Publish(ctx, to+".news", msg)
}

type requests struct{ member }

func (requests) name() string { return "request" }

func (requests) receive(ctx context.Context, m *arke.Conn, to string, r *receiver, l limits) (closer, error) {
	return m.Serve(ctx, to, arke.Service{Request: echo(r)}, l.options()...)
}

func (requests) send(ctx context.Context, m *arke.Conn, to string, msg arke.Message) error {
	reply, err := m.Request(ctx, to, msg)
	if err != nil {
		return err
	}
	return same(msg, reply)
}

type surveys struct{ member }

func (surveys) name() string { return "survey" }

func (surveys) receive(ctx context.Context, m *arke.Conn, to string, r *receiver, l limits) (closer, error) {
	return m.Serve(ctx, to, arke.Service{Request: echo(r)}, l.options()...)
}

func (surveys) send(ctx context.Context, m *arke.Conn, to string, msg arke.Message) error {
	var answer error
	result, err := m.Survey(ctx, to, msg, arke.Each(func(r arke.SurveyReply) error {
		if answer = r.Err; answer == nil {
			answer = same(msg, r.Message)
		}
		return nil
	}))
	if err != nil {
		return err
	}
	if answer != nil {
		return answer
	}
	return whole(result.Count, result.Missing, result.Complete)
}

// tunnels sends what a tunnel is opened with, and expects it as the tunnel's one
// message.
type tunnels struct{ member }

func (tunnels) name() string { return "tunnel" }

func (tunnels) receive(ctx context.Context, m *arke.Conn, to string, r *receiver, l limits) (closer, error) {
	return m.Serve(ctx, to, arke.Service{Tunnel: func(ctx context.Context, t *arke.Tunnel) error {
		first := t.Info().Open
		r.take(ctx, first)
		return t.Send(ctx, first.Body)
	}}, l.options()...)
}

func (tunnels) send(ctx context.Context, m *arke.Conn, to string, msg arke.Message) error {
	t, err := m.OpenTunnel(ctx, to, msg)
	if err != nil {
		return err
	}
	defer t.Close()
	body, err := t.Receive(ctx)
	if err != nil {
		t.Reset(arke.CodeUnknown, "the check is over")
		return asRemote(to, err)
	}
	if err := same(arke.Message{Body: msg.Body}, arke.Message{Body: body}); err != nil {
		return err
	}
	if _, err := t.Receive(ctx); !errors.Is(err, io.EOF) {
		return fmt.Errorf("after the last message comes %w", err)
	}
	return nil
}

// asRemote makes a handler's reset what its refusal would be to a request.
func asRemote(to string, err error) error {
	var reset *arke.TunnelError
	if errors.As(err, &reset) {
		return &arke.RemoteError{Cluster: to, Code: reset.Code, Message: reset.Message}
	}
	return err
}
