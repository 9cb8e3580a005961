// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package sim_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/overlay"
	"github.com/arke-mesh/arke/sim"
)

// This test checks that a slow router's lookups find the same, later.
func TestSlowRouter(t *testing.T) {
	sim.Run(t, exact(), func(t *testing.T, n *sim.Network) {
		all := join(t, n, 20)
		n.Run(4 * time.Second)
		n.RouterFault("n3", sim.RouterSlow)
		look := func() time.Duration {
			begin := time.Now()
			got, err := all[3].Router.Closest(context.Background(), overlay.Key{1}, 5)
			require.NoError(t, err)
			require.Equal(t, nearest(all, overlay.Key{1}, 5), got)
			return time.Since(begin)
		}
		require.Greater(t, look(), 5*time.Second)
		n.RouterFault("n3", "")
		require.Less(t, look(), time.Second)
		require.Panics(t, func() { n.RouterFault("n3", "lazy") })
	})
}

// This test checks that a stale router keeps the dead and answers with them,
// the others do not, and that it learns the truth when it is well again.
func TestStaleRouter(t *testing.T) {
	sim.Run(t, exact(), func(t *testing.T, n *sim.Network) {
		all := join(t, n, 20)
		n.Run(4 * time.Second)
		n.RouterFault("n3", sim.RouterStale)
		for i := 10; i < 20; i++ {
			n.Crash(fmt.Sprint("n", i))
		}
		time.Sleep(30 * time.Second)
		finds := func(i int) []string {
			got, err := all[i].Router.Closest(context.Background(), overlay.Key{1}, 20)
			require.NoError(t, err)
			var names []string
			for _, a := range all {
				if slices.Contains(got, a.Transport.Self()) {
					names = append(names, a.name)
				}
			}
			return names
		}
		require.Len(t, finds(3), 20)
		require.Equal(t, 19, all[3].Router.Size())
		require.Len(t, finds(4), 10, "who is well asks the dead, and drops them")
		n.RouterFault("n3", "")
		time.Sleep(30 * time.Second)
		require.Len(t, finds(3), 10)
		require.Equal(t, 9, all[3].Router.Size())
	})
}

// This test checks that a wrong router answers with others than the closest,
// that whom it knows exists, and that the others still find the closest.
func TestWrongRouter(t *testing.T) {
	sim.Run(t, exact(), func(t *testing.T, n *sim.Network) {
		all := join(t, n, 60)
		n.Run(4 * time.Second)
		n.RouterFault("n3", sim.RouterWrong)
		require.Less(t, agreement(all, all[3:4]), 0.5)
		require.Greater(t, agreement(all, append(all[:3:3], all[4:]...)), 0.9)
		key := overlay.Key{7}
		require.Equal(t, all[3].Router.Nearest(key, 3), all[3].Router.Nearest(key, 3), "it is sure of itself")
		require.NotEqual(t, nearest(all, key, 3), all[3].Router.Nearest(key, 3))
		n.Calm()
		require.Equal(t, 1.0, agreement(all, all))
	})
}
