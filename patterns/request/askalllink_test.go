// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package request_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/cluster"
	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/patterns/request"
)

func TestLinksAreOpenedForASurvey(t *testing.T) {
	// This test asks members on nodes without a link: one is there, one comes
	// at the third dial, one never does, one hangs, and one leaves the list.
	inBubble(t, func(t *testing.T, w *world, caller, _ *fakeNode) {
		hosts := w.hosts(caller, 5, func(i int) patterns.Handler { return takes(fmt.Sprint(i), 0) })
		for i, h := range hosts {
			w.cut(caller, h)
			w.set(caller, h, func(l *fakeLink) { l.refuse, l.hang = i > 0 && i < 3 || i == 4, i == 3 })
		}
		w.later(50*time.Millisecond, func() {
			w.set(caller, hosts[1], func(l *fakeLink) { l.refuse = false })
			w.unlist("geo", 5)
		})
		out, tally, err := survey(caller, t.Context(), request.All{})
		require.NoError(t, err)
		require.Equal(t, heard{1, "1", nil, 4 * time.Millisecond}, out[0])
		require.Equal(t, cluster.MemberID(5), out[1].member, "it is gone, so nobody tries on")
		require.Less(t, out[1].at, 100*time.Millisecond)
		require.Equal(t, cluster.MemberID(2), out[2].member)
		require.Equal(t, "2", out[2].body)
		require.Less(t, out[2].at, 200*time.Millisecond)
		require.Len(t, tally.Missing, 3)
		for _, m := range tally.Missing {
			require.Equal(t, patterns.ErrUnreachable, m.Err, m.Member)
		}
		require.Less(t, out[4].at, 3100*time.Millisecond, "one that hangs: the time of a dial, and the patience for another")
	})
}

func TestALostLinkIsNotAskedAgain(t *testing.T) {
	// This test loses a link while its member works, and a survey that says
	// that repeating does no harm: it is interrupted, and runs once.
	inBubble(t, func(t *testing.T, w *world, caller, host *fakeNode) {
		var ran atomic.Int64
		w.member(host, 1, "geo", patterns.HandlerFunc(func(ctx context.Context, _ *patterns.Request) (patterns.Message, error) {
			ran.Add(1)
			<-ctx.Done()
			return patterns.Message{}, nil
		}), patterns.Limits{})
		w.later(10*time.Millisecond, func() {
			w.cut(caller, host)
			w.connect(caller, host)
		})
		to := w.members["geo"][0]
		a, err := caller.engine.Ask(t.Context(), request.Ask{
			Cluster: "geo", Message: body("x"), To: to, Options: patterns.RequestOptions{Idempotent: true},
		})
		require.Equal(t, patterns.ErrInterrupted, err)
		require.Equal(t, request.Answer{Attempts: 1}, a)
		require.EqualValues(t, 1, ran.Load())
		w.later(10*time.Millisecond, func() { w.cut(caller, host) })
		_, tally, err := survey(caller, t.Context(), request.All{})
		require.NoError(t, err)
		require.Equal(t, patterns.ErrInterrupted, tally.Missing[0].Err)
		require.EqualValues(t, 2, ran.Load())
	})
}

func TestAFullLaneIsWaitedFor(t *testing.T) {
	// This test has no room in the lane to one member for a while: it is asked
	// when there is some; and not at all if there is none in time.
	inBubble(t, func(t *testing.T, w *world, caller, _ *fakeNode) {
		hosts := w.hosts(caller, 2, func(i int) patterns.Handler { return takes(fmt.Sprint(i), 0) })
		w.set(caller, hosts[0], func(l *fakeLink) { l.full = true })
		w.later(300*time.Millisecond, func() { w.set(caller, hosts[0], func(l *fakeLink) { l.full = false }) })
		out, tally, err := survey(caller, t.Context(), request.All{})
		require.NoError(t, err)
		require.True(t, tally.Complete)
		require.Equal(t, cluster.MemberID(2), out[0].member)
		require.Equal(t, 300*time.Millisecond+2*w.latency, out[1].at, "at once when there is room")

		w.set(caller, hosts[0], func(l *fakeLink) { l.full = true })
		_, tally, err = survey(caller, within(t, 300*time.Millisecond), request.All{})
		require.NoError(t, err)
		require.Equal(t, []patterns.Missing{{Member: id(1), Err: &patterns.DeadlineError{Cause: context.DeadlineExceeded}}},
			withoutPeers(tally).Missing, "no handler ran")
	})
}

func TestClosingEndsASurvey(t *testing.T) {
	// This test closes the caller's node while members work and while one is
	// being dialled.
	inBubble(t, func(t *testing.T, w *world, caller, _ *fakeNode) {
		hosts := w.hosts(caller, 2, func(int) patterns.Handler { return stuck })
		w.cut(caller, hosts[1])
		w.set(caller, hosts[1], func(l *fakeLink) { l.hang = true })
		w.later(10*time.Millisecond, caller.stop)
		_, tally, err := survey(caller, t.Context(), request.All{})
		require.NoError(t, err)
		require.Equal(t, []patterns.Missing{
			{Member: id(1), Err: patterns.ErrInterrupted}, {Member: id(2), Err: patterns.ErrClosed},
		}, withoutPeers(tally).Missing)
	})
}
