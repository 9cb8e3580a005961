// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package pubsub

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// FuzzTree plays any sequence of receivers that come, leave, are passed by and lose
// their rank, and of trees that are made anew, in whole or in part, two bytes an event.
// A receiver is in one place at most, and what a forwarder is told names places that
// its path has.
func FuzzTree(f *testing.F) {
	f.Add([]byte{0, 40, 3, 0, 2, 5, 4, 7, 5, 7, 6, 0})
	f.Add([]byte{0, 200, 3, 0, 1, 3, 4, 9, 4, 10, 6, 0, 7, 0, 3, 1, 6, 2})
	f.Add([]byte{0, 17, 3, 0, 4, 0, 4, 1, 4, 2, 6, 0, 0, 20, 3, 9, 7, 3})
	f.Fuzz(func(t *testing.T, events []byte) {
		s := &treeScript{ranks: make(map[*receiver]int), salt: 1}
		now := int64(0)
		for i := 0; i+1 < len(events) && i < 120; i += 2 {
			arg := int(events[i+1])
			if events[i]%8 != 0 && len(s.all) == 0 {
				continue
			}
			var r *receiver
			if len(s.all) > 0 {
				r = s.all[arg%len(s.all)]
			}
			switch events[i] % 8 {
			case 0: // some come
				if n := arg % 64; len(s.all)+n <= 300 {
					s.add(n)
					s.tree.loose += n
				}
			case 1: // a rank
				s.ranks[r] = arg%4 - 1
			case 2: // something changed
				s.tree.stale = true
			case 3: // a message for all
				now += int64(time.Duration(arg) * time.Second)
				if s.tree.due(now) {
					all := append([]*receiver(nil), s.all...)
					s.tree.grow(now, all, s.rank, s.salt)
					for _, each := range s.all {
						require.Equal(t, s.rank(each) == outOfTree, each.branch == nil, "a new tree has all who may be in it")
					}
				}
			case 4: // heads do not leave: their branch is made anew
				if r.branch != nil && r.index >= 0 {
					r.leave()
				}
			case 5:
				if r.branch != nil {
					r.passBy(uint64(arg))
				}
			case 6: // the next message tells the heads
				for _, b := range s.tree.branches {
					for _, skip := range b.skipList(nil) {
						require.Less(t, int(skip.Index), len(b.stops))
					}
					b.clearSkips()
					require.Empty(t, b.skipList(nil), "what was told is told once")
				}
			case 7:
				if r.branch != nil {
					s.tree.replant(r.branch, s.rank, s.salt)
				}
			}
			checkTree(t, s)
		}
	})
}

// checkTree compares the branches with where their receivers believe to be.
func checkTree(t *testing.T, s *treeScript) {
	t.Helper()
	in := make(map[*receiver]bool)
	for _, b := range s.tree.branches {
		require.NotNil(t, b.head)
		for _, r := range append(b.stops[:len(b.stops):len(b.stops)], b.head) {
			if r == nil {
				continue // has left
			}
			require.False(t, in[r], "a receiver is in two places")
			in[r] = true
			require.Same(t, b, r.branch)
		}
	}
	for _, r := range s.all {
		require.Equal(t, in[r], r.branch != nil, "a receiver in a branch that is not there")
	}
}
