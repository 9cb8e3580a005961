// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package relay_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/internal/wire/session"
	"github.com/arke-mesh/arke/relay"
)

// This test follows the order of a drain: notice, members leave, accepted work
// is finished, replies, goodbye, and only then the end.
func TestADrainFinishesWhatWasAccepted(t *testing.T) {
	r, n, cfg := start(t, nil)
	server, caller := attach(t, cfg.Socket), attach(t, cfg.Socket)
	server.register(1, "geo")
	caller.send(&session.Request{ID: 1, Cluster: "geo"})
	d := expect[*session.Deliver](server)

	ended := make(chan error, 1)
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		ended <- r.Shutdown(ctx)
	}()
	require.Positive(t, expect[*session.Drain](server).Remaining)
	expect[*session.Drain](caller)
	require.NoFileExists(t, cfg.Socket, "another relay can take the place")

	server.send(&session.Register{ID: 2, Cluster: "geo", Patterns: 15})
	require.Equal(t, session.OutcomeDraining, expect[*session.RegisterFailed](server).Outcome)
	eventually(t, func() bool { return len(n.Limits("geo")) == 0 }, "the member does not leave")
	require.Empty(t, ended)

	server.send(&session.Answer{ID: d.ID, Body: []byte("ho")})
	require.Equal(t, "ho", string(expect[*session.Reply](caller).Body))
	for _, b := range []*binding{server, caller} {
		expect[*session.Goodbye](b)
		b.expectEnd()
		b.conn.Close()
	}
	require.NoError(t, <-ended)
}

// This test checks that a call which comes too late for the drain has no reply
// but Goodbye, which says that it was not looked at.
func TestACallThatIsTooLateIsNotLookedAt(t *testing.T) {
	r, n, cfg := start(t, nil)
	serveEcho(t, n, "geo")
	busy := attach(t, cfg.Socket)
	slow := make(chan struct{})
	n.RequestError = func(cluster string) error {
		if cluster == "slow" {
			<-slow
		}
		return nil
	}
	busy.send(&session.Request{ID: 1, Cluster: "slow"})
	eventually(t, func() bool { return r.Status().Clients[0].Requests == 1 }, "the call does not begin")

	ended := make(chan error, 1)
	go func() { ended <- r.Shutdown(context.Background()) }()
	require.Zero(t, expect[*session.Drain](busy).Remaining)
	late := uint64(0)
	eventually(t, func() bool {
		late++
		busy.send(&session.Request{ID: 1 + late, Cluster: "geo"})
		return r.Status().Drops["request.draining"] > 0
	}, "calls are always accepted")
	close(slow)
	replies := map[uint64]int{}
	f := busy.next()
	for ; f.Kind() == session.KindReply; f = busy.next() {
		replies[f.(*session.Reply).ID]++
	}
	require.IsType(t, &session.Goodbye{}, f)
	require.Equal(t, 1, replies[1])
	for id, n := range replies {
		require.Equal(t, 1, n, "call %d", id)
	}
	unseen := r.Status().Drops["request.draining"]
	require.LessOrEqual(t, len(replies), 1+int(late-unseen), "it has no reply, or was looked at")
	busy.expectEnd()
	busy.conn.Close()
	require.NoError(t, <-ended)
}

// This test checks that a drain which can't finish ends with its context, and
// says so.
func TestADrainEndsWithItsContext(t *testing.T) {
	r, _, cfg := start(t, nil)
	server, caller := attach(t, cfg.Socket), attach(t, cfg.Socket)
	server.register(1, "geo")
	caller.send(&session.Request{ID: 1, Cluster: "geo"})
	expect[*session.Deliver](server)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	require.ErrorIs(t, r.Shutdown(ctx), context.DeadlineExceeded)
	expect[*session.Drain](caller)
	// The other session may end first, which the caller may hear. But there is
	// no goodbye: the call was looked at.
	k, body, err := caller.reader.Next()
	if err == nil {
		f, err := session.Decode(k, body)
		require.NoError(t, err)
		require.IsType(t, &session.Reply{}, f)
		require.Equal(t, session.OutcomeInterrupted, f.(*session.Reply).Outcome)
		caller.expectEnd()
	}
}

// This test checks that a client is refused while the relay drains, in words.
func TestNobodyAttachesToADrainingRelay(t *testing.T) {
	r, _, cfg := start(t, func(cfg *relay.Config) { cfg.Limits.Handshake = 5 * time.Second })
	server, caller := attach(t, cfg.Socket), attach(t, cfg.Socket)
	server.register(1, "geo")
	caller.send(&session.Request{ID: 1, Cluster: "geo"})
	d := expect[*session.Deliver](server)
	late := dial(t, "unix", cfg.Socket) // connected, and has not said hello
	attach(t, cfg.Socket).conn.Close()  // accepted after it

	ended := make(chan error, 1)
	go func() { ended <- r.Shutdown(context.Background()) }()
	expect[*session.Drain](server)
	late.send(hello())
	require.Equal(t, session.ReasonDraining, expect[*session.Refused](late).Reason)
	late.conn.Close()
	server.send(&session.Answer{ID: d.ID})
	expect[*session.Goodbye](server)
	server.conn.Close()
	caller.conn.Close()
	require.NoError(t, <-ended)
}
