// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package request_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/cluster"
	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/overlay"
	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/patterns/request"
)

// outcome is what done of Start was called with.
type outcome struct {
	answer request.Answer
	err    error
	after  time.Duration
}

// start begins a call and returns where its one outcome comes.
func start(n *fakeNode, a request.Ask) (out chan outcome, cancel func()) {
	began := time.Now()
	out = make(chan outcome, 2)
	return out, n.engine.Start(a, func(a request.Answer, err error) { out <- outcome{a, err, time.Since(began)} })
}

// answered waits for the outcome of a call: it is that answer.
func answered(t *testing.T, out chan outcome, text string) outcome {
	t.Helper()
	got := <-out
	require.NoError(t, got.err)
	require.Equal(t, text, string(got.answer.Message.Body))
	return got
}

func TestAStartedCallHasTheOutcomeOfAnAsk(t *testing.T) {
	// A reply, a refusal, what is refused before it is sent, and a deadline come to
	// who does not wait as they do to who does.
	inBubble(t, func(t *testing.T, w *world, caller, host *fakeNode) {
		w.member(host, 1, "geo", echo, patterns.Limits{})
		w.member(host, 2, "no", refuses(100, "no such zone"), patterns.Limits{})
		w.member(host, 3, "slow", takes("late", time.Minute), patterns.Limits{})
		out, _ := start(caller, request.Ask{Cluster: "geo", Message: body("x")})
		got := answered(t, out, "x")
		require.Equal(t, cluster.MemberID(1), got.answer.Member.ID)
		require.Equal(t, 1, got.answer.Attempts)
		require.Equal(t, 2*time.Millisecond, got.after)

		out, _ = start(caller, request.Ask{Cluster: "no"})
		require.Equal(t, &patterns.RemoteError{Cluster: "no", Code: 100, Message: "no such zone"}, (<-out).err)
		out, _ = start(caller, request.Ask{Cluster: ""})
		require.ErrorIs(t, (<-out).err, cluster.ErrName)
		out, _ = start(caller, request.Ask{Cluster: "geo", Message: patterns.Message{Body: make([]byte, request.MaxMessage+1)}})
		require.ErrorIs(t, (<-out).err, patterns.ErrTooLarge)

		out, _ = start(caller, request.Ask{Cluster: "slow"})
		got = <-out
		require.Equal(t, &patterns.DeadlineError{Cause: context.DeadlineExceeded, MaybeRan: true}, got.err)
		require.Equal(t, request.DefaultTimeout, got.after)
		out, _ = start(caller, request.Ask{Cluster: "slow", Deadline: time.Now().Add(time.Second)})
		require.Equal(t, time.Second, (<-out).after)
	})
}

// refuses is a handler that returns a remote error.
func refuses(code patterns.Code, text string) patterns.Handler {
	return patterns.HandlerFunc(func(context.Context, *patterns.Request) (patterns.Message, error) {
		return patterns.Message{}, &patterns.RemoteError{Code: code, Message: text}
	})
}

func TestAStartedCallCanBeCancelled(t *testing.T) {
	// Cancelling ends it once, tells the member, and is nothing when there is an
	// outcome already.
	inBubble(t, func(t *testing.T, w *world, caller, host *fakeNode) {
		w.member(host, 1, "geo", stuck, patterns.Limits{})
		out, cancel := start(caller, request.Ask{Cluster: "geo", Message: body("x")})
		time.Sleep(10 * time.Millisecond)
		cancel()
		cancel()
		require.Equal(t, &patterns.DeadlineError{Cause: context.Canceled, MaybeRan: true}, (<-out).err)
		time.Sleep(10 * time.Millisecond)
		w.set(caller, host, func(l *fakeLink) { require.Equal(t, []wire.Kind{wire.KindRequest, wire.KindCancel}, l.sent) })
		require.Empty(t, out)
		require.Zero(t, host.engine.Status()[0].Running)

		w.member(host, 2, "echo", echo, patterns.Limits{})
		out, cancel = start(caller, request.Ask{Cluster: "echo"})
		require.NoError(t, (<-out).err)
		cancel()
		time.Sleep(10 * time.Millisecond)
		require.Empty(t, out)
	})
}

func TestAStartedCallWaitsForAViewOnAWorker(t *testing.T) {
	// Who starts a call goes on at once although nobody knows the members yet;
	// cancelling ends the wait, and so does an answer that there is nobody. Without a
	// free worker the call is refused.
	inBubble(t, func(t *testing.T, w *world, caller, host *fakeNode) {
		w.unknown = true
		began := time.Now()
		out, _ := start(caller, request.Ask{Cluster: "geo", Message: body("x")})
		none, cancel := start(caller, request.Ask{Cluster: "none"})
		require.Zero(t, time.Since(began))
		time.Sleep(100 * time.Millisecond)
		w.member(host, 1, "geo", echo, patterns.Limits{})
		require.NoError(t, (<-out).err)
		cancel()
		require.Equal(t, &patterns.DeadlineError{Cause: context.Canceled}, (<-none).err)
		none, _ = start(caller, request.Ask{Cluster: "none"})
		got := <-none
		require.ErrorIs(t, got.err, patterns.ErrUnreachable)
		require.Equal(t, 2*time.Second, got.after)
		w.mu.Lock()
		w.unknown = false
		w.mu.Unlock()
		none, _ = start(caller, request.Ask{Cluster: "none"})
		require.ErrorIs(t, (<-none).err, patterns.ErrNoMembers)

		busy := w.node("busy", func(c *request.Config) { c.Exec = overlay.NewWorkers(0) })
		none, _ = start(busy, request.Ask{Cluster: "none"})
		require.ErrorIs(t, (<-none).err, patterns.ErrOverloaded)
	})
}

func TestATailTravelsAsItIs(t *testing.T) {
	// Whoever passes messages on gives and gets encoded headers and bodies, also
	// where they are sealed, and in a survey.
	for name, seal := range map[string]request.Seal{"open": request.SealAuto, "sealed": request.SealAlways} {
		t.Run(name, func(t *testing.T) {
			inWorldWith(t, seal, func(t *testing.T, w *world, caller, host *fakeNode) {
				headers := []wire.Header{{Key: "k", Value: "v"}}
				raw := wire.AppendTail(nil, headers, []byte("body"))
				w.member(host, 1, "geo", echo, patterns.Limits{})
				a, err := caller.engine.Ask(t.Context(), request.Ask{Cluster: "geo", Tail: raw})
				require.NoError(t, err)
				require.Equal(t, raw, a.Tail)
				require.Empty(t, a.Message)
				tally, err := caller.engine.AskAll(t.Context(), request.All{Cluster: "geo", Pattern: patterns.PatternSurvey, Tail: raw}, func(_ *cluster.Member, a request.Answer, err error) (bool, error) {
					require.NoError(t, err)
					require.Equal(t, raw, a.Tail)
					return true, nil
				})
				require.NoError(t, err)
				require.True(t, tally.Complete)
				_, err = caller.engine.Ask(t.Context(), request.Ask{Cluster: "geo", Tail: wire.AppendTail(nil, nil, make([]byte, request.MaxMessage+1))})
				require.ErrorIs(t, err, patterns.ErrTooLarge)
			})
		})
	}
}

// inWorldWith is inBubble with nodes that seal as they are told.
func inWorldWith(t *testing.T, seal request.Seal, f func(t *testing.T, w *world, caller, host *fakeNode)) {
	t.Helper()
	change := func(c *request.Config) { c.Seal = seal }
	inBubbleOf(t, change, change, f)
}

func TestAStartedCallMayBeOverAtOnce(t *testing.T) {
	// The deadline of a call may end it before Start returns, whether members are
	// known or not: each has one outcome, and none gets another's.
	inBubble(t, func(t *testing.T, w *world, caller, host *fakeNode) {
		w.member(host, 1, "geo", echo, patterns.Limits{})
		for _, to := range []string{"geo", "nobody"} {
			const calls = 500
			outcomes := make(chan error, 2*calls)
			for range calls {
				ask := request.Ask{Cluster: to, Deadline: time.Now().Add(-time.Millisecond)}
				caller.engine.Start(ask, func(_ request.Answer, err error) { outcomes <- err })
			}
			for range calls {
				require.Error(t, <-outcomes, to)
			}
			time.Sleep(time.Second)
			require.Empty(t, outcomes, to)
		}
	})
}
