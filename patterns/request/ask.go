// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package request

import (
	"context"
	"time"

	"github.com/arke-mesh/arke/cluster"
	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/patterns"
)

// Ask is one message for one member.
type Ask struct {
	// Cluster may name a network, too, behind an @: then only members of that one are
	// asked.
	Cluster string
	Pattern patterns.Pattern
	// Message is the caller's, who must not change it before Ask returns, or
	// done of Start is called.
	Message patterns.Message
	// Tail, if not nil, stands in place of Message: encoded headers and a body,
	// as wire.AppendTail makes them. Then the Answer has a Tail, too. It is for
	// who passes messages on; the same holds for it as for Message.
	Tail    []byte
	Options patterns.RequestOptions
	// Transit says whom a gateway may ask for a message of another network; nil = the
	// message is of this one.
	Transit *cluster.Transit
	// To is the only member that is asked, and its handler sees it at most
	// once, whatever Options say; its link is opened if need be. nil = whom
	// the policy picks, with retries at others.
	To *cluster.Member
	// Origin, with To, says who has sealed Tail for that member: it is passed on as it
	// is, and the Answer has a Reply. nil = this node.
	Origin *wire.Origin
	// Tunnel, of pattern tunnel, is the id of the tunnel that is opened: who passes the
	// opening on across a border can't look into it.
	Tunnel uint64
	// Client, if not 0, is the one that a relay asks for: each has a retry budget of its own.
	Client uint64
	// Deadline of Start. Zero = 5 s from now.
	Deadline time.Time
	// Waits of Start, if not nil, is what the asker may have of workers that wait for
	// a first member; one more is patterns.ErrOverloaded.
	Waits Waits

	network string // that Cluster has named; check takes it out
}

// Waits is an asker's share of workers. Its methods may be called concurrently and do
// not block.
type Waits interface {
	// Take says whether n workers more may wait; they do from here on.
	Take(n int) bool
	// Give says that n do no longer.
	Give(n int)
}

// Answer is what became of an Ask. It is valid with an error, too.
type Answer struct {
	// Message is the reply; the caller owns it. With Ask.Tail it is empty, and
	// Tail has encoded headers and the body, which the caller owns.
	Message patterns.Message
	Tail    []byte
	// Reply, with Ask.Origin, is what came, for the origin to open; the caller owns it.
	Reply wire.Reply
	// Member gave the outcome; nil if none did. Of a leaf's answer it has ID and
	// Peer only.
	Member   *cluster.Member
	Session  uint64 // of the link that Member was asked on
	Attempts int
	// Queue and Running are the requests that wait and run at the member, Service
	// is the time in the handler; 0 = not told.
	Queue, Running int
	Service        time.Duration
}

// Asker is what the patterns stand upon that send a message to one member, or to
// all; *Engine is one.
type Asker interface {
	Ask(ctx context.Context, a Ask) (Answer, error)
	AskAll(ctx context.Context, a All, each EachFunc) (Tally, error)
}

var _ Asker = (*Engine)(nil)

// Do is Ask for a request.
func (e *Engine) Do(ctx context.Context, name string, m patterns.Message, o patterns.RequestOptions) (patterns.Message, error) {
	a, err := e.Ask(ctx, Ask{Cluster: name, Message: m, Options: o})
	return a.Message, err
}

// Ask sends a message to one member of the cluster and returns the one outcome,
// as package patterns describes it: for a request or a survey the reply, for a
// push or a broadcast that the member's queue has it, for a tunnel that it was
// accepted. Without a deadline in ctx it has 5 s; a.Deadline is not looked at.
func (e *Engine) Ask(ctx context.Context, a Ask) (Answer, error) {
	answer, err := e.calls.ask(ctx, &a)
	if a.Options.Report != nil {
		*a.Options.Report = answer.report()
	}
	return answer, err
}

// Start is Ask for who does not wait: done is called once with the outcome,
// which may be before Start returns. It is called on whatever goroutine brings
// the outcome, often one that reads a link, so it must not block. cancel gives
// up, with the error of a cancelled context unless there is an outcome already;
// it may be called from anywhere, also by done, and more than once.
//
// Nothing waits in between but a cluster that is asked for the first time, whose
// members are waited for on a worker of the Exec.
func (e *Engine) Start(a Ask, done func(Answer, error)) (cancel func()) {
	return e.calls.begin(&a, done)
}

// AskAll asks each member of the cluster once, as Ask with To does, all at the
// same time, and calls each as they answer or fail: one at a time, on the
// caller's goroutine. Nobody is waited for longer than until ctx ends, or for
// 5 s if it has no deadline: who is late is missing. It returns the error of
// each, or an error of Ask if nobody was asked.
//
// A leaf's has its relay do it: each hears of those who answered only, and
// their Members have an ID and a Peer.
func (e *Engine) AskAll(ctx context.Context, a All, each EachFunc) (Tally, error) {
	return e.calls.askAll(ctx, &a, each)
}

// report tells how it went.
func (a *Answer) report() patterns.RequestReport {
	r := patterns.RequestReport{Attempts: a.Attempts}
	if a.Member != nil && a.Member.ID != 0 {
		r.Member = a.Member.ID.String()
	}
	return r
}

// check refuses what can be refused without the cluster. It returns the size of
// body and headers, and leaves the name of the cluster in a.Cluster. A leaf leaves the
// network to its relay.
func (e *env) check(a *Ask) (size int, err error) {
	bare, network, err := cluster.CheckAddress(a.Cluster)
	if err != nil {
		return 0, err
	}
	if e.cfg.Leaf == nil {
		a.Cluster, a.network = bare, network
	}
	if e.closed.Load() {
		return 0, patterns.ErrClosed
	}
	if a.Tail != nil {
		if size = tailSize(a.Tail); a.Origin != nil {
			size = max(len(a.Tail)-sealedOverhead-noHeaders, 0)
		}
		if size > MaxMessage {
			e.drops.Inc(dropTooLarge)
			return 0, patterns.ErrTooLarge
		}
		return size, nil
	}
	headers := wire.ConvertHeaders[wire.Header](a.Message.Headers)
	if size = messageSize(headers, a.Message.Body); size > MaxMessage || wire.CheckHeaders(headers) != nil {
		e.drops.Inc(dropTooLarge)
		return 0, patterns.ErrTooLarge
	}
	return size, nil
}
