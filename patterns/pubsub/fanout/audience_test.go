// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package fanout

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/internal/match"
	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/patterns/internal/fake"
	"github.com/arke-mesh/arke/patterns/pubsub/env"
)

// TestAudienceAgreesWithMatching proves the audience against a list that is
// searched: who gets a message, with queues and picks, and that the count of
// what is found never has anybody twice.
func TestAudienceAgreesWithMatching(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for range 200 {
		var a Audience
		var rs []*Receiver
		for i := range 20 {
			x := &Receiver{Peer: peer.ID(fmt.Sprint("p", i)), Hash: uint64(i + 1)}
			for range 1 + r.IntN(4) {
				in := wire.Interest{Pattern: fake.RandomPattern(r.IntN, true)}
				if r.IntN(4) == 0 {
					in.Queue, in.Weight = "q", 1
				}
				x.Interests = append(x.Interests, in)
			}
			a.Add(x)
			rs = append(rs, x)
		}
		topic := fake.RandomPattern(r.IntN, false)
		var picks []wire.Pick
		for _, x := range rs {
			for _, in := range x.Interests {
				if in.Queue != "" && r.IntN(2) == 0 {
					picks = append(picks, wire.Pick{Queue: env.HashQueue(in.Pattern, in.Queue), Node: x.Hash})
				}
			}
		}
		except := rs[r.IntN(len(rs))].Peer
		var want []*Receiver
		for _, x := range rs {
			if slices.ContainsFunc(x.Interests, func(in wire.Interest) bool {
				q := env.HashQueue(in.Pattern, in.Queue)
				return match.Matches(in.Pattern, topic) && (q == 0 && x.Peer != except || q != 0 && slices.Contains(picks, wire.Pick{Queue: q, Node: x.Hash}))
			}) {
				want = append(want, x)
			}
		}
		require.ElementsMatch(t, want, a.Receivers(a.Match(topic), picks, except, nil))
	}
}
