// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package relay_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/internal/wire/session"
	"github.com/arke-mesh/arke/relay"
)

// away closes b's connection and waits until the relay knows.
func (b *binding) away(r *relay.Relay) *binding {
	b.t.Helper()
	b.conn.Close()
	eventually(b.t, func() bool { return len(r.Status().Clients) == 0 }, "the session stays")
	return b
}

// This test checks that what a client missed is still counted exactly if its
// next sessions break, too: before it has subscribed, or before it has read the
// answer.
func TestSessionsThatBreakInARowMissNothingUncounted(t *testing.T) {
	r, n, cfg := start(t, nil)
	b := attach(t, cfg.Socket)
	b.subscribe(&session.Subscribe{ID: 7, Pattern: "a"})
	b.subscribe(&session.Subscribe{ID: 8, Pattern: "b"})
	publish(t, n, "a", 1, 3)
	b.expectRun(7, 1, 3, 0)
	next := b.away(r)
	for range 3 { // without a Subscribe
		next = next.resume(cfg.Socket).away(r)
	}
	publish(t, n, "a", 4, 2)
	for range 3 { // without having read its answer
		next = next.resume(cfg.Socket)
		next.send(&session.Subscribe{ID: 7, Resumed: true, Number: 3, Pattern: "a"})
		expect[*session.Subscribed](next) // only so that the relay has certainly answered
		next.away(r)
	}
	require.ElementsMatch(t, []string{"a", "b"}, n.Subscriptions())
	last := next.resume(cfg.Socket)
	got := last.subscribe(&session.Subscribe{ID: 7, Resumed: true, Number: 3, Pattern: "a"})
	require.Equal(t, &session.Subscribed{ID: 7, Continued: true, Number: 3}, got)
	require.Equal(t, &session.Gap{Subscription: 7, Number: 5, Missed: 2, Exact: true, Reason: session.GapRelay}, expect[*session.Gap](last))
	got = last.subscribe(&session.Subscribe{ID: 8, Resumed: true, Pattern: "b"})
	require.Equal(t, &session.Subscribed{ID: 8, Continued: true}, got)
	publish(t, n, "a", 6, 1)
	last.expectRun(7, 6, 6, 0)
}

// This test checks that a client that was not told that nobody knows what it
// missed, because that session broke, too, is told by the next one; and that
// who was told gets an exact count.
func TestAnUnknownGapIsNotForgotten(t *testing.T) {
	for _, c := range []struct {
		name   string
		number uint64 // that the client has when it comes again
		want   *session.Gap
	}{
		{"it had no answer", 41, &session.Gap{Number: 45, Missed: 3, Reason: session.GapRelay}},
		{"it had the answer, and perhaps the gap", 42, &session.Gap{Number: 45, Missed: 3, Reason: session.GapRelay}},
		{"it had the first message", 43, &session.Gap{Number: 45, Missed: 2, Exact: true, Reason: session.GapRelay}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, n, cfg := start(t, nil)
			b := attach(t, cfg.Socket)
			got := b.subscribe(&session.Subscribe{ID: 7, Resumed: true, Number: 41, Pattern: "a"})
			require.Equal(t, &session.Subscribed{ID: 7, Number: 42}, got, "this relay knows nothing of it")
			require.Equal(t, &session.Gap{Subscription: 7, Number: 42, Reason: session.GapRelay}, expect[*session.Gap](b))
			publish(t, n, "a", 1, 3)
			b.expectRun(7, 1, 3, 42)
			again := b.away(r).resume(cfg.Socket)
			got = again.subscribe(&session.Subscribe{ID: 7, Resumed: true, Number: c.number, Pattern: "a"})
			require.Equal(t, &session.Subscribed{ID: 7, Continued: true, Number: max(c.number, 42)}, got)
			c.want.Subscription = 7
			require.Equal(t, c.want, expect[*session.Gap](again))
		})
	}
}

// This test checks that the same id with another pattern, in a later session,
// leaves nothing of the subscription before it at the node.
func TestASubscriptionWhoseIDIsUsedAgainEnds(t *testing.T) {
	r, n, cfg := start(t, nil)
	b := attach(t, cfg.Socket)
	b.subscribe(&session.Subscribe{ID: 7, Pattern: "a"})
	next := b.away(r).resume(cfg.Socket)
	next.subscribe(&session.Subscribe{ID: 7, Pattern: "b"})
	next.away(r)
	eventually(t, func() bool { return len(n.Subscriptions()) == 1 }, "the old one stays")
	require.Equal(t, []string{"b"}, n.Subscriptions())
}
