// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package request_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/cluster"
	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/overlay"
	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/patterns/request"
)

// heard is one outcome that AskAll reported.
type heard struct {
	member cluster.MemberID
	body   string
	err    error
	at     time.Duration
}

// survey asks everybody, and returns what was heard, in its order.
func survey(n *fakeNode, ctx context.Context, all request.All) (out []heard, t request.Tally, err error) {
	all.Cluster, all.Pattern = "geo", patterns.PatternSurvey
	begin := time.Now()
	t, err = n.engine.AskAll(ctx, all, func(m *cluster.Member, a request.Answer, err error) (bool, error) {
		out = append(out, heard{m.ID, string(a.Message.Body), err, time.Since(begin)})
		return err == nil, nil
	})
	return out, t, err
}

// hosts adds so many nodes with a member each, ids from 1, and links to them.
func (w *world) hosts(caller *fakeNode, count int, h func(i int) patterns.Handler) []*fakeNode {
	var out []*fakeNode
	for i := range count {
		n := w.node(fmt.Sprintf("host %02d", i+1), nil)
		w.connect(caller, n)
		w.member(n, cluster.MemberID(i+1), "geo", h(i+1), patterns.Limits{})
		out = append(out, n)
	}
	return out
}

func within(t *testing.T, d time.Duration) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), d)
	t.Cleanup(cancel)
	return ctx
}

func id(n int) string { return cluster.MemberID(n).String() }

func TestRepliesComeAsTheyAreGiven(t *testing.T) {
	// This test asks five members of different speed: each outcome is reported
	// when it is there, and who is late is missing at the deadline.
	inBubble(t, func(t *testing.T, w *world, caller, _ *fakeNode) {
		w.hosts(caller, 5, func(i int) patterns.Handler {
			switch i {
			case 4:
				return failing(&patterns.RemoteError{Code: 100, Message: "no"})
			case 5:
				return stuck
			}
			return takes(fmt.Sprint(i), time.Duration(40-10*i)*time.Millisecond)
		})
		out, tally, err := survey(caller, within(t, time.Second), request.All{})
		require.NoError(t, err)
		late := &patterns.DeadlineError{Cause: context.DeadlineExceeded, MaybeRan: true}
		no := &patterns.RemoteError{Cluster: "geo", Code: 100, Message: "no"}
		require.Equal(t, []heard{
			{4, "", no, 2 * time.Millisecond},
			{3, "3", nil, 12 * time.Millisecond},
			{2, "2", nil, 22 * time.Millisecond},
			{1, "1", nil, 32 * time.Millisecond},
			{5, "", late, time.Second},
		}, out)
		require.Equal(t, request.Tally{Missing: []patterns.Missing{
			{Member: id(4), Peer: "", Err: no}, {Member: id(5), Peer: "", Err: late},
		}, Members: 3, Nodes: 3}, withoutPeers(tally))
	})
}

func withoutPeers(t request.Tally) request.Tally {
	for i := range t.Missing {
		t.Missing[i].Peer = ""
	}
	return t
}

func TestNobodyMayBeMissingInWhatIsComplete(t *testing.T) {
	// This test checks that the result is complete only if the list was whole,
	// for which it waits a moment, and if everybody answered.
	inBubble(t, func(t *testing.T, w *world, caller, _ *fakeNode) {
		w.hosts(caller, 3, func(int) patterns.Handler { return echo })
		_, tally, err := survey(caller, t.Context(), request.All{})
		require.NoError(t, err)
		require.Equal(t, request.Tally{Complete: true, Members: 3, Nodes: 3}, tally)

		w.partial = true
		begin := time.Now()
		out, tally, err := survey(caller, t.Context(), request.All{})
		require.NoError(t, err)
		require.Len(t, out, 3)
		require.Equal(t, request.Tally{Members: 3, Nodes: 3}, tally, "nobody is known to be missing, but somebody may be")
		require.GreaterOrEqual(t, time.Since(begin), 500*time.Millisecond)
	})
}

func TestNobodyIsAskedMoreThanAllowed(t *testing.T) {
	// This test goes one over both bounds of a survey: who is beyond them is
	// missing as too large, also while nobody looks at what has come.
	inBubble(t, func(t *testing.T, w *world, caller, _ *fakeNode) {
		hosts := w.hosts(caller, 4, func(int) patterns.Handler { return echo })
		out, tally, err := survey(caller, t.Context(), request.All{MaxMembers: 3})
		require.NoError(t, err)
		require.Len(t, out, 3)
		require.Equal(t, request.Tally{Missing: []patterns.Missing{{Member: id(4), Err: patterns.ErrTooLarge}}, Members: 3, Nodes: 3}, withoutPeers(tally))
		require.Empty(t, caller.link(hosts[3].id).sent)
		require.EqualValues(t, 1, caller.engine.Drops()["survey_members"])

		ten := patterns.Message{Body: make([]byte, 10)}
		_, tally, err = survey(caller, t.Context(), request.All{Message: ten, MaxBytes: 40})
		require.NoError(t, err)
		require.True(t, tally.Complete)
		out, tally, err = survey(caller, t.Context(), request.All{Message: ten, MaxBytes: 39})
		require.NoError(t, err)
		require.Len(t, out, 4)
		require.Len(t, tally.Missing, 1)
		require.Equal(t, patterns.ErrTooLarge, tally.Missing[0].Err)
		require.EqualValues(t, 1, caller.engine.Drops()["reply_large"])

		// Without a look at them: what is beyond the bound is let go at once.
		heard := 0
		tally, err = caller.engine.AskAll(t.Context(), request.All{Cluster: "geo", Message: ten, MaxBytes: 25},
			func(_ *cluster.Member, _ request.Answer, err error) (bool, error) {
				if heard++; heard == 1 {
					time.Sleep(time.Second)
					require.EqualValues(t, 3, caller.engine.Drops()["reply_large"])
				}
				return err == nil, nil
			})
		require.NoError(t, err)
		require.Len(t, tally.Missing, 2)
	})
}

func TestWhatIsTooLargeForAMemberIsNotSent(t *testing.T) {
	// This test asks two members of which one takes less than is sent; then
	// nobody takes it, which is an error.
	inBubble(t, func(t *testing.T, w *world, caller, host *fakeNode) {
		w.member(host, 1, "geo", echo, patterns.Limits{MessageBytes: 10})
		w.member(host, 2, "geo", echo, patterns.Limits{MessageBytes: 100})
		all := request.All{Message: patterns.Message{Body: make([]byte, 11)}}
		_, tally, err := survey(caller, t.Context(), all)
		require.NoError(t, err)
		require.Equal(t, []patterns.Missing{{Member: id(1), Err: patterns.ErrTooLarge}}, withoutPeers(tally).Missing)
		all.Message.Body = make([]byte, 101)
		_, _, err = survey(caller, t.Context(), all)
		require.Equal(t, patterns.ErrTooLarge, err)
	})
}

func TestIfNobodyIsAskedThereIsAnError(t *testing.T) {
	// This test checks the errors that AskAll has in common with Ask.
	inBubble(t, func(t *testing.T, w *world, caller, host *fakeNode) {
		_, _, err := survey(caller, t.Context(), request.All{})
		require.Equal(t, patterns.ErrNoMembers, err)
		w.unknown = true
		_, _, err = survey(caller, t.Context(), request.All{})
		require.Equal(t, patterns.ErrUnreachable, err)
		w.unknown = false
		_, _, err = survey(caller, t.Context(), request.All{Message: patterns.Message{Body: make([]byte, request.MaxMessage+1)}})
		require.Equal(t, patterns.ErrTooLarge, err)
		_, err = caller.engine.AskAll(t.Context(), request.All{}, nil)
		require.ErrorIs(t, err, cluster.ErrName)
		over, cancel := context.WithCancel(t.Context())
		cancel()
		_, _, err = survey(caller, over, request.All{})
		require.Equal(t, &patterns.DeadlineError{Cause: context.Canceled}, err)
		caller.stop()
		_, _, err = survey(caller, t.Context(), request.All{})
		require.Equal(t, patterns.ErrClosed, err)
	})
}

func TestAnErrorOfEachEndsIt(t *testing.T) {
	// This test ends a survey at the first reply: the others are told that
	// nobody waits.
	inBubble(t, func(t *testing.T, w *world, caller, _ *fakeNode) {
		var ended atomic.Int64
		w.hosts(caller, 4, func(i int) patterns.Handler {
			if i == 2 {
				return echo
			}
			return patterns.HandlerFunc(func(ctx context.Context, _ *patterns.Request) (patterns.Message, error) {
				<-ctx.Done()
				ended.Add(1)
				return patterns.Message{}, ctx.Err()
			})
		})
		enough := errors.New("enough")
		begin := time.Now()
		tally, err := caller.engine.AskAll(t.Context(), request.All{Cluster: "geo"},
			func(*cluster.Member, request.Answer, error) (bool, error) { return true, enough })
		require.Equal(t, enough, err)
		require.False(t, tally.Complete)
		require.Equal(t, 2*w.latency, time.Since(begin))
		time.Sleep(2 * w.latency)
		synctest.Wait()
		require.EqualValues(t, 3, ended.Load())
		require.Zero(t, caller.engine.Calls().Pending)
	})
}

func TestAPanicOfEachLeavesNothingBehind(t *testing.T) {
	// This test checks that a caller that survives its own panic has nobody
	// work for it, and that the books are closed.
	inBubble(t, func(t *testing.T, w *world, caller, _ *fakeNode) {
		w.hosts(caller, 3, func(i int) patterns.Handler {
			if i == 1 {
				return echo
			}
			return stuck
		})
		require.Panics(t, func() {
			_, _ = caller.engine.AskAll(t.Context(), request.All{Cluster: "geo"},
				func(*cluster.Member, request.Answer, error) (bool, error) { panic("each") })
		})
		time.Sleep(2 * w.latency)
		require.Zero(t, caller.engine.Calls().Pending)
		for _, n := range w.nodes {
			for _, s := range n.engine.Status() {
				require.Zero(t, s.Running)
			}
		}
	})
}

func TestOnlyTheNamedMemberIsAsked(t *testing.T) {
	// This test asks a member by itself, beside others: its refusal is the
	// outcome.
	inBubble(t, func(t *testing.T, w *world, caller, host *fakeNode) {
		w.member(host, 1, "geo", echo, patterns.Limits{})
		w.member(host, 2, "geo", failing(&patterns.Refusal{Cause: patterns.ErrOverloaded}), patterns.Limits{})
		ask := func(to int) (request.Answer, error) {
			return caller.engine.Ask(t.Context(), request.Ask{Cluster: "geo", Message: body("x"), To: w.members["geo"][to]})
		}
		_, err := ask(1)
		require.Equal(t, patterns.ErrOverloaded, err)
		a, err := ask(0)
		require.NoError(t, err)
		require.Equal(t, cluster.MemberID(1), a.Member.ID)
		require.Equal(t, 1, a.Attempts)
		require.NotZero(t, a.Session)
	})
}

func TestASurveyWithoutADeadlineHasTheDefault(t *testing.T) {
	// This test checks that a member that never answers holds a survey up for
	// five seconds.
	inBubble(t, func(t *testing.T, w *world, caller, host *fakeNode) {
		w.member(host, 1, "geo", stuck, patterns.Limits{})
		begin := time.Now()
		_, tally, err := survey(caller, t.Context(), request.All{})
		require.NoError(t, err)
		require.Len(t, tally.Missing, 1)
		require.Equal(t, request.DefaultTimeout, time.Since(begin))
	})
}

func TestBroadcastsOfOneCallerStayInOrder(t *testing.T) {
	// This test broadcasts messages small and large, one after the other, over
	// a link that is cut again and again: each member's queue has those that
	// it has in their order, and none twice.
	inBubble(t, func(t *testing.T, w *world, caller, _ *fakeNode) {
		var orders [3][]byte
		var hosts []*fakeNode
		for i := range orders {
			n := w.node(fmt.Sprint("host", i), nil)
			hosts = append(hosts, n)
			w.connect(caller, n)
			w.member(n, cluster.MemberID(i+1), "geo", taker(func(_ context.Context, r *patterns.Request) {
				orders[i] = append(orders[i], r.Body[0])
			}), patterns.Limits{Concurrency: 1})
		}
		w.wg.Go(func() {
			for range 20 {
				time.Sleep(3 * time.Millisecond)
				w.cut(caller, hosts[1])
			}
		})
		accepted := 0
		for i := range 50 {
			size := 1
			if i%7 == 0 {
				size = wire.MaxPayload + 1
			}
			m := patterns.Message{Body: make([]byte, size)}
			m.Body[0] = byte(i)
			_, err := caller.engine.AskAll(t.Context(), request.All{Cluster: "geo", Pattern: patterns.PatternBroadcast, Message: m},
				func(_ *cluster.Member, _ request.Answer, err error) (bool, error) {
					if err == nil {
						accepted++
					}
					return true, nil
				})
			require.NoError(t, err)
		}
		synctest.Wait()
		require.Len(t, orders[0], 50)
		require.Len(t, orders[2], 50)
		total := 0
		for _, order := range orders {
			for i := range order[1:] {
				require.Less(t, order[i], order[i+1])
			}
			total += len(order)
		}
		require.LessOrEqual(t, accepted, total, "nobody is counted who does not have it")
		require.Greater(t, accepted, 120)
		require.Contains(t, caller.link(hosts[0].id).lanes, overlay.LanePub)
		require.NotContains(t, caller.link(hosts[0].id).lanes, overlay.LaneRPC)
	})
}
