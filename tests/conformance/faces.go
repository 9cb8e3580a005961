// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"context"

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
