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
type face struct {
	name    string
	promise promise
	// receive has r take what is sent to that name, as l allows, until it is
	// closed.
	receive func(ctx context.Context, m *arke.Conn, to string, r *receiver, l limits) (closer, error)
	// send sends one message and says what became of it. If the pattern has
	// answers, it waits for the one, which must be the message itself.
	send func(ctx context.Context, m *arke.Conn, to string, msg arke.Message) error
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
	asked := promise{answers: true, nobody: arke.ErrNoMembers}
	told := promise{nobody: arke.ErrNoMembers}
	return []face{
		{"request", asked, serving(echo), request},
		{"survey", asked, serving(echo), survey},
		{"push", told, serving(takePush), push},
		{"broadcast", told, serving(takeBroadcast), broadcast},
		{"publish", promise{topics: true}, listen, publish},
		{"tunnel", asked, serving(echoTunnel), tunnel},
	}
}

// serving is how patterns receive that go to members.
func serving(by func(*receiver) arke.Service) func(context.Context, *arke.Conn, string, *receiver, limits) (closer, error) {
	return func(ctx context.Context, m *arke.Conn, to string, r *receiver, l limits) (closer, error) {
		return m.Serve(ctx, to, by(r), l.options()...)
	}
}

// echo answers requests and surveys.
func echo(r *receiver) arke.Service {
	return arke.Service{Request: func(ctx context.Context, q *arke.Request) (arke.Message, error) {
		m := arke.Message{Headers: q.Headers, Body: q.Body}
		r.take(ctx, m)
		return m, nil
	}}
}

func takePush(r *receiver) arke.Service      { return arke.Service{Push: swallow(r)} }
func takeBroadcast(r *receiver) arke.Service { return arke.Service{Broadcast: swallow(r)} }

func swallow(r *receiver) func(context.Context, *arke.Request) {
	return func(ctx context.Context, q *arke.Request) {
		r.take(ctx, arke.Message{Headers: q.Headers, Body: q.Body})
	}
}

func push(ctx context.Context, m *arke.Conn, to string, msg arke.Message) error {
	return m.Push(ctx, to, msg)
}

func broadcast(ctx context.Context, m *arke.Conn, to string, msg arke.Message) error {
	result, err := m.Broadcast(ctx, to, msg)
	if err != nil {
		return err
	}
	return whole(result.Members, result.Missing, result.Complete)
}

func listen(ctx context.Context, m *arke.Conn, to string, r *receiver, l limits) (closer, error) {
	return m.SubscribeFunc(ctx, to+".*", r.hear, arke.OnGap(r.miss), arke.Buffer(max(l.QueueLength, 0), l.QueueBytes), arke.WhenFull(arke.DropNewest))
}

func publish(ctx context.Context, m *arke.Conn, to string, msg arke.Message) error {
	return m.Publish(ctx, to+".news", msg)
}

func request(ctx context.Context, m *arke.Conn, to string, msg arke.Message) error {
	reply, err := m.Request(ctx, to, msg)
	if err != nil {
		return err
	}
	return same(msg, reply)
}

func survey(ctx context.Context, m *arke.Conn, to string, msg arke.Message) error {
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

// echoTunnel sends back what a tunnel was opened with.
func echoTunnel(r *receiver) arke.Service {
	return arke.Service{Tunnel: func(ctx context.Context, t *arke.Tunnel) error {
		first := t.Info().Open
		r.take(ctx, first)
		return t.Send(ctx, first.Body)
	}}
}

// tunnel expects what it opens one with as the tunnel's one message.
func tunnel(ctx context.Context, m *arke.Conn, to string, msg arke.Message) error {
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
