// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package relay_test

import (
	"bytes"
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/internal/wire/session"
	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/relay"
)

// This test checks that a request comes to its member as it was sent, and the
// reply back, whatever its size.
func TestARequestHasItsReply(t *testing.T) {
	_, n, cfg := start(t, nil)
	serveEcho(t, n, "geo")
	b := attach(t, cfg.Socket)
	headers := []session.Header{{Key: "k", Value: "v"}, {Key: "k"}}
	for id, size := range []int{0, 1, 1 << 10, 100 << 10, session.MaxMessage - 64} {
		body := bytes.Repeat([]byte{byte(id + 1)}, size)
		b.send(&session.Request{ID: uint64(id), Cluster: "geo", Headers: headers, Body: body})
		reply := expect[*session.Reply](b)
		require.Equal(t, uint64(id), reply.ID)
		require.Zero(t, reply.Failure)
		require.Equal(t, uint16(1), reply.Attempts)
		require.Len(t, reply.Member, 16)
		require.Equal(t, headers, reply.Headers)
		require.True(t, bytes.Equal(body, reply.Body))
	}
}

// This test checks that the options of a request reach the node, and that the
// waiting for a member is a second request: only that one may be given up.
func TestOptionsReachTheNode(t *testing.T) {
	var got []patterns.RequestOptions
	r, err := relay.New(relay.Config{
		Socket: t.TempDir() + "/s",
		Node: &recorder{request: func(ctx context.Context, o patterns.RequestOptions) {
			_, limited := ctx.Deadline()
			require.False(t, limited, "the default is the node's")
			o.Report = nil
			got = append(got, o)
		}},
	})
	require.NoError(t, err)
	require.NoError(t, r.Start(t.Context()))
	defer r.Close()
	b := attach(t, r.Status().Socket)
	for _, tt := range []struct {
		sent session.Request
		want []patterns.RequestOptions
	}{
		{session.Request{}, []patterns.RequestOptions{{}}},
		{session.Request{Idempotent: true}, []patterns.RequestOptions{{Idempotent: true}}},
		{
			session.Request{Idempotent: true, WaitForMember: true},
			[]patterns.RequestOptions{{Idempotent: true}, {Idempotent: true, WaitForMember: true}},
		},
		{session.Request{Policy: 1}, []patterns.RequestOptions{{Policy: patterns.PolicyRoundRobin}}},
		{session.Request{Policy: 2}, []patterns.RequestOptions{{Policy: patterns.PolicyRandom}}},
		{session.Request{Policy: 3}, []patterns.RequestOptions{{Policy: patterns.PolicyWeighted}}},
		{session.Request{Policy: 4, StickyKey: "k"}, []patterns.RequestOptions{{Policy: patterns.PolicySticky, StickyKey: "k"}}},
	} {
		got = nil
		b.send(&tt.sent)
		require.Equal(t, session.OutcomeNoMembers, expect[*session.Reply](b).Outcome)
		require.Equal(t, tt.want, got)
	}
}

// recorder is a node without members that notes how it was asked.
type recorder struct {
	patterns.Messenger
	request func(context.Context, patterns.RequestOptions)
}

func (r *recorder) Request(ctx context.Context, _ string, _ patterns.Message, opts ...patterns.RequestOption) (patterns.Message, error) {
	r.request(ctx, patterns.CollectOptions(opts))
	return patterns.Message{}, patterns.ErrNoMembers
}

// This test checks that a cancelled request ends at the caller, that the
// handler hears of it, and that its place is taken until it answers.
func TestACancellationReachesTheHandler(t *testing.T) {
	r, _, cfg := start(t, nil)
	server, caller := attach(t, cfg.Socket), attach(t, cfg.Socket)
	server.register(1, "geo")
	caller.send(&session.Request{ID: 1, Cluster: "geo"})
	d := expect[*session.Deliver](server)
	require.Equal(t, uint64(1), d.Registration)
	require.Equal(t, "peer", d.From)
	require.Positive(t, d.Remaining)

	caller.send(&session.Cancel{ID: 1}, &session.Cancel{ID: 99})
	reply := expect[*session.Reply](caller)
	require.Equal(t, session.OutcomeCancelled, reply.Outcome)
	require.True(t, reply.MaybeRan)
	require.Equal(t, d.ID, expect[*session.DeliverCancel](server).ID)
	clients := r.Status().Clients
	require.Equal(t, 1, clients[0].Deliveries+clients[1].Deliveries)

	server.send(&session.Answer{ID: d.ID}, &session.Answer{ID: d.ID})
	server.send(&session.Ping{})
	expect[*session.Pong](server)
	eventually(t, func() bool { return r.Status().Drops["answer.late"] == 1 }, "the second answer is late")
}

// This test checks that a deadline travels, and that what is late is told to
// both sides.
func TestADeadlineTravels(t *testing.T) {
	_, _, cfg := start(t, nil)
	server, caller := attach(t, cfg.Socket), attach(t, cfg.Socket)
	server.register(1, "geo")
	// A busy machine may need more time to deliver it.
	var d *session.Deliver
	var reply *session.Reply
	for timeout := uint64(50_000); d == nil; timeout *= 2 {
		caller.send(&session.Request{ID: 1, Cluster: "geo", Timeout: timeout})
		if reply = expect[*session.Reply](caller); !reply.MaybeRan {
			require.Equal(t, session.OutcomeDeadline, reply.Outcome)
			continue
		}
		d = expect[*session.Deliver](server)
		require.LessOrEqual(t, d.Remaining, timeout)
	}
	require.Equal(t, session.OutcomeDeadline, reply.Outcome)
	require.True(t, reply.MaybeRan)
	require.Equal(t, d.ID, expect[*session.DeliverCancel](server).ID)
	server.send(&session.Answer{ID: d.ID})
}

// This test checks what a caller gets when the member's client says so, or is
// gone before, in, and after a request.
func TestAMemberAnswersForItsClient(t *testing.T) {
	tests := []struct {
		name   string
		answer session.Failure
		want   session.Failure
	}{
		{
			"refused",
			session.Failure{Outcome: session.OutcomeRemoteError, Code: 404, Text: "no such place"},
			session.Failure{Outcome: session.OutcomeRemoteError, MaybeRan: true, Code: 404, Text: "no such place"},
		},
		{"overloaded", session.Failure{Outcome: session.OutcomeOverloaded}, session.Failure{Outcome: session.OutcomeOverloaded}},
		{
			"interrupted",
			session.Failure{Outcome: session.OutcomeInterrupted},
			session.Failure{Outcome: session.OutcomeInterrupted, MaybeRan: true},
		},
		{"too large", session.Failure{Outcome: session.OutcomeTooLarge}, session.Failure{Outcome: session.OutcomeTooLarge}},
	}
	_, n, cfg := start(t, nil)
	server, caller := attach(t, cfg.Socket), attach(t, cfg.Socket)
	server.register(1, "geo")
	for _, tt := range tests {
		caller.send(&session.Request{ID: 1, Cluster: "geo"})
		server.send(&session.Answer{ID: expect[*session.Deliver](server).ID, Failure: tt.answer})
		require.Equal(t, tt.want, expect[*session.Reply](caller).Failure, tt.name)
	}

	caller.send(&session.Request{ID: 1, Cluster: "geo"})
	expect[*session.Deliver](server)
	server.conn.Close()
	require.Equal(t, session.Failure{Outcome: session.OutcomeInterrupted, MaybeRan: true}, expect[*session.Reply](caller).Failure)

	eventually(t, func() bool { return len(n.Limits("geo")) == 0 }, "the member stays without its client")
	caller.send(&session.Request{ID: 1, Cluster: "geo"})
	require.Equal(t, session.OutcomeNoMembers, expect[*session.Reply](caller).Outcome)
}

// This test checks that a request whose member's client is gone goes to
// another one if, and only if, running it twice does no harm.
func TestOnlyIdempotentRequestsSurviveALostClient(t *testing.T) {
	for _, idempotent := range []bool{true, false} {
		_, n, cfg := start(t, nil)
		server, caller := attach(t, cfg.Socket), attach(t, cfg.Socket)
		server.register(1, "geo")
		caller.send(&session.Request{ID: 1, Cluster: "geo", Idempotent: idempotent, Body: []byte("hi")})
		expect[*session.Deliver](server)
		serveEcho(t, n, "geo")
		server.conn.Close()
		reply := expect[*session.Reply](caller)
		if idempotent {
			require.Equal(t, "hi", string(reply.Body))
			require.Equal(t, uint16(2), reply.Attempts)
		} else {
			require.Equal(t, session.OutcomeInterrupted, reply.Outcome)
		}
	}
}

// This test checks the list of members and its failures.
func TestMembersAreListed(t *testing.T) {
	_, n, cfg := start(t, nil)
	serveEcho(t, n, "geo")
	b := attach(t, cfg.Socket)
	b.send(&session.Members{ID: 1, Cluster: "geo"})
	require.Equal(t, &session.MembersReply{ID: 1, Members: []session.Member{{
		ID: "0000000000000001", Peer: "peer", Incarnation: 7, Zone: "z", Capacity: 1, State: "live",
	}}}, expect[*session.MembersReply](b))
	b.send(&session.Members{ID: 2, Cluster: "nobody"})
	require.Equal(t, session.OutcomeNoMembers, expect[*session.MembersReply](b).Outcome)
}

// This test checks that the limits of a registration reach the node, that a
// failure of its is told, and that its id is free then.
func TestARegistrationIsTheNodes(t *testing.T) {
	failing := errors.New("cluster: name is empty")
	_, n, cfg := start(t, nil)
	n.ServeError = func(cluster string) error {
		if cluster == "" {
			return failing
		}
		return nil
	}
	b := attach(t, cfg.Socket)
	b.send(&session.Register{ID: 1, Patterns: 15})
	failed := expect[*session.RegisterFailed](b)
	require.Equal(t, session.Failure{Outcome: session.OutcomeFailed, Text: failing.Error()}, failed.Failure)
	b.send(&session.Register{ID: 1, Concurrency: 2, QueueLength: -1, QueueBytes: 3, MessageBytes: 4, Capacity: 5, Tunnels: 6, Cluster: "geo", Patterns: 15})
	require.Equal(t, "0000000000000001", expect[*session.Registered](b).Member)
	require.Equal(t, []patterns.Limits{{Concurrency: 2, QueueLength: 0, QueueBytes: 3, MessageBytes: 4, Capacity: 5, Tunnels: 6}}, n.Limits("geo"))
}

// This test checks that leaving is acknowledged after the accepted work is
// done, at once when asked twice, and always, so that a client need not know
// whether there is anything to leave.
func TestLeavingIsAcknowledged(t *testing.T) {
	_, n, cfg := start(t, nil)
	server, caller := attach(t, cfg.Socket), attach(t, cfg.Socket)
	begin := func() uint64 {
		server.register(1, "geo")
		caller.send(&session.Request{ID: 1, Cluster: "geo"})
		return expect[*session.Deliver](server).ID
	}

	id := begin()
	server.send(&session.Unregister{ID: 1})
	eventually(t, func() bool { return len(n.Limits("geo")) == 0 }, "the member leaves first")
	server.send(&session.Answer{ID: id})
	require.Equal(t, &session.Unregistered{ID: 1}, expect[*session.Unregistered](server))
	require.Equal(t, session.OutcomeReply, expect[*session.Reply](caller).Outcome)

	id = begin()
	server.send(&session.Unregister{ID: 1, Timeout: 1})
	require.Equal(t, session.OutcomeDeadline, expect[*session.Unregistered](server).Outcome)
	server.send(&session.Answer{ID: id})
	expect[*session.Reply](caller)

	id = begin()
	server.send(&session.Unregister{ID: 1}, &session.Unregister{ID: 1})
	require.Equal(t, session.OutcomeCancelled, expect[*session.Unregistered](server).Outcome)
	server.send(&session.Answer{ID: id})
	expect[*session.Reply](caller)

	server.send(&session.Unregister{ID: 1}, &session.Unregister{ID: 77})
	require.Equal(t, &session.Unregistered{ID: 1}, expect[*session.Unregistered](server))
	require.Equal(t, &session.Unregistered{ID: 77}, expect[*session.Unregistered](server))
}
