// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"

	"github.com/arke-mesh/arke/internal/script"
)

// TestNetworkScripts plays the stories in testdata/network: the cores of several nodes,
// n1, n2 and so on, on a network that loses nothing, where messages need no time. A step
// prints what members and callers of the cluster geo hear. Member 5 of node n2 is 5@n2.
//
//	nodes COUNT          so many nodes have been up for a minute
//	N register MEMBER    a member of geo begins to serve on a node; unregister MEMBER = it stops
//	N watch              somebody on the node calls geo
//	N crash              the node dies: all its sessions end
//	N start              it is started again, with nothing
//	part N …             these nodes and the others can't reach each other; with nobody = they can again
//	after TIME           time passes
//	leases               prints which members each anchor holds
func TestNetworkScripts(t *testing.T) {
	script.Run(t, "testdata/network", func() func(script.Step) []string {
		s := &networkScript{}
		return func(d script.Step) []string {
			if d.Cmd == "leases" {
				return s.leases()
			}
			s.obey(d)
			s.settle()
			return s.news()
		}
	})
}

type networkScript struct {
	*world
	seen  []string        // by the callers of each node
	acked map[string]bool // members that have been told
}

func (s *networkScript) obey(d script.Step) {
	switch d.Cmd {
	case "nodes":
		n := d.Number(0)
		s.world, s.seen, s.acked = newWorld(d.T(), 1, n), make([]string, n), make(map[string]bool)
		// The middle of an epoch: nothing rolls over by accident.
		s.now = testKeys("geo").NextChange(s.now).Add(time.Hour)
		s.arrange()
		for _, n := range s.nodes {
			s.start(n)
		}
		s.run(time.Minute)
		return
	case "part":
		for _, n := range s.nodes {
			n.side = 0
		}
		for _, w := range d.Words() {
			s.node(d, w).side = 1
		}
		for _, n := range s.nodes {
			for _, o := range s.nodes {
				if n.side != o.side {
					s.cut(n, o)
				}
			}
		}
		s.meet()
		return
	case "after":
		s.run(d.Time(0))
		return
	}
	n := s.node(d, d.Cmd)
	switch d.Word(0) {
	case "register":
		n.register("geo", MemberID(d.Number(1)))
	case "unregister":
		n.unregister(MemberID(d.Number(1)))
	case "watch":
		n.watch("geo")
	case "crash":
		s.crash(n)
	case "start":
		s.start(n)
	default:
		d.Unknown()
	}
}

// arrange numbers seven nodes by how close they are to the id of geo: n2, n3 and
// n4 are its anchors, n1, n6 and n7 come next, n5 last.
func (s *networkScript) arrange() {
	var all []peer.ID
	for _, n := range s.nodes {
		all = append(all, n.id)
	}
	all = byDistance(testKeys("geo").Epochs(s.now)[0].ID(), all)
	for i, rank := range [...]int{3, 0, 1, 2, 6, 4, 5} {
		s.nodes[i] = s.byID[all[rank]]
	}
}

func (s *networkScript) node(d script.Step, name string) *worldNode {
	i, err := strconv.Atoi(strings.TrimPrefix(name, "n"))
	if err != nil || i < 1 || i > len(s.nodes) {
		d.Fail("no such node: %s", name)
	}
	return s.nodes[i-1]
}

func (s *networkScript) name(l leaseKey) string {
	return fmt.Sprintf("%d@n%d", l.member, 1+slices.Index(s.nodes, s.byID[l.peer]))
}

// news is what members and callers have heard since it was called last.
func (s *networkScript) news() []string {
	var out []string
	for i, n := range s.nodes {
		if !n.up {
			s.seen[i] = ""
			continue
		}
		for m := range n.acked {
			if name := s.name(leaseKey{n.id, m}); !s.acked[name] {
				s.acked[name] = true
				out = append(out, name+" is registered")
			}
		}
		v := n.views["geo"]
		if v == nil {
			continue
		}
		var all []string
		for _, m := range v.Members {
			all = append(all, s.name(leaseKey{m.Peer, m.ID})+" "+m.State())
		}
		now := strings.Join(all, ", ")
		if len(all) == 0 {
			now = map[bool]string{true: "that geo is empty", false: "nobody, and does not know why"}[v.Empty]
		}
		if now != s.seen[i] {
			s.seen[i] = now
			out = append(out, fmt.Sprintf("n%d sees %s", i+1, now))
		}
	}
	return out
}

func (s *networkScript) leases() []string {
	var out []string
	for i, n := range s.nodes {
		if !n.up {
			continue
		}
		var held []string
		for _, b := range n.c.anchor.books {
			for _, l := range b.leases {
				held = append(held, s.name(l.leaseKey))
			}
		}
		if len(held) > 0 {
			out = append(out, fmt.Sprintf("n%d: %s", i+1, strings.Join(held, ", ")))
		}
	}
	return out
}
