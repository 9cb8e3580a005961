// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package relay_test

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/internal/wire/session"
	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/relay"
	"github.com/arke-mesh/arke/relay/internal/failure"
)

// This test goes one beyond each limit of a client and sees the named error
// and its counter; and that the place is there again afterwards.
func TestOneBeyondALimitIsTheNamedError(t *testing.T) {
	r, _, cfg := start(t, func(cfg *relay.Config) {
		cfg.Limits.Registrations = 2
		cfg.Limits.Requests = 3
		cfg.Limits.RequestBytes = 10_000
	})
	b := attach(t, cfg.Socket)
	b.register(1, "geo")
	b.register(2, "geo")
	b.send(&session.Register{ID: 3, Cluster: "geo", Patterns: 15})
	require.ErrorIs(t, failure.Error(expect[*session.RegisterFailed](b).Failure, "geo"), relay.ErrTooManyRegistrations)
	b.send(&session.Unregister{ID: 2})
	expect[*session.Unregistered](b)
	b.register(2, "geo")

	caller := attach(t, cfg.Socket)
	ask := func(id uint64, size int) {
		caller.send(&session.Request{ID: id, Cluster: "geo", Body: make([]byte, size)})
	}
	deny := func(id uint64, want error) {
		reply := expect[*session.Reply](caller)
		require.Equal(t, id, reply.ID)
		require.False(t, reply.MaybeRan)
		require.ErrorIs(t, failure.Error(reply.Failure, "geo"), want)
	}
	ask(1, 5000)
	first := expect[*session.Deliver](b)
	ask(2, 6000)
	deny(2, relay.ErrTooManyBytes)
	ask(2, 100)
	ask(3, 100)
	expect[*session.Deliver](b)
	expect[*session.Deliver](b)
	ask(4, 0)
	deny(4, relay.ErrTooManyRequests)
	caller.send(&session.Members{ID: 5, Cluster: "geo"})
	require.ErrorIs(t, failure.Error(expect[*session.MembersReply](caller).Failure, "geo"), relay.ErrTooManyRequests)

	b.send(&session.Answer{ID: first.ID})
	require.Equal(t, uint64(1), expect[*session.Reply](caller).ID)
	ask(1, 5000)
	expect[*session.Deliver](b)

	drops := r.Status().Drops
	require.Equal(t, uint64(1), drops["registration.too_many"])
	require.Equal(t, uint64(1), drops["request.too_many_bytes"])
	require.Equal(t, uint64(2), drops["request.too_many"])
}

// This test has one connection more than may be about to say Hello: it is
// closed at once and counted, and there is room again when the others have gone.
func TestOneMuteConnectionTooManyIsCounted(t *testing.T) {
	const handshakes = 256
	r, _, cfg := start(t, func(cfg *relay.Config) { cfg.Limits.Handshake = patience })
	mute := make([]*binding, handshakes)
	for i := range mute {
		mute[i] = dial(t, "unix", cfg.Socket)
	}
	dial(t, "unix", cfg.Socket).expectEnd()
	require.Equal(t, map[string]uint64{"handshake.too_many": 1}, r.Status().Drops)
	mute[0].send(hello())
	expect[*session.Welcome](mute[0])
	attach(t, cfg.Socket)
}

// This test publishes a message that no frame of a session holds: its
// subscription is told of a gap, which is counted, and gets the next one.
func TestAMessageBeyondAFrameIsAGap(t *testing.T) {
	r, n, cfg := start(t, nil)
	b := attach(t, cfg.Socket)
	b.subscribe(&session.Subscribe{ID: 1, Pattern: "a"})
	require.NoError(t, n.Publish(t.Context(), "a", patterns.Message{Body: make([]byte, session.MaxMessage+1)}))
	gap := expect[*session.Gap](b)
	require.EqualValues(t, 1, gap.Missed)
	require.True(t, gap.Exact)
	require.Equal(t, map[string]uint64{"publication.too_large": 1}, r.Status().Drops)
	require.NoError(t, n.Publish(t.Context(), "a", patterns.Message{Body: []byte("next")}))
	require.Equal(t, "next", string(expect[*session.Publication](b).Body))
}

// This test checks that an id which is in use is the client's fault.
func TestACallsIDIsItsOwn(t *testing.T) {
	_, _, cfg := start(t, nil)
	b := attach(t, cfg.Socket)
	b.register(1, "geo")
	b.send(&session.Request{ID: 1, Cluster: "geo"}, &session.Request{ID: 1, Cluster: "geo"})
	for {
		if f, ok := b.next().(*session.Error); ok {
			require.Equal(t, session.ReasonProtocol, f.Reason)
			break
		}
	}
}

// This test checks that a client which stops reading is refused what it can't
// take, with the outcome that sends its callers elsewhere; that nobody else
// notices; and that its session ends at last.
func TestASlowClientHurtsNobodyElse(t *testing.T) {
	const stall = 3 * time.Second
	r, n, cfg := start(t, func(cfg *relay.Config) {
		cfg.Limits.QueueBytes = 1 << 20
		cfg.Limits.Stall = stall
	})
	serveEcho(t, n, "fast")
	slow := attach(t, cfg.Socket)
	slow.send(&session.Register{ID: 1, Cluster: "slow", Concurrency: 1000, Patterns: 15})
	expect[*session.Registered](slow)

	caller, honest := attach(t, cfg.Socket), attach(t, cfg.Socket)
	const n1, size = 100, 64 << 10
	full := func() bool {
		for _, c := range r.Status().Clients {
			if slices.Contains(c.Clusters, "slow") {
				return c.Queued+size > 1<<20
			}
		}
		return false // it is gone
	}
	beside := 0 // replies that the honest one had while the slow one took nothing
	for id := range uint64(n1) {
		caller.send(&session.Request{ID: id, Cluster: "slow", Timeout: session.Micros(patience), Body: make([]byte, size)})
		before := full()
		honest.send(&session.Request{ID: id, Cluster: "fast", Body: []byte("hi")})
		require.Equal(t, "hi", string(expect[*session.Reply](honest).Body))
		if before && full() {
			beside++
		}
	}
	require.Greater(t, beside, n1/10)

	outcomes := map[session.Outcome]int{}
	for range n1 {
		outcomes[expect[*session.Reply](caller).Outcome]++
	}
	// What the queue took was lost with the session, the rest was refused.
	require.Equal(t, n1, outcomes[session.OutcomeOverloaded]+outcomes[session.OutcomeInterrupted], "%v", outcomes)
	require.Greater(t, outcomes[session.OutcomeOverloaded], 50)
	require.Equal(t, uint64(outcomes[session.OutcomeOverloaded]), r.Status().Drops["delivery.slow_client"])
	require.Equal(t, uint64(1), r.Status().Drops["ended.slow"])
	eventually(t, func() bool { return len(n.Limits("slow")) == 0 }, "the slow member stays")
}

// This test checks that replies wait for a client that reads late, as far as
// its limits go, and that those beyond are replaced by something smaller that
// says so: none is dropped without a word.
func TestAReplyThatFindsNoRoomIsReportedLost(t *testing.T) {
	r, n, cfg := start(t, func(cfg *relay.Config) {
		cfg.Limits.QueueBytes = 1 << 20
		cfg.Limits.RequestBytes = 2 << 20
	})
	serveEcho(t, n, "geo")
	b := attach(t, cfg.Socket)
	const calls = 60
	for id := range uint64(calls) {
		b.send(&session.Request{ID: id, Cluster: "geo", Body: make([]byte, 128<<10)})
		// One after the other, or the limit of requests would hold first.
		eventually(t, func() bool { return r.Status().Clients[0].Requests == 0 }, "no end")
	}
	eventually(t, func() bool { return r.Status().Drops["reply.slow_client"] > 0 }, "no reply is lost")
	lost := 0
	for range calls {
		reply := expect[*session.Reply](b)
		if reply.Outcome != session.OutcomeReply {
			require.Equal(t, session.OutcomeInterrupted, reply.Outcome)
			require.True(t, reply.MaybeRan)
			lost++
		}
	}
	require.Equal(t, r.Status().Drops["reply.slow_client"], uint64(lost))
	require.Less(t, lost, calls-10)
	b.send(&session.Ping{Token: 1}) // and the session goes on
	expect[*session.Pong](b)
}

// This test checks that a burst which is larger than the queue, but within the
// limits, loses nothing in either direction, since its clients do read.
func TestABurstWithinTheLimitsLosesNothing(t *testing.T) {
	r, _, cfg := start(t, func(cfg *relay.Config) { cfg.Limits.QueueBytes = 1 << 20 })
	server, caller := attach(t, cfg.Socket), attach(t, cfg.Socket)
	const calls = 60
	server.send(&session.Register{ID: 1, Cluster: "geo", Concurrency: calls, Patterns: 15})
	expect[*session.Registered](server)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for range calls {
			d := expect[*session.Deliver](server)
			server.send(&session.Answer{ID: d.ID, Body: d.Body})
		}
	}()
	for id := range uint64(calls) {
		caller.send(&session.Request{
			ID: id, Cluster: "geo", Timeout: session.Micros(patience), Body: make([]byte, 256<<10),
		})
	}
	for range calls {
		require.Zero(t, expect[*session.Reply](caller).Failure)
	}
	<-done
	require.Empty(t, r.Status().Drops)
}

// This test checks that a client which asks for more and more without reading
// has an end, too.
func TestAFloodOfSmallAnswersHasAnEnd(t *testing.T) {
	r, _, cfg := start(t, func(cfg *relay.Config) { cfg.Limits.QueueBytes = 1 << 16 })
	b := attach(t, cfg.Socket)
	pings := frame(t, &session.Ping{}, &session.Ping{}, &session.Ping{}, &session.Ping{})
	for {
		if _, err := b.conn.Write(pings); err != nil {
			break
		}
	}
	eventually(t, func() bool { return r.Status().Drops["ended.slow"] == 1 }, "the flood has no end")
}
