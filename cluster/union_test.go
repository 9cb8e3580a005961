// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/stretchr/testify/require"
)

func sorted(lines []string) []string {
	slices.Sort(lines)
	return lines
}

// bruteUnion is the second opinion on fuse, straight from the rules.
func bruteUnion(sights []*sight) []string {
	var out []string
	newest := make(map[peer.ID]uint64)
	keys := make(map[leaseRef]bool)
	for _, s := range sights {
		for _, c := range s.sources {
			for k, l := range c.set {
				newest[k.peer] = max(newest[k.peer], l.incarnation)
				keys[leaseRef{k, l.incarnation}] = true
			}
		}
	}
	for ref := range keys {
		if ref.incarnation != newest[ref.peer] {
			continue
		}
		alive, suspect := false, false
		for _, s := range sights {
			lists, lost, doubts := 0, 0, 0
			for _, c := range s.sources {
				if l, ok := c.set[ref.leaseKey]; ok && l.incarnation == ref.incarnation {
					lists++
					if l.suspect && c.fresh {
						doubts++
					}
				}
				if c.lost[ref.leaseKey] >= ref.incarnation && !c.old {
					lost++
				}
			}
			if lists > 0 && 2*lost <= len(s.ring.anchors) {
				alive = true
				suspect = suspect || doubts+lost > 0
			}
		}
		if alive {
			out = append(out, fmt.Sprint(ref, suspect))
		}
	}
	slices.Sort(out)
	return out
}

// The merged view is what the rules say, for whatever anchors may say.
func TestViewIsTheUnionTheRulesSay(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 7))
	for range 3000 {
		var sights []*sight
		for range 1 + rng.IntN(2) {
			s := &sight{ring: &ring{}}
			current := 1 + rng.IntN(3)
			for i := range current + rng.IntN(3) {
				c := &source{
					peer: testPeer(fmt.Sprint(i)), old: i >= current, fresh: rng.IntN(3) > 0,
					set: make(map[leaseKey]listing), lost: make(map[leaseKey]uint64),
				}
				if !c.old {
					s.ring.anchors = append(s.ring.anchors, c.peer)
				}
				for range rng.IntN(5) {
					k := leaseKey{testPeer(string(rune('A' + rng.IntN(3)))), MemberID(rng.IntN(3))}
					inc := uint64(1 + rng.IntN(3))
					if rng.IntN(3) == 0 {
						if _, listed := c.set[k]; !listed {
							c.lost[k] = inc
						}
						continue
					}
					delete(c.lost, k)
					c.set[k] = listing{&described{record: record{leaseKey: k, incarnation: inc}}, rng.IntN(4) == 0}
				}
				s.sources = append(s.sources, c)
			}
			sights = append(sights, s)
		}
		got := []string(nil)
		for _, f := range fuse(sights) {
			got = append(got, fmt.Sprint(leaseRef{f.leaseKey, f.incarnation}, f.suspect))
		}
		slices.Sort(got)
		require.Equal(t, bruteUnion(sights), got)
	}
}
