// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package relay_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/internal/wire/session"
	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/relay"
)

// This test follows a survey frame by frame: each member's reply as it comes,
// also one that refuses, and then who is missing.
func TestASurveyEndsBehindItsReplies(t *testing.T) {
	_, n, cfg := start(t, nil)
	serveEcho(t, n, "geo")
	server, caller := attach(t, cfg.Socket), attach(t, cfg.Socket)
	server.register(1, "geo")
	server.register(2, "geo")
	caller.send(&session.Survey{ID: 1, Timeout: 2_000_000, Cluster: "geo", Body: []byte("hi")})

	first := expect[*session.SurveyReply](caller)
	require.Equal(t, "hi", string(first.Body))
	require.Equal(t, "peer", first.Peer)
	d := expect[*session.Deliver](server)
	require.Equal(t, uint8(patterns.PatternSurvey), d.Pattern)
	server.send(&session.Answer{ID: d.ID, Failure: session.Failure{Outcome: session.OutcomeRemoteError, Code: 404, Text: "no"}})
	require.Equal(t, uint32(404), expect[*session.SurveyReply](caller).Code)

	end := expect[*session.SurveyEnd](caller)
	require.Zero(t, end.Failure)
	require.Equal(t, uint32(2), end.Replies)
	require.False(t, end.Complete)
	require.Len(t, end.Missing, 1)
	require.Equal(t, session.OutcomeDeadline, end.Missing[0].Outcome)
	require.True(t, end.Missing[0].MaybeRan)

	caller.send(&session.Survey{ID: 1, Cluster: "nobody"})
	require.Equal(t, session.OutcomeNoMembers, expect[*session.SurveyEnd](caller).Outcome)
}

// This test checks that a survey counts among the calls, and can be cancelled.
func TestASurveyIsACall(t *testing.T) {
	r, _, cfg := start(t, func(cfg *relay.Config) { cfg.Limits.Requests = 1 })
	server, caller := attach(t, cfg.Socket), attach(t, cfg.Socket)
	server.register(1, "geo")
	caller.send(&session.Survey{ID: 1, Cluster: "geo"}, &session.Broadcast{ID: 2, Cluster: "geo"})
	denied := expect[*session.BroadcastReply](caller)
	require.Equal(t, session.OutcomeLimit, denied.Outcome)
	require.Equal(t, uint64(1), r.Status().Drops["request.too_many"])
	caller.send(&session.Cancel{ID: 1})
	end := expect[*session.SurveyEnd](caller)
	require.Len(t, end.Missing, 1)
	require.Equal(t, session.OutcomeCancelled, end.Missing[0].Outcome)
}

// This test checks that a reply for which the client had no room until the
// survey's end is not claimed as one that came.
func TestASurveysReplyThatFindsNoRoomIsMissing(t *testing.T) {
	r, n, cfg := start(t, func(cfg *relay.Config) { cfg.Limits.QueueBytes = 1 << 16 })
	const members = 20
	for range members {
		_, err := n.Serve(t.Context(), "geo", patterns.HandlerFunc(func(context.Context, *patterns.Request) (patterns.Message, error) {
			return patterns.Message{Body: make([]byte, 1<<20)}, nil
		}), patterns.Limits{})
		require.NoError(t, err)
	}
	caller := attach(t, cfg.Socket)
	caller.send(&session.Survey{ID: 1, Timeout: 2_000_000, Cluster: "geo"})
	eventually(t, func() bool { return r.Status().Drops["reply.slow_client"] > 0 }, "all replies find room")
	replies := 0
	for {
		f := caller.next()
		if end, ok := f.(*session.SurveyEnd); ok {
			require.Equal(t, replies, int(end.Replies))
			require.Len(t, end.Missing, members-replies)
			require.False(t, end.Complete)
			break
		}
		replies++
	}
	require.Positive(t, replies)
	require.Less(t, replies, members)
}

// This test checks that a push is acknowledged when the member's queue has it,
// and takes its place in the concurrency until the client has answered.
func TestAPushHasItsPlaceUntilItIsAnswered(t *testing.T) {
	_, _, cfg := start(t, nil)
	server, caller := attach(t, cfg.Socket), attach(t, cfg.Socket)
	server.send(&session.Register{ID: 1, Concurrency: 1, QueueLength: 1, Cluster: "geo", Patterns: session.ServesPushes})
	expect[*session.Registered](server)
	push := func(id uint64) session.Failure {
		caller.send(&session.Push{Request: session.Request{ID: id, Cluster: "geo", Body: []byte{byte(id)}}})
		reply := expect[*session.Reply](caller)
		require.Empty(t, reply.Body)
		return reply.Failure
	}
	require.Zero(t, push(1))
	first := expect[*session.Deliver](server)
	require.Equal(t, uint8(patterns.PatternPush), first.Pattern)
	require.Zero(t, first.Remaining)
	require.Zero(t, push(2), "it waits")
	require.Equal(t, session.OutcomeOverloaded, push(3).Outcome)
	server.send(&session.Answer{ID: first.ID})
	require.Equal(t, []byte{2}, expect[*session.Deliver](server).Body)
}

// This test checks that what a member does not implement is refused before
// anybody is asked, and what it does is not.
func TestOnlyWhatAMemberImplementsReachesIt(t *testing.T) {
	_, _, cfg := start(t, nil)
	tests := []struct {
		serves  session.Patterns
		pattern patterns.Pattern
	}{
		{session.ServesRequests, patterns.PatternRequest},
		{session.ServesPushes, patterns.PatternPush},
		{session.ServesBroadcasts, patterns.PatternBroadcast},
	}
	for _, tt := range tests {
		server, caller := attach(t, cfg.Socket), attach(t, cfg.Socket)
		server.send(&session.Register{ID: 1, Cluster: "geo", Patterns: tt.serves})
		expect[*session.Registered](server)
		caller.send(
			&session.Request{ID: 1, Cluster: "geo"},
			&session.Push{Request: session.Request{ID: 2, Cluster: "geo"}},
			&session.Broadcast{ID: 3, Cluster: "geo"},
		)
		d := expect[*session.Deliver](server)
		require.Equal(t, uint8(tt.pattern), d.Pattern)
		server.send(&session.Answer{ID: d.ID})
		got := map[patterns.Pattern]session.Failure{}
		for range 3 {
			switch f := caller.next().(type) {
			case *session.Reply:
				got[map[uint64]patterns.Pattern{1: patterns.PatternRequest, 2: patterns.PatternPush}[f.ID]] = f.Failure
			case *session.BroadcastReply:
				if got[patterns.PatternBroadcast] = f.Failure; len(f.Missing) > 0 {
					got[patterns.PatternBroadcast] = f.Missing[0].Failure
				}
			}
		}
		for p, f := range got {
			if p == tt.pattern {
				require.Zero(t, f, p)
				continue
			}
			require.Equal(t, session.OutcomeRemoteError, f.Outcome, p)
			require.Equal(t, uint32(patterns.CodeNoMethod), f.Code, p)
		}
		server.conn.Close()
		caller.conn.Close()
		eventually(t, func() bool {
			caller := attach(t, cfg.Socket)
			defer caller.conn.Close()
			caller.send(&session.Members{ID: 1, Cluster: "geo"})
			return expect[*session.MembersReply](caller).Outcome == session.OutcomeNoMembers
		}, "the member stays")
	}
}

// This test checks that a push whose client goes before it has answered is
// counted, since nobody else learns of it.
func TestAPushThatIsLostWithItsClientIsCounted(t *testing.T) {
	r, n, cfg := start(t, nil)
	server := attach(t, cfg.Socket)
	server.register(1, "geo")
	require.NoError(t, n.Push(t.Context(), "geo", patterns.Message{}))
	expect[*session.Deliver](server)
	server.conn.Close()
	eventually(t, func() bool { return r.Status().Drops["push.session_lost"] == 1 }, "it is not counted")
}

// This test checks that a drain lets a client finish what was pushed to it.
func TestADrainFinishesAPush(t *testing.T) {
	r, n, cfg := start(t, nil)
	server := attach(t, cfg.Socket)
	server.register(1, "geo")
	require.NoError(t, n.Push(t.Context(), "geo", patterns.Message{}))
	d := expect[*session.Deliver](server)
	var ended atomic.Bool
	go func() {
		r.Shutdown(context.Background())
		ended.Store(true)
	}()
	expect[*session.Drain](server)
	time.Sleep(20 * time.Millisecond)
	require.False(t, ended.Load())
	server.send(&session.Answer{ID: d.ID})
	expect[*session.Goodbye](server)
	server.conn.Close()
	eventually(t, ended.Load, "the drain does not end")
}
