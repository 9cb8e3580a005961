// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package fanout

import (
	"fmt"
	"slices"
	"strconv"
	"testing"

	"github.com/libp2p/go-libp2p/core/peer"

	"github.com/arke-mesh/arke/internal/script"
	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/patterns/pubsub/env"
)

// TestTreeScripts plays the stories in testdata/tree against the core that cuts
// receivers into branches. Receivers are numbers. A branch is printed as
//
//	path EPOCH: HEAD -> those behind it
//
// These are the steps:
//
//	receivers COUNT [publisher=NUMBER]  a publisher has so many receivers, and no tree yet
//	come COUNT                          more receivers come; they are reached directly until the next tree
//	rank RECEIVER HOW                   how good a forwarder it would be: linked, unlinked, doubted; lost = it is no receiver now
//	publish [at=TIME]                   a message for all needs a tree; prints it if it is new
//	alter                               something about receivers changed that a tree should know
//	replant HEAD                        another branch in the place of one
//	leave RECEIVER                      it wants other topics now, so it leaves its branch
//	pass RECEIVER [times=COUNT]         messages for it go another way than through its branch
//	message HEAD                        the next message through the branch: prints what the head is told with it
//	retell HEAD                         the head is told the whole path anew
//	shape COUNT                         forwarder by forwarder, how a message gets to so many receivers
func TestTreeScripts(t *testing.T) {
	script.Run(t, "testdata/tree", func() func(script.Step) []string { return (&treeScript{}).obey })
}

type treeScript struct {
	tree  Tree
	all   []*Receiver
	ranks map[*Receiver]int
	salt  uint64
}

var scriptRanks = map[string]int{"linked": 0, "unlinked": 1, "doubted": 2, "lost": OutOfTree}

func (s *treeScript) obey(d script.Step) []string {
	one := func() *Receiver { return s.all[d.Number(0)-1] }
	switch d.Cmd {
	case "receivers":
		*s = treeScript{ranks: make(map[*Receiver]int), salt: d.NumberOf("publisher", 1)}
		s.add(d.Number(0))
	case "come":
		s.add(d.Number(0))
		s.tree.Loose += d.Number(0)
	case "rank":
		s.ranks[one()] = scriptRanks[d.Word(1)]
	case "publish":
		now := int64(d.TimeOf("at", 0))
		if !s.tree.Due(now) {
			return []string{"the same tree"}
		}
		s.tree.Grow(now, slices.Clone(s.all), s.rank, s.salt)
		return s.show(s.tree.Branches...)
	case "alter":
		s.tree.Stale = true
	case "replant":
		old := make(map[*Branch]string)
		for _, b := range s.tree.Branches {
			old[b] = s.show(b)[0]
		}
		fresh := s.tree.Replant(one().Branch, s.rank, s.salt)
		if fresh == nil {
			return []string{"nobody is left", fmt.Sprintf("%d branches", len(s.tree.Branches))}
		}
		same := 0
		for _, b := range s.tree.Branches {
			if old[b] == s.show(b)[0] {
				same++
			}
		}
		return append(s.show(fresh), fmt.Sprintf("%d branches as before", same))
	case "leave":
		one().Leave()
	case "pass":
		one().PassBy(d.NumberOf("times", 1))
	case "message":
		b := one().Branch
		var out []string
		for _, skip := range b.skipList(nil) {
			r := s.name(b.Stops[skip.Index])
			if skip.Add == wire.SkipLeft {
				out = append(out, r+" has left")
			} else {
				out = append(out, fmt.Sprintf("%s had %d more", r, skip.Add))
			}
		}
		b.clearSkips()
		return out
	case "retell":
		one().Branch.compact()
		return s.show(one().Branch)
	case "shape":
		return []string{s.shape(d.T(), d.Number(0))}
	default:
		return d.Unknown()
	}
	return []string{"ok"}
}

func (s *treeScript) add(n int) {
	for range n {
		i := len(s.all) + 1
		s.all = append(s.all, &Receiver{Peer: peer.ID(fmt.Sprintf("%07d", i)), Hash: uint64(i)})
	}
}

func (s *treeScript) rank(r *Receiver) int { return s.ranks[r] }

func (s *treeScript) name(r *Receiver) string { return strconv.Itoa(slices.Index(s.all, r) + 1) }

func (s *treeScript) show(branches ...*Branch) (out []string) {
	for _, b := range branches {
		line := fmt.Sprintf("path %d: %s", b.Epoch, s.name(b.Head))
		if b.Forwards() {
			line += " ->"
		}
		for i, r := range b.Stops {
			switch {
			case r == nil:
				line += " (left)"
			case r.Branch != b || r.Index != i:
				line += " " + s.name(r) + " (elsewhere)"
			default:
				line += " " + s.name(r)
			}
		}
		out = append(out, line)
	}
	return out
}

// shape sends one message to n receivers with the product's own cutting.
func (s *treeScript) shape(t *testing.T, n int) string {
	rs := make([]*Receiver, n)
	for i := range rs {
		rs[i] = &Receiver{}
	}
	deepest, widest := 0, 0
	var send func(to []*Receiver, hop int)
	send = func(to []*Receiver, hop int) {
		branches := Cut(to, env.FanOut)
		widest = max(widest, len(branches))
		for _, b := range branches {
			b.Head.round++
			deepest = max(deepest, hop)
			if b.Forwards() {
				send(b.Stops, hop+1)
			}
		}
	}
	send(rs, 1)
	for _, r := range rs {
		if r.round != 1 {
			t.Fatal("reached twice, or not at all")
		}
	}
	return fmt.Sprintf("all are reached once; hops: %d; copies of one node: %d", deepest, widest)
}
