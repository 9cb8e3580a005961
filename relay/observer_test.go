// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package relay_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/relay"
)

// observing is the Hello of a client that only asks the relay about itself.
func observing() wire.LeafHello {
	h := hello()
	h.Features |= wire.FeatureObserver
	return h
}

// TestAFullRelayAnswersObservers proves that a relay which takes no further program
// still lets in clients that only ask for its status, which says who has how many; that
// there are few places for them and the newest one gets one; that they take none from
// programs; and that a program does not get in.
func TestAFullRelayAnswersObservers(t *testing.T) {
	const spare = 4
	play(t, func(cfg *relay.Config) { cfg.Limits.Clients = 2 }, func(t *testing.T, s *stage) {
		status := func(b *binding) (st relay.Status) {
			t.Helper()
			r := b.call(1, "$status", "")
			require.Zero(t, r.Outcome, bodyOf(t, r.Tail))
			var all struct{ Relay relay.Status }
			require.NoError(t, json.Unmarshal([]byte(bodyOf(t, r.Tail)), &all))
			return all.Relay
		}
		first := s.attach()
		require.Empty(t, status(first).Full, "there is room")
		s.attach()
		for range 2 * spare {
			st := status(s.dial().greet(observing()))
			require.Equal(t, []relay.FullStatus{{From: "this process", Clients: 2, Limit: 2}}, st.Full)
			require.LessOrEqual(t, len(st.Clients), 2+spare)
		}
		end := s.dial().refused(hello())
		require.Equal(t, wire.EndFull, end.Code)
		require.Contains(t, end.Text, "--max-clients")
		require.EqualValues(t, spare, s.relay.Status().Drops["ended.too_many_clients"], "the oldest of them had to go")
		require.Zero(t, first.call(7, "$status", "").Outcome, "a program never has to")
	})
}

// TestAnObserverMayDoNothingElse proves that the places for observers are of no use to
// a program: what else it asks for is refused, whether or not the relay is full.
func TestAnObserverMayDoNothingElse(t *testing.T) {
	play(t, nil, func(t *testing.T, s *stage) {
		s.serveEcho("geo")
		b := s.dial().greet(observing())
		require.Equal(t, wire.OutcomeUnauthorized, b.call(1, "geo", "x").Outcome)
		require.Equal(t, wire.OutcomeUnauthorized, b.open(2, 9, "geo").Outcome)
		require.Zero(t, b.call(3, "$members", "geo").Outcome)
		for _, m := range []struct {
			lane wire.Lane
			kind wire.Kind
			body message
		}{
			{wire.LaneCtl, wire.KindServe, &wire.Serve{ID: 1, Cluster: "geo", Patterns: 1}},
			{wire.LaneCtl, wire.KindSubscribe, &wire.Subscribe{ID: 1, Pattern: "a"}},
		} {
			b := s.dial().greet(observing())
			b.send(m.lane, m.kind, m.body)
			require.Equal(t, wire.EndProtocol, b.goodbye().Code)
		}
	})
}
