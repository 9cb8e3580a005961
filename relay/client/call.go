// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/arke-mesh/arke/internal/wire/session"
	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/relay/internal/failure"
)

const (
	// defaultTimeout is that of package patterns.
	defaultTimeout = 5 * time.Second
	// grace is how long a call whose time is over waits for the relay, which
	// has the same deadline, to say whether a handler ran. The promise is 5 ms.
	grace = 4 * time.Millisecond
	// longGrace is that of a call to everybody, whose end has the names of
	// those that were late.
	longGrace = 50 * time.Millisecond
)

// Request implements patterns.Messenger.
func (c *Client) Request(ctx context.Context, cluster string, m patterns.Message, opts ...patterns.RequestOption) (patterns.Message, error) {
	f, err := c.askOne(ctx, session.KindReply, cluster, m, opts, func(f session.Request) session.Frame { return &f })
	if err != nil {
		return patterns.Message{}, err
	}
	reply := f.(*session.Reply)
	return patterns.Message{Headers: session.ConvertHeaders[patterns.Header](reply.Headers), Body: reply.Body}, nil
}

// askOne asks one member, with the frame that as makes of a request, and returns
// its answer.
func (c *Client) askOne(ctx context.Context, answer session.Kind, cluster string, m patterns.Message, opts []patterns.RequestOption, as func(session.Request) session.Frame) (session.Frame, error) {
	o := patterns.CollectOptions(opts)
	if o.Report != nil {
		*o.Report = patterns.RequestReport{}
	}
	headers, err := c.checked(cluster, m)
	if err != nil {
		return nil, err
	}
	body := lasting(m.Body)
	tries := course{idempotent: o.Idempotent}
	f, err := c.ask(ctx, answer, cluster, tries, func(id uint64, timeout time.Duration) session.Frame {
		return as(session.Request{
			ID:            id,
			Timeout:       session.Micros(timeout),
			Idempotent:    o.Idempotent,
			WaitForMember: o.WaitForMember,
			Policy:        uint8(o.Policy),
			StickyKey:     o.StickyKey,
			Cluster:       cluster,
			Headers:       headers,
			Body:          body,
		})
	})
	if o.Report != nil {
		*o.Report = attempts(f)
	}
	return f, err
}

// attempts returns what an answer says of how it came about.
func attempts(f session.Frame) patterns.RequestReport {
	switch f := f.(type) {
	case *session.Reply:
		return patterns.RequestReport{Member: f.Member, Attempts: int(f.Attempts)}
	case *session.TunnelReply:
		return patterns.RequestReport{Member: f.Member, Attempts: int(f.Attempts)}
	case *openedTunnel:
		return patterns.RequestReport{Member: f.Member, Attempts: int(f.Attempts)}
	}
	return patterns.RequestReport{}
}

// checked returns the headers as they travel, or why the message can't.
func (c *Client) checked(cluster string, m patterns.Message) ([]session.Header, error) {
	if err := checkName(cluster); err != nil {
		return nil, err
	}
	headers := session.ConvertHeaders[session.Header](m.Headers)
	if err := session.CheckHeaders(headers); err != nil {
		return nil, c.count.refuse(fmt.Errorf("%w: %v", patterns.ErrTooLarge, err))
	}
	if n := session.HeadersSize(headers) + len(m.Body); n > session.MaxMessage {
		return nil, c.count.refuse(fmt.Errorf("%w: %d bytes with headers, at most %d", patterns.ErrTooLarge, n, session.MaxMessage))
	}
	return headers, nil
}

func checkName(cluster string) error {
	if len(cluster) > session.MaxCluster {
		return fmt.Errorf("client: the cluster's name has %d bytes, at most %d", len(cluster), session.MaxCluster)
	}
	return nil
}

// Members implements patterns.Messenger.
func (c *Client) Members(ctx context.Context, cluster string) ([]patterns.Member, error) {
	if err := checkName(cluster); err != nil {
		return nil, err
	}
	tries := course{idempotent: true}
	f, err := c.ask(ctx, session.KindMembersReply, cluster, tries, func(id uint64, timeout time.Duration) session.Frame {
		return &session.Members{ID: id, Timeout: session.Micros(timeout), Cluster: cluster}
	})
	if err != nil {
		return nil, err
	}
	list := f.(*session.MembersReply).Members
	members := make([]patterns.Member, 0, len(list))
	for i := range list {
		members = append(members, patterns.Member{
			ID:          list[i].ID,
			Peer:        list[i].Peer,
			Incarnation: list[i].Incarnation,
			Zone:        list[i].Zone,
			Capacity:    int(list[i].Capacity),
			State:       list[i].State,
		})
	}
	return members, nil
}

// build makes the frame of a call, which has so much time.
type build func(id uint64, timeout time.Duration) session.Frame

// ask has the relay answer a call with a frame of kind want, on as many
// sessions as that takes and tries allows. The frame that is returned may say,
// besides the error, how the call went.
func (c *Client) ask(ctx context.Context, want session.Kind, cluster string, tries course, frame build) (session.Frame, error) {
	if err := c.begin(); err != nil {
		return nil, err
	}
	defer c.end()
	if _, ok := ctx.Deadline(); !ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, defaultTimeout)
		defer cancel()
	}
	for {
		var f session.Frame
		a, err := c.current(ctx)
		if err == nil {
			f, err = a.call(ctx, want, frame)
		}
		if err == nil {
			err = failure.Error(failureOf(f), cluster)
		}
		if errors.Is(err, failure.ErrDraining) {
			err = a.awaitEnd(ctx, err)
		}
		if again, final := tries.settle(err); !again {
			return f, final
		}
	}
}

// failureOf returns how a call failed by its reply.
func failureOf(f session.Frame) session.Failure {
	switch f := f.(type) {
	case *session.Reply:
		return f.Failure
	case *session.MembersReply:
		return f.Failure
	case *session.StatusReply:
		return f.Failure
	case *session.TunnelReply:
		return f.Failure
	case *session.BroadcastReply:
		return f.Failure
	}
	return session.Failure{}
}

// call tries on this session. Errors are errNotSent, errLost, errGoodbye,
// patterns.ErrTooLarge, and a *patterns.DeadlineError.
func (a *attachment) call(ctx context.Context, want session.Kind, frame build) (session.Frame, error) {
	if ctx.Err() != nil {
		return nil, &patterns.DeadlineError{Cause: cause(ctx)}
	}
	id, answer, err := a.expectCall()
	if err != nil {
		return nil, err
	}
	defer a.giveUp(id, answer)
	deadline, _ := ctx.Deadline()
	end, err := a.sender.SendWait(ctx, frame(id, time.Until(deadline)))
	if err != nil {
		return nil, a.client.notSent(ctx, err)
	}
	f, err := a.awaitReply(ctx, answer, end)
	if errors.Is(err, errOver) {
		wait := grace
		if want == session.KindBroadcastReply {
			wait = longGrace
		}
		f, err = a.lastWord(ctx, id, answer, wait)
	}
	if err == nil && f.Kind() != want {
		a.end(fmt.Errorf("client: the relay answers with %s where %s is due", f.Kind(), want))
		return nil, errLost
	}
	return f, err
}

// notSent says why a frame could not be queued.
func (c *Client) notSent(ctx context.Context, err error) error {
	switch {
	case errors.Is(err, session.ErrSenderClosed):
		return errNotSent
	case ctx.Err() != nil:
		return &patterns.DeadlineError{Cause: cause(ctx)}
	}
	return c.count.refuse(fmt.Errorf("%w: %v", patterns.ErrTooLarge, err))
}

// awaitReply is await for a call whose frame ends there in the stream. If it
// was not written whole, the relay has not seen it, and the error is
// errNotSent.
func (a *attachment) awaitReply(ctx context.Context, answer <-chan session.Frame, end uint64) (session.Frame, error) {
	select {
	case f := <-answer:
		return f, nil
	case <-ctx.Done():
	case <-a.silent:
		if a.sender.Written() < end {
			return nil, errNotSent
		}
	}
	return a.await(ctx, answer)
}

// lastWord gives the relay a moment to say what became of a call whose time is
// over.
func (a *attachment) lastWord(ctx context.Context, id uint64, answer <-chan session.Frame, wait time.Duration) (session.Frame, error) {
	if cause(ctx) == context.Canceled {
		a.sender.SendReserved(&session.Cancel{ID: id}) // if it is lost, so is only a courtesy
	}
	moment, cancel := context.WithTimeout(context.WithoutCancel(ctx), wait)
	defer cancel()
	f, err := a.await(moment, answer)
	if err != nil {
		return nil, &patterns.DeadlineError{Cause: cause(ctx), MaybeRan: !errors.Is(err, errGoodbye)}
	}
	return f, nil
}
