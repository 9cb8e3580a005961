// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package pubsub

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/internal/match"
	"github.com/arke-mesh/arke/internal/wire"
)

// randomPattern has few words, so that patterns meet.
func randomPattern(r *rand.Rand, wildcards bool) string {
	words := make([]string, 1+r.IntN(4))
	for i := range words {
		words[i] = string(rune('a' + r.IntN(3)))
		if wildcards && r.IntN(4) == 0 {
			words[i] = "*"
		}
	}
	if wildcards && r.IntN(4) == 0 {
		words = append(words, ">")
	}
	return strings.Join(words, ".")
}

// TestCoveringAgreesWithMatching proves covers against its meaning: whatever
// the second pattern matches, the first does.
func TestCoveringAgreesWithMatching(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	covering := 0
	for range 20_000 {
		a, b := randomPattern(r, true), randomPattern(r, true)
		if !covers(a, b) {
			continue
		}
		covering++
		for range 20 {
			topic := randomPattern(r, false)
			if match.Matches(b, topic) {
				require.True(t, match.Matches(a, topic), "%s covers %s, but not for %s", a, b, topic)
			}
		}
	}
	require.Greater(t, covering, 500)
	for _, c := range []struct {
		a, b string
		want bool
	}{
		{"a.>", "a.b", true},
		{"a.>", "a.b.>", true},
		{"a.>", "a", false},
		{"a.*", "a.*", true},
		{"a.*", "a.>", false},
		{"a.b", "a.*", false},
		{"*.b", "a.b", true},
		{">", "*.>", true},
		{"a.*.c", "a.b", false},
	} {
		require.Equal(t, c.want, covers(c.a, c.b), "%s %s", c.a, c.b)
	}
}

// TestCoarserPatternsLoseNothing proves that what does not fit becomes coarser
// until it does, and that everything that matched still does.
func TestCoarserPatternsLoseNothing(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for _, count := range []int{1, 10, 1000, 20_000} {
		var is []wire.Interest
		for i := range count {
			is = append(is, wire.Interest{Pattern: fmt.Sprintf("g.%d.%d.x%d", r.IntN(3), r.IntN(50), i), Signed: r.IntN(9) == 0})
		}
		is = append(is, wire.Interest{Pattern: "g.*", Queue: "q", Weight: 1})
		coarse, ok := coarsen(slices.Clone(is), maxPayload)
		require.True(t, ok)
		require.LessOrEqual(t, wire.InterestsSize(coarse), maxPayload)
		require.Contains(t, coarse, is[len(is)-1], "queues stay as they are")
		for _, i := range is {
			require.True(t, i.Queue != "" || covered(coarse, i.Pattern, i.Signed), i.Pattern)
		}
	}
	var queues []wire.Interest
	for i := range 1000 {
		queues = append(queues, wire.Interest{Pattern: fmt.Sprint("g.", i), Queue: "q", Weight: 1})
	}
	_, ok := coarsen(queues, maxPayload)
	require.False(t, ok)
}

// TestAudienceAgreesWithMatching proves the audience against a list that is
// searched: who gets a message, with queues and picks, and that the count of
// what is found never has anybody twice.
func TestAudienceAgreesWithMatching(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for range 200 {
		var a audience
		var rs []*receiver
		for i := range 20 {
			x := &receiver{peer: peer.ID(fmt.Sprint("p", i)), hash: uint64(i + 1)}
			for range 1 + r.IntN(4) {
				in := wire.Interest{Pattern: randomPattern(r, true)}
				if r.IntN(4) == 0 {
					in.Queue, in.Weight = "q", 1
				}
				x.interests = append(x.interests, in)
			}
			a.add(x)
			rs = append(rs, x)
		}
		topic := randomPattern(r, false)
		var picks []wire.Pick
		for _, x := range rs {
			for _, in := range x.interests {
				if in.Queue != "" && r.IntN(2) == 0 {
					picks = append(picks, wire.Pick{Queue: hashQueue(in.Pattern, in.Queue), Node: x.hash})
				}
			}
		}
		except := rs[r.IntN(len(rs))].peer
		var want []*receiver
		for _, x := range rs {
			if slices.ContainsFunc(x.interests, func(in wire.Interest) bool {
				q := hashQueue(in.Pattern, in.Queue)
				return match.Matches(in.Pattern, topic) && (q == 0 && x.peer != except || q != 0 && slices.Contains(picks, wire.Pick{Queue: q, Node: x.hash}))
			}) {
				want = append(want, x)
			}
		}
		require.ElementsMatch(t, want, a.receivers(a.match(topic), picks, except, nil))
	}
}
