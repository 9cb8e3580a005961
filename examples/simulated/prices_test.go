// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package simulated_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke"
	"github.com/arke-mesh/arke/arketest"
	"github.com/arke-mesh/arke/examples/simulated"
)

// This test checks that a shop gets every price although the link to one of
// three members is cut for five seconds, and that this member is asked again
// after that. It takes twelve seconds of virtual time.
func TestShopGetsEveryPriceWhileALinkIsCut(t *testing.T) {
	arketest.Run(t, func(t *testing.T, n *arketest.Network) {
		ctx := context.Background()
		members := make([]simulated.Prices, 3)
		var shop *arke.Conn
		for i := range 50 {
			shop = n.Join(fmt.Sprint("n", i+1))
			if i < len(members) {
				_, err := shop.Serve(ctx, "prices", &members[i])
				require.NoError(t, err)
			}
		}
		ask := func(what string) {
			reply, err := shop.Request(ctx, "prices", arke.Message{Body: []byte(what)}, arke.Idempotent())
			require.NoError(t, err, "at %v", n.Elapsed())
			require.Contains(t, string(reply.Body), what+" costs")
		}
		askFor := func(d time.Duration) {
			for until := n.Elapsed() + d; n.Elapsed() < until; time.Sleep(10 * time.Millisecond) {
				ask(fmt.Sprint("tea at ", n.Elapsed()))
			}
		}

		askFor(2 * time.Second)
		require.NotZero(t, members[2].Asked.Load())

		n.Partition([]string{"n3"}, []string{"n50"})
		askFor(2 * time.Second) // the silence is noticed
		cutOff := members[2].Asked.Load()
		askFor(3 * time.Second)
		require.Equal(t, cutOff, members[2].Asked.Load(), "nothing gets through")

		n.Heal()
		askFor(5 * time.Second)
		require.Greater(t, members[2].Asked.Load(), cutOff, "it is asked again")
	})
}
