// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Whatever happened before, once all is well again every caller sees exactly
// the members there are.
func TestEveryViewBecomesTheTruthAfterRandomTrouble(t *testing.T) {
	seeds := 60
	if testing.Short() {
		seeds = 10
	}
	for seed := range seeds {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			trouble(t, uint64(seed))
		})
	}
}

func trouble(t *testing.T, seed uint64) {
	w := newWorld(t, seed, 1+int(seed)%9)
	names := []string{"geo", "zones"}
	for _, n := range w.nodes {
		w.start(n)
	}
	next := MemberID(seed * 1000)
	for range 60 {
		n := w.nodes[w.rng.IntN(len(w.nodes))]
		name := names[w.rng.IntN(len(names))]
		switch k := w.rng.IntN(20); {
		case !n.up:
			w.start(n)
			clear(n.members)
		case k < 5:
			next++
			n.register(name, next)
		case k < 8:
			if m := slices.Sorted(maps.Keys(n.members)); len(m) > 0 {
				n.unregister(m[w.rng.IntN(len(m))])
			}
		case k < 12:
			if n.views[name] == nil {
				n.watch(name)
			}
		case k < 13:
			w.crash(n)
		case k < 15:
			w.cut(n, w.nodes[w.rng.IntN(len(w.nodes))])
		case k < 16:
			n.side = 1 - n.side
			for _, o := range w.nodes {
				if o.side != n.side {
					w.cut(n, o)
				}
			}
			w.meet()
		case k < 17:
			w.run(time.Duration(w.rng.IntN(20_000)) * time.Millisecond)
		}
		for range w.rng.IntN(30) {
			w.deliver()
		}
	}
	for _, n := range w.nodes {
		n.side = 0
		if !n.up {
			clear(n.members)
			w.start(n)
		}
	}
	w.meet()
	w.run(2 * time.Minute)
	for i, n := range w.nodes {
		for _, name := range names {
			if n.views[name] == nil {
				continue
			}
			v := n.views[name]
			require.Equal(t, n.truth(name), n.seen(name), "node %d, cluster %s, seed %d", i, name, seed)
			require.True(t, v.Known && v.Complete, "node %d, cluster %s, seed %d: %+v", i, name, seed, v)
			for _, s := range n.states(name) {
				require.Equal(t, "live", s)
			}
		}
		for m := range n.members {
			require.Contains(t, n.acked, m)
			require.NoError(t, n.acked[m])
		}
	}
}
