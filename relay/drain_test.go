// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package relay_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/overlay"
	"github.com/arke-mesh/arke/patterns"
)

// shutdown drains the relay within a minute.
func (s *stage) shutdown() <-chan error { return s.shutdownWithin(patience) }

func (s *stage) shutdownWithin(d time.Duration) <-chan error {
	ended := make(chan error, 1)
	go func() {
		ctx, cancel := overlay.WithTimeout(context.Background(), s.cfg.Seam.Clock, "test", d)
		defer cancel()
		ended <- s.relay.Shutdown(ctx)
	}()
	return ended
}

// TestADrainFinishesWhatWasAccepted follows the order of a drain: notice, members
// leave, accepted work is finished, replies, goodbye with what was looked at, and
// only then the end.
func TestADrainFinishesWhatWasAccepted(t *testing.T) {
	play(t, nil, func(t *testing.T, s *stage) {
		server, caller := s.pair("geo")
		caller.ask(1, "geo", "hi")
		d := server.delivery()
		ended := s.shutdown()
		for _, b := range []*binding{server, caller} {
			require.Equal(t, wire.NoticeDraining, expect(b, wire.KindNotice, wire.DecodeLeafNotice).Code)
		}
		require.Equal(t, wire.OutcomeDraining, server.tryServe(wire.Serve{ID: 2, Cluster: "geo", Patterns: 15}).Outcome)
		time.Sleep(time.Second)
		_, err := s.node.Members(t.Context(), "geo")
		require.ErrorIs(t, err, patterns.ErrNoMembers)
		require.Empty(t, ended)
		server.answer(d)
		require.Equal(t, "hi", bodyOf(t, caller.reply().Tail))
		for b, sent := range map[*binding]wire.Counts{server: {2, 1, 0, 0}, caller: {0, 1, 0, 0}} {
			end := b.goodbye()
			require.Equal(t, wire.EndShutdown, end.Code)
			require.Equal(t, sent, *end.Handled)
			b.conn.Close()
		}
		require.NoError(t, <-ended)
	})
}

// TestACallInADrainIsForTheNextRelay proves that a call which nobody can answer
// any more, or which waits for a first member, is told to be made elsewhere.
func TestACallInADrainIsForTheNextRelay(t *testing.T) {
	play(t, nil, func(t *testing.T, s *stage) {
		server, caller := s.pair("geo")
		caller.request(wire.Request{ID: 1, Deadline: caller.in(time.Minute), Route: &wire.Route{Cluster: "nobody", Options: wire.RouteWait}, Tail: tail("hi")})
		server.ask(1, "geo", "hi") // keeps the drain from ending
		d := server.delivery()
		time.Sleep(3 * time.Second)
		ended := s.shutdown()
		expect(caller, wire.KindNotice, wire.DecodeLeafNotice)
		require.Equal(t, wire.OutcomeDraining, caller.reply().Outcome)
		expect(server, wire.KindNotice, wire.DecodeLeafNotice)
		require.Equal(t, wire.OutcomeDraining, server.call(2, "geo", "late").Outcome)
		server.answer(d)
		require.NotNil(t, server.reply())
		for _, b := range []*binding{caller, server} {
			b.goodbye()
			b.conn.Close()
		}
		require.NoError(t, <-ended)
	})
}

// TestADrainEndsWithItsContext proves that a drain which can't finish ends, and
// says so; without a goodbye, for what was looked at has no outcome.
func TestADrainEndsWithItsContext(t *testing.T) {
	play(t, nil, func(t *testing.T, s *stage) {
		server, caller := s.pair("geo")
		caller.ask(1, "geo", "hi")
		server.delivery()
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		require.ErrorIs(t, s.relay.Shutdown(ctx), context.DeadlineExceeded)
		expect(server, wire.KindNotice, wire.DecodeLeafNotice)
		server.expectEnd()
	})
}

// TestNobodyAttachesToADrainingRelay proves that a client is refused while the
// relay drains, in words, and that one which is away is not waited for.
func TestNobodyAttachesToADrainingRelay(t *testing.T) {
	play(t, nil, func(t *testing.T, s *stage) {
		server, away := s.attach(), s.attach()
		server.register(1, "geo")
		server.ask(1, "geo", "hi")
		d := server.delivery()
		away.conn.Close()
		late := s.dial()
		time.Sleep(10 * time.Millisecond)
		ended := s.shutdown()
		expect(server, wire.KindNotice, wire.DecodeLeafNotice)
		require.Equal(t, wire.EndShutdown, late.refused(hello()).Code)
		late.conn.Close()
		server.answer(d)
		server.reply()
		server.goodbye()
		server.conn.Close()
		require.NoError(t, <-ended)
	})
}
