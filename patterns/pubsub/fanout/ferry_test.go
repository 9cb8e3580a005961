// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package fanout

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/patterns/pubsub/env"
)

func TestPublishersKeepToOneGateway(t *testing.T) {
	// This test has a publisher choose among gateways: it stays with one as long as that is
	// there, numbers what it gives to them together, does not number what is not sent, and
	// gives nothing to any that has crossed a border.
	node := func(hash uint64) *Receiver { return &Receiver{Hash: hash, State: &SubscriberState{}} }
	ab := []*Receiver{node(1), node(2)}
	listening := func(rs ...*Receiver) *Way {
		w := &Way{Lent: []uint64{9}}
		for _, r := range rs {
			w.Interests = append(w.Interests, &Interest{R: r, Queue: 9, weight: 1, lent: true})
		}
		return w
	}
	p := &Picker{Self: 77, Live: func(*Receiver) bool { return true }}
	plain := &Content{}
	give := func(w *Way) wire.Pick {
		picks, beyond := p.Ferries(w, nil, plain, nil)
		require.Zero(t, beyond)
		require.Len(t, picks, 1)
		return p.Ferry.Board(picks)[0]
	}
	first := give(listening(ab...))
	require.Equal(t, uint64(1), first.Serial)
	require.Equal(t, wire.Pick{Queue: 9, Node: first.Node, Serial: 2}, give(listening(ab[1], ab[0])))
	p.Ferries(listening(ab...), nil, plain, nil) // which is not sent
	require.Equal(t, uint64(3), give(listening(ab...)).Serial)
	none, _ := p.Ferries(listening(ab...), nil, &Content{Flags: wire.FlagLent}, nil)
	require.Empty(t, p.Ferry.Board(none))

	other := ab[0]
	if other.Hash == first.Node {
		other = ab[1]
	}
	require.Equal(t, wire.Pick{Queue: 9, Node: other.Hash, Serial: 4}, give(listening(other)))
	require.Equal(t, wire.Pick{Queue: 9, Node: other.Hash, Serial: 5}, give(listening(ab...)), "it does not change back")
	require.Equal(t, ab[0:1], func() []*Receiver {
		p := &Picker{Self: 77, Live: p.Live}
		p.Ferries(listening(ab[0]), nil, plain, nil)
		return p.Ferry.Lacking(func(*Receiver) bool { return false })
	}(), "who has no room is waited for")
}

func TestQueuesOfGatewaysAreBoundedAndNumbersGrow(t *testing.T) {
	// This test has somebody listen in more queues whose names are those of gateways than a
	// message can be for: the others are counted. Then one such queue after the other comes
	// and goes, more than a publisher remembers: what a gateway gets next has a number, and
	// a higher one than before, or it would be late for ever.
	p := &Picker{Self: 77, Live: func(*Receiver) bool { return true }}
	give := func(queues ...uint64) (picks []wire.Pick, beyond int) {
		r := &Receiver{Hash: 1, State: &SubscriberState{}}
		w := &Way{Lent: queues}
		for _, q := range queues {
			w.Interests = append(w.Interests, &Interest{R: r, Queue: q, weight: 1, lent: true})
		}
		picks, beyond = p.Ferries(w, nil, &Content{}, nil)
		return p.Ferry.Board(picks), beyond
	}
	var many []uint64
	for q := range uint64(env.MaxPicks + 6) {
		many = append(many, 100+q)
	}
	picks, beyond := give(many...)
	require.Len(t, picks, env.MaxPicks)
	require.Equal(t, 6, beyond)

	last := uint64(0)
	for round := range uint64(3) {
		picks, _ = give(9)
		require.Greater(t, picks[0].Serial, last)
		last = picks[0].Serial
		for q := range uint64(maxFerries) {
			give(10_000*(round+1) + q)
		}
		require.LessOrEqual(t, len(p.Ferry.all), maxFerries)
	}
}
