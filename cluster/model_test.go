// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"flag"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Which random stories the model test goes through.
var (
	seeds = flag.Int("seeds", 30, "random stories of the model test")
	first = flag.Int("first", 0, "number of the first one")
)

// Whatever happened before, once all is well again every caller sees exactly
// the members there are.
func TestEveryViewBecomesTheTruthAfterRandomTrouble(t *testing.T) {
	for seed := *first; seed < *first+*seeds; seed++ {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			trouble(t, uint64(seed))
		})
	}
}

func trouble(t *testing.T, seed uint64) {
	w := newWorld(t, seed, 1+int(seed)%9)
	w.lossy, w.dim = seed%3 == 1, seed%5 >= 3
	names := []string{"geo", "zones"}
	if seed%2 == 0 { // an epoch ends in the middle of it
		w.now = testKeys(names[0]).NextChange(w.now).Add(-20 * time.Second)
	}
	for _, n := range w.nodes {
		w.start(n)
	}
	next := MemberID(seed * 1000)
	for range 150 {
		next++
		w.incident(names[w.rng.IntN(len(names))], next)
		for range w.rng.IntN(30) {
			w.deliver()
		}
	}
	w.lossy = false
	for _, n := range w.nodes {
		n.side = 0
		if !n.up {
			clear(n.members)
			w.start(n)
		}
	}
	w.meet()
	for _, n := range w.nodes {
		for _, o := range w.nodes {
			n.do(linkEvent{PeerEvent{Type: PeerRecovered, Peer: o.id}})
		}
	}
	w.run(2 * time.Minute)
	t.Log(w.delivered, "events")
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

// incident has something happen somewhere.
func (w *world) incident(name string, next MemberID) {
	n, o := w.nodes[w.rng.IntN(len(w.nodes))], w.nodes[w.rng.IntN(len(w.nodes))]
	switch k := w.rng.IntN(20); {
	case !n.up:
		clear(n.members)
		w.start(n)
	case k < 4:
		n.register(name, next)
	case k < 7:
		if m := slices.Sorted(maps.Keys(n.members)); len(m) > 0 {
			n.unregister(m[w.rng.IntN(len(m))])
		}
	case k < 11:
		if n.views[name] == nil {
			n.watch(name)
		}
	case k < 12:
		w.crash(n)
	case k < 14:
		w.cut(n, o)
	case k < 15:
		n.side = 1 - n.side
		for _, o := range w.nodes {
			if o.side != n.side {
				w.cut(n, o)
			}
		}
		w.meet()
	case k < 17:
		kind := PeerSuspect
		if w.rng.IntN(2) == 0 {
			kind = PeerRecovered
		}
		n.do(linkEvent{PeerEvent{Type: kind, Peer: o.id}})
	case k < 19:
		w.run(time.Duration(w.rng.IntN(10_000)) * time.Millisecond)
	}
}
