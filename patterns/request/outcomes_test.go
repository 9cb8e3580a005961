// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package request_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/internal/histogram"
	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/patterns/request"
)

func TestEveryRequestIsCountedOnceWithItsOutcome(t *testing.T) {
	// This test checks that a ledger says how each request ended, also one that was
	// never sent, how long the answered ones took, and that a push is not in it.
	inBubble(t, func(t *testing.T, w *world, caller, host *fakeNode) {
		w.member(host, 9, "geo", takes("here", 20*time.Millisecond), patterns.Limits{})
		for range 3 {
			_, err := do(caller, body("where?"))
			require.NoError(t, err)
		}
		_, err := caller.engine.Do(within(t, time.Millisecond), "geo", body("where?"), patterns.RequestOptions{})
		require.ErrorIs(t, err, context.DeadlineExceeded)
		_, err = do(caller, patterns.Message{Body: make([]byte, request.MaxMessage+1)})
		require.ErrorIs(t, err, patterns.ErrTooLarge)
		_, err = caller.engine.Ask(context.Background(), request.Ask{Cluster: "geo", Pattern: patterns.PatternPush, Message: body("x")})
		require.Error(t, err, "the member takes no pushes")

		all := caller.engine.Ledgers()
		require.Len(t, all, 1)
		require.Equal(t, "geo", all[0].Cluster)
		counted := map[patterns.Outcome]uint64{}
		for o := range patterns.Outcome(patterns.OutcomeCount) {
			if n := all[0].Outcome(o); n > 0 {
				counted[o] = n
			}
		}
		require.Equal(t, map[patterns.Outcome]uint64{patterns.OutcomeReply: 3, patterns.OutcomeDeadline: 1, patterns.OutcomeTooLarge: 1}, counted)
		var s histogram.Snapshot
		all[0].Took(&s)
		require.EqualValues(t, 3, s.Count)
		require.InEpsilon(t, 3*0.022, s.Sum, 1e-9)
	})
}
