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

// bruteUnion is the second opinion on mergeNode, straight from the rules.
func bruteUnion(epochViews []*epochView) []string {
	var out []string
	newest := make(map[peer.ID]uint64)
	keys := make(map[leaseRef]bool)
	for _, s := range epochViews {
		for _, c := range s.anchorViews {
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
		for _, s := range epochViews {
			lists, lost, doubts, itself := 0, 0, 0, false
			for _, c := range s.anchorViews {
				if l, ok := c.set[ref.leaseKey]; ok && l.incarnation == ref.incarnation {
					lists++
					itself = itself || c.peer == ref.peer && c.fresh
					if l.suspect && c.fresh {
						doubts++
					}
				}
				if c.lost[ref.leaseKey] >= ref.incarnation && !c.old {
					lost++
				}
			}
			if itself || lists > 0 && 2*lost <= len(s.anchorSet.anchors) {
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
		var epochViews []*epochView
		for range 1 + rng.IntN(2) {
			s := &epochView{anchorSet: &anchorSet{nearby: &nearby{}}}
			current := 1 + rng.IntN(3)
			for i := range current + rng.IntN(3) {
				c := &anchorView{
					peer: testPeer(string(rune('A' + i))), old: i >= current, fresh: rng.IntN(3) > 0,
					set: make(map[leaseKey]listed), lost: make(map[leaseKey]uint64),
				}
				if !c.old {
					s.anchorSet.anchors = append(s.anchorSet.anchors, c.peer)
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
					d := &verified{record: record{leaseKey: k, incarnation: inc}}
					s.known.put(d)
					c.set[k] = listed{d, rng.IntN(4) == 0}
				}
				s.anchorViews = append(s.anchorViews, c)
			}
			epochViews = append(epochViews, s)
		}
		got := []string(nil)
		for i := range 3 {
			found, _ := mergeNode(epochViews, testPeer(string(rune('A'+i))))
			for _, f := range found {
				got = append(got, fmt.Sprint(leaseRef{f.leaseKey, f.incarnation}, f.suspect))
			}
		}
		slices.Sort(got)
		require.Equal(t, bruteUnion(epochViews), got)
	}
}
