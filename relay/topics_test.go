// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package relay_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/internal/wire/session"
	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/relay"
	"github.com/arke-mesh/arke/relay/internal/failure"
	"github.com/arke-mesh/arke/relay/internal/fake"
)

// publish has the node itself publish so many messages, whose bodies count.
func publish(t testing.TB, n *fake.Node, topic string, first, count int) {
	t.Helper()
	for i := range count {
		require.NoError(t, n.Publish(t.Context(), topic, patterns.Message{Body: fmt.Append(nil, first+i)}))
	}
}

func (b *binding) subscribe(f *session.Subscribe) *session.Subscribed {
	b.t.Helper()
	b.send(f)
	return expect[*session.Subscribed](b)
}

// expectRun expects messages first to last of a subscription, with their
// bodies, under these numbers plus shift.
func (b *binding) expectRun(id uint64, first, last, shift int) {
	b.t.Helper()
	for i := first; i <= last; i++ {
		p := expect[*session.Publication](b)
		require.Equal(b.t, id, p.Subscription)
		require.Equal(b.t, fmt.Sprint(i), string(p.Body))
		require.Equal(b.t, uint64(i+shift), p.Number)
	}
}

// This test follows a subscription: nothing before it is acknowledged, numbers
// without a hole, gaps among them, and nothing behind its end.
func TestASubscriptionGetsWhatMatches(t *testing.T) {
	_, n, cfg := start(t, nil)
	b := attach(t, cfg.Socket)
	require.Equal(t, &session.Subscribed{ID: 1}, b.subscribe(&session.Subscribe{ID: 1, Pattern: "a.*"}))
	publish(t, n, "b.c", 1, 1)
	publish(t, n, "a.b", 1, 3)
	b.expectRun(1, 1, 3, 0)
	n.Tell("a.*", patterns.Gap{From: "peer", Missed: 4, Reason: patterns.GapLane})
	require.Equal(t, &session.Gap{Subscription: 1, Number: 7, Missed: 4, Reason: session.GapLane, From: "peer"}, expect[*session.Gap](b))
	publish(t, n, "a.b", 4, 1)
	b.expectRun(1, 4, 4, 4)
	b.send(&session.Unsubscribe{ID: 1})
	require.Zero(t, expect[*session.Unsubscribed](b).Failure)
	require.Empty(t, n.Subscriptions())
	publish(t, n, "a.b", 5, 1)
	b.send(&session.Unsubscribe{ID: 1}, &session.Ping{})
	require.Equal(t, uint64(1), expect[*session.Unsubscribed](b).ID, "it is gone, which is what is wanted")
	expect[*session.Pong](b)

	b.send(&session.Subscribe{ID: 1, Pattern: "a..b"})
	require.Equal(t, session.OutcomeTopic, expect[*session.SubscribeFailed](b).Outcome)
	n.SubscribeError = func(string) error { return patterns.ErrTooMany }
	b.send(&session.Subscribe{ID: 1, Pattern: "a.b"})
	require.ErrorIs(t, failure.Error(expect[*session.SubscribeFailed](b).Failure, ""), patterns.ErrTooMany)
}

// This test checks that an echo can be left out for one client, not for others.
func TestNoEchoIsOfOneClient(t *testing.T) {
	_, _, cfg := start(t, nil)
	a, b := attach(t, cfg.Socket), attach(t, cfg.Socket)
	a.subscribe(&session.Subscribe{ID: 1, NoEcho: true, Pattern: "x"})
	a.send(&session.Publish{ID: 1, Topic: "x", Body: []byte("mine")})
	a.awaitPublished(1)
	b.send(&session.Publish{ID: 1, Topic: "x", Body: []byte("theirs")})
	b.awaitPublished(1)
	require.Equal(t, "theirs", string(expect[*session.Publication](a).Body))
}

// This test goes one beyond the limit of subscriptions, sees the named error
// and the counter, and that the place is there again afterwards.
func TestOneSubscriptionTooManyIsTheNamedError(t *testing.T) {
	r, _, cfg := start(t, func(cfg *relay.Config) { cfg.Limits.Subscriptions = 2 })
	b := attach(t, cfg.Socket)
	require.Equal(t, uint32(2), b.welcome.Limits.Subscriptions)
	b.subscribe(&session.Subscribe{ID: 1, Pattern: "a"})
	b.subscribe(&session.Subscribe{ID: 2, Pattern: "a"})
	b.send(&session.Subscribe{ID: 3, Pattern: "a"})
	err := failure.Error(expect[*session.SubscribeFailed](b).Failure, "")
	require.ErrorIs(t, err, relay.ErrTooManySubscriptions)
	require.ErrorIs(t, err, patterns.ErrTooMany)
	require.Equal(t, uint64(1), r.Status().Drops["subscription.too_many"])
	require.Equal(t, 2, r.Status().Clients[0].Subscriptions)
	b.send(&session.Unsubscribe{ID: 2})
	expect[*session.Unsubscribed](b)
	b.subscribe(&session.Subscribe{ID: 3, Pattern: "a"})

	b.send(&session.Subscribe{ID: 3, Pattern: "a"})
	require.Equal(t, session.ReasonProtocol, expect[*session.Error](b).Reason)
}

// This test checks that a client which takes nothing fills its own subscription
// only: the window, then the queue, by its policy; and that it goes on, with a
// gap of the right size, when it takes something.
func TestASubscriptionThatIsNotTakenFillsItselfOnly(t *testing.T) {
	r, n, cfg := start(t, nil)
	b := attach(t, cfg.Socket)
	b.subscribe(&session.Subscribe{ID: 1, QueueLength: 3, WindowLength: 4, Pattern: "a"})
	b.subscribe(&session.Subscribe{ID: 2, Pattern: "b"})
	publish(t, n, "a", 1, 4)
	b.expectRun(1, 1, 4, 0)
	publish(t, n, "a", 5, 16)
	eventually(t, func() bool { return r.Status().Drops["publication.slow_client"] == 13 }, "nothing is dropped")
	publish(t, n, "b", 1, 3)
	b.expectRun(2, 1, 3, 0)
	b.send(&session.Taken{Subscription: 1, Number: 4})
	require.Equal(t, &session.Gap{Subscription: 1, Number: 17, Missed: 13, Exact: true, Reason: session.GapSlow, From: "peer"}, expect[*session.Gap](b))
	b.expectRun(1, 18, 20, 0)
	b.send(&session.Taken{Subscription: 1, Number: 99})
	require.Contains(t, expect[*session.Error](b).Text, "99")
}

// This test checks that all subscriptions of a client together hold no more than
// its limit and a message each, are told, and that this is counted; and that
// there is room again when the client has read.
func TestSubscriptionsOfAClientShareALimit(t *testing.T) {
	const limit, subs, size, count = 1 << 20, 20, 10 << 10, 50
	r, n, cfg := start(t, func(cfg *relay.Config) { cfg.Limits.PublicationBytes = limit })
	b := attach(t, cfg.Socket)
	for id := range uint64(subs) {
		b.subscribe(&session.Subscribe{ID: id, WindowLength: 1, Pattern: "a"})
	}
	body := make([]byte, size)
	for range count {
		require.NoError(t, n.Publish(t.Context(), "a", patterns.Message{Body: body}))
	}
	eventually(t, func() bool { return r.Status().Drops["publication.too_many_bytes"] > 0 }, "no limit")
	held := r.Status().Clients[0].PublicationBytes
	require.LessOrEqual(t, held, limit+subs*(size+10))
	last := map[uint64]uint64{}
	seen, gaps := 0, uint64(0)
	for done := 0; done < subs; {
		switch f := b.next().(type) {
		case *session.Publication:
			require.Equal(t, last[f.Subscription]+1, f.Number)
			last[f.Subscription] = f.Number
			seen++
			b.send(&session.Taken{Subscription: f.Subscription, Number: f.Number})
			if f.Number == count {
				done++
			}
		case *session.Gap:
			require.Equal(t, session.GapRelay, f.Reason)
			last[f.Subscription] += f.Missed
			require.Equal(t, last[f.Subscription], f.Number)
			gaps += f.Missed
			if f.Number == count {
				done++
			}
		}
	}
	require.Equal(t, uint64(subs*count), uint64(seen)+gaps)
	require.Equal(t, r.Status().Drops["publication.too_many_bytes"], gaps)
	eventually(t, func() bool { return r.Status().Clients[0].PublicationBytes == 0 }, "bytes stay")
}

// This test checks that a client which does not read at all keeps neither
// publishers nor other clients waiting, holds no more than its limits, and gets
// its gap.
func TestAClientThatDoesNotReadHurtsNobody(t *testing.T) {
	_, n, cfg := start(t, func(cfg *relay.Config) { cfg.Limits.Stall = time.Minute })
	slow, fast := attach(t, cfg.Socket), attach(t, cfg.Socket)
	slow.subscribe(&session.Subscribe{ID: 1, QueueLength: 10, WindowLength: 100, WindowBytes: 1 << 30, Pattern: "a"})
	fast.subscribe(&session.Subscribe{ID: 1, Pattern: "a"})
	const count = 300
	body := make([]byte, 16<<10)
	for i := range count {
		require.NoError(t, n.Publish(t.Context(), "a", patterns.Message{Body: body}))
		p := expect[*session.Publication](fast)
		require.Equal(t, uint64(i+1), p.Number)
		fast.send(&session.Taken{Subscription: 1, Number: p.Number})
	}
	var seen, missed, number uint64
	for number < count {
		switch f := slow.next().(type) {
		case *session.Publication:
			seen++
			number = f.Number
			slow.send(&session.Taken{Subscription: 1, Number: number})
		case *session.Gap:
			missed += f.Missed
			number = f.Number
		}
	}
	require.Positive(t, missed)
	require.Equal(t, uint64(count), seen+missed)
}

// This test checks that a full subscription that blocks has the publisher wait,
// and nobody any more when its client is gone.
func TestASubscriptionThatBlocksHasPublishersWait(t *testing.T) {
	_, n, cfg := start(t, nil)
	b := attach(t, cfg.Socket)
	b.subscribe(&session.Subscribe{ID: 1, Overflow: 2, QueueLength: 2, WindowLength: 2, Pattern: "a"})
	// The queue, one on its way from it, one that waits for the window, the window.
	const room = 2 + 1 + 1 + 2
	sent := 0
	eventually(t, func() bool {
		for sent < room && n.TryPublish("a", patterns.Message{Body: fmt.Append(nil, sent+1)}) == nil {
			sent++
		}
		return sent == room
	}, "there is less room")
	require.ErrorIs(t, n.TryPublish("a", patterns.Message{}), patterns.ErrWouldBlock)
	b.expectRun(1, 1, 2, 0)
	b.send(&session.Taken{Subscription: 1, Number: 2})
	b.expectRun(1, 3, 4, 0)
	waits := make(chan error, 1)
	go func() { waits <- fill(n) }()
	b.conn.Close()
	require.NoError(t, <-waits)
}

// fill publishes more than fits anywhere.
func fill(n *fake.Node) error {
	for range 100 {
		if err := n.Publish(context.Background(), "a", patterns.Message{}); err != nil {
			return err
		}
	}
	return nil
}

// resume attaches as the client that had the session of b.
func (b *binding) resume(socket string) *binding {
	b.t.Helper()
	again := dial(b.t, "unix", socket)
	h := hello()
	h.Resume = b.welcome.Session
	again.send(h)
	again.welcome = expect[*session.Welcome](again)
	return again
}

// This test checks that a client whose connection broke is told exactly what it
// missed: what was on the way to it, what waited, and what came while it was
// away; and that what follows comes without a hole.
func TestWhatABrokenSessionMissedIsCounted(t *testing.T) {
	_, n, cfg := start(t, nil)
	b := attach(t, cfg.Socket)
	b.subscribe(&session.Subscribe{ID: 7, WindowLength: 5, Pattern: "a"})
	publish(t, n, "a", 1, 9)
	b.expectRun(7, 1, 3, 0) // of the five that are on the way
	b.conn.Close()
	eventually(t, func() bool { return n.TryPublish("x", patterns.Message{}) == nil }, "")
	again := b.resume(cfg.Socket)
	publish(t, n, "a", 10, 2)
	require.Equal(t, []string{"a"}, n.Subscriptions(), "it stayed")
	got := again.subscribe(&session.Subscribe{ID: 7, Resumed: true, Number: 3, WindowLength: 5, Pattern: "a"})
	require.Equal(t, &session.Subscribed{ID: 7, Continued: true, Number: 3}, got)
	gap := expect[*session.Gap](again)
	require.GreaterOrEqual(t, gap.Number, uint64(9), "what was published before it broke is gone")
	require.Equal(t, &session.Gap{Subscription: 7, Number: gap.Number, Missed: gap.Number - 3, Exact: true, Reason: session.GapRelay}, gap)
	// Those of the last two that the subscription has not been given yet may
	// come still; every one of them is told or delivered.
	again.expectRun(7, int(gap.Number)+1, 11, 0)
	publish(t, n, "a", 12, 2)
	again.expectRun(7, 12, 13, 0)
	require.Equal(t, []string{"a"}, n.Subscriptions())

	// Once more, having missed nothing; then with another pattern, which is
	// another subscription.
	again.conn.Close()
	third := again.resume(cfg.Socket)
	got = third.subscribe(&session.Subscribe{ID: 7, Resumed: true, Number: 13, Pattern: "a"})
	require.Equal(t, &session.Subscribed{ID: 7, Continued: true, Number: 13}, got)
	publish(t, n, "a", 14, 1)
	third.expectRun(7, 14, 14, 0)
	third.conn.Close()
	fourth := third.resume(cfg.Socket)
	got = fourth.subscribe(&session.Subscribe{ID: 7, Resumed: true, Number: 14, Pattern: "b"})
	require.Equal(t, &session.Subscribed{ID: 7, Number: 15}, got)
	require.Equal(t, &session.Gap{Subscription: 7, Number: 15, Reason: session.GapRelay}, expect[*session.Gap](fourth))
}

// This test checks that a member of a queue that is away takes nothing from the
// others, and still learns what went down with its session.
func TestWhoIsAwayTakesNothingFromItsQueue(t *testing.T) {
	_, n, cfg := start(t, nil)
	b := attach(t, cfg.Socket)
	b.subscribe(&session.Subscribe{ID: 1, Queue: "q", Pattern: "a"})
	publish(t, n, "a", 1, 3)
	b.expectRun(1, 1, 1, 0)
	b.conn.Close()
	eventually(t, func() bool { return len(n.Subscriptions()) == 0 }, "it stays")
	again := b.resume(cfg.Socket)
	got := again.subscribe(&session.Subscribe{ID: 1, Resumed: true, Number: 1, Queue: "q", Pattern: "a"})
	require.True(t, got.Continued)
	require.Equal(t, uint64(2), expect[*session.Gap](again).Missed)
	publish(t, n, "a", 4, 1)
	again.expectRun(1, 4, 4, 0)
}

// This test checks that nothing is kept of more broken sessions than clients
// may attach, and that a relay that closes keeps nothing.
func TestBrokenSessionsAreKeptWithinTheLimit(t *testing.T) {
	r, n, cfg := start(t, func(cfg *relay.Config) { cfg.Limits.Clients = 2 })
	for range 3 {
		b := attach(t, cfg.Socket)
		b.subscribe(&session.Subscribe{ID: 1, Pattern: "a"})
		b.conn.Close()
		eventually(t, func() bool { return len(r.Status().Clients) == 0 }, "the session stays")
	}
	require.Equal(t, uint64(1), r.Status().Drops["session.not_kept"])
	require.Len(t, n.Subscriptions(), 2)
	require.NoError(t, r.Close())
	require.Empty(t, n.Subscriptions())
}

// This test checks that a drain sends what waits before Goodbye, and a gap to
// who does not take it.
func TestADrainSendsWhatWaits(t *testing.T) {
	r, n, cfg := start(t, nil)
	good, slow := attach(t, cfg.Socket), attach(t, cfg.Socket)
	good.subscribe(&session.Subscribe{ID: 1, WindowLength: 2, Pattern: "a"})
	slow.subscribe(&session.Subscribe{ID: 1, WindowLength: 2, Pattern: "a"})
	publish(t, n, "a", 1, 5)
	good.expectRun(1, 1, 2, 0)
	slow.expectRun(1, 1, 2, 0)
	ended := make(chan error, 1)
	go func() { ended <- r.Shutdown(context.Background()) }()
	expect[*session.Drain](good)
	good.send(&session.Subscribe{ID: 2, Pattern: "a"})
	require.Equal(t, session.OutcomeDraining, expect[*session.SubscribeFailed](good).Outcome)
	good.send(&session.Taken{Subscription: 1, Number: 2})
	good.expectRun(1, 3, 4, 0)
	good.send(&session.Taken{Subscription: 1, Number: 4})
	good.expectRun(1, 5, 5, 0)
	expect[*session.Goodbye](good)
	good.conn.Close()
	expect[*session.Drain](slow)
	require.Equal(t, &session.Gap{Subscription: 1, Number: 5, Missed: 3, Exact: true, Reason: session.GapRelay}, expect[*session.Gap](slow))
	expect[*session.Goodbye](slow)
	slow.conn.Close()
	require.NoError(t, <-ended)
	require.Empty(t, n.Subscriptions())
}

// This test checks that of one client's subscriptions that block no more than
// 64 have the node wait, since each holds a worker: the others drop, are
// counted, and are told.
func TestOnlySoManySubscriptionsMayBlock(t *testing.T) {
	r, n, cfg := start(t, nil)
	b := attach(t, cfg.Socket)
	const count = 66
	for id := range uint64(count) {
		b.subscribe(&session.Subscribe{ID: id, Overflow: 2, QueueLength: 1, WindowLength: 1, Pattern: "a"})
	}
	publish(t, n, "a", 1, 3)
	eventually(t, func() bool { return r.Status().Drops["publication.slow_client"] == count-64 }, "all wait")
	for range count {
		require.Equal(t, uint64(1), expect[*session.Publication](b).Number)
	}
	b.conn.Close()
	eventually(t, func() bool { return len(r.Status().Clients) == 0 }, "the session stays")
	publish(t, n, "a", 4, 10)
}
