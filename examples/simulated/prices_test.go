// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package simulated_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/examples/simulated"
	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/sim/world"
)

// This test checks that a shop gets every price although the link to one of
// three members is cut for five seconds, and that this member is asked again
// after that. It takes twelve seconds of virtual time.
func TestShopGetsEveryPriceWhileALinkIsCut(t *testing.T) {
	world.Run(t, world.Config{Seed: 1}, func(w *world.World) {
		ctx := context.Background()
		nodes := w.AddMany("n", 50)
		members := make([]simulated.Prices, 3)
		for i := range members {
			_, err := nodes[i].Serve(ctx, "prices", &members[i], patterns.Limits{})
			require.NoError(t, err)
		}
		shop := nodes[49]
		ask := func(what string) {
			reply, err := shop.Request(ctx, "prices", patterns.Message{Body: []byte(what)}, patterns.Idempotent())
			require.NoError(t, err, "at %v", w.Now())
			require.Contains(t, string(reply.Body), what+" costs")
		}
		askFor := func(d time.Duration) {
			for until := w.Now() + d; w.Now() < until; time.Sleep(10 * time.Millisecond) {
				ask(fmt.Sprint("tea at ", w.Now()))
			}
		}

		askFor(2 * time.Second)
		require.NotZero(t, members[2].Asked.Load())

		w.Net().Partition([]string{"n3"}, []string{"n50"})
		askFor(2 * time.Second) // the silence is noticed
		cutOff := members[2].Asked.Load()
		askFor(3 * time.Second)
		require.Equal(t, cutOff, members[2].Asked.Load(), "nothing gets through")

		w.Net().Heal()
		askFor(5 * time.Second)
		require.Greater(t, members[2].Asked.Load(), cutOff, "it is asked again")
	})
}
