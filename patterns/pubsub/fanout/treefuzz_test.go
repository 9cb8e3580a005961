// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package fanout

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
		s := &treeScript{ranks: make(map[*Receiver]int), salt: 1}
		now := int64(0)
		for i := 0; i+1 < len(events) && i < 120; i += 2 {
			arg := int(events[i+1])
			if events[i]%8 != 0 && len(s.all) == 0 {
				continue
			}
			var r *Receiver
			if len(s.all) > 0 {
				r = s.all[arg%len(s.all)]
			}
			switch events[i] % 8 {
			case 0: // some come
				if n := arg % 64; len(s.all)+n <= 300 {
					s.add(n)
					s.tree.Loose += n
				}
			case 1: // a rank
				s.ranks[r] = arg%4 - 1
			case 2: // something changed
				s.tree.Stale = true
			case 3: // a message for all
				now += int64(time.Duration(arg) * time.Second)
				if s.tree.Due(now) {
					all := append([]*Receiver(nil), s.all...)
					s.tree.Grow(now, all, s.rank, s.salt)
					for _, each := range s.all {
						require.Equal(t, s.rank(each) == OutOfTree, each.Branch == nil, "a new tree has all who may be in it")
					}
				}
			case 4: // heads do not leave: their branch is made anew
				if r.Branch != nil && r.Index >= 0 {
					r.Leave()
				}
			case 5:
				if r.Branch != nil {
					r.PassBy(uint64(arg))
				}
			case 6: // the next message tells the heads
				for _, b := range s.tree.Branches {
					for _, skip := range b.skipList(nil) {
						require.Less(t, int(skip.Index), len(b.Stops))
					}
					b.clearSkips()
					require.Empty(t, b.skipList(nil), "what was told is told once")
				}
			case 7:
				if r.Branch != nil {
					s.tree.Replant(r.Branch, s.rank, s.salt)
				}
			}
			checkTree(t, s)
		}
	})
}

// checkTree compares the branches with where their receivers believe to be.
func checkTree(t *testing.T, s *treeScript) {
	t.Helper()
	in := make(map[*Receiver]bool)
	for _, b := range s.tree.Branches {
		require.NotNil(t, b.Head)
		for _, r := range append(b.Stops[:len(b.Stops):len(b.Stops)], b.Head) {
			if r == nil {
				continue // has left
			}
			require.False(t, in[r], "a receiver is in two places")
			in[r] = true
			require.Same(t, b, r.Branch)
		}
	}
	for _, r := range s.all {
		require.Equal(t, in[r], r.Branch != nil, "a receiver in a branch that is not there")
	}
}
