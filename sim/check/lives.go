// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package check

import (
	"cmp"
	"slices"
	"time"

	"github.com/arke-mesh/arke/sim/history"
)

// lives knows which life of a node was when, and what it held. It never changes
// after newLives. A life is named by its index in History.Nodes.
type lives struct {
	h       *history.History
	byName  map[string][]int    // node → its lives, in order
	clients map[string][]string // relay → its clients, by name
}

func newLives(h *history.History) *lives {
	l := &lives{h: h, byName: make(map[string][]int), clients: make(map[string][]string)}
	for i := range h.Nodes {
		n := &h.Nodes[i]
		if n.Relay != "" && len(l.byName[n.Name]) == 0 {
			l.clients[n.Relay] = append(l.clients[n.Relay], n.Name)
		}
		l.byName[n.Name] = append(l.byName[n.Name], i)
	}
	for _, list := range l.clients {
		slices.Sort(list)
	}
	for _, list := range l.byName {
		slices.SortStableFunc(list, func(a, b int) int { return cmp.Compare(h.Nodes[a].From, h.Nodes[b].From) })
	}
	return l
}

// at is the node's life at that time: the last one that had begun, or else its
// first; -1 if there is no such node.
func (l *lives) at(node string, at time.Duration) int {
	list := l.byName[node]
	if len(list) == 0 {
		return -1
	}
	i, _ := slices.BinarySearchFunc(list, at, func(life int, at time.Duration) int {
		if l.h.Nodes[life].From > at {
			return 1
		}
		return -1
	})
	return list[max(i-1, 0)]
}

// during is when a life was, at most until the run's end.
func (l *lives) during(life int) span {
	n := &l.h.Nodes[life]
	if n.Until < 0 {
		return span{n.From, l.h.End}
	}
	return span{n.From, min(n.Until, l.h.End)}
}

// peerOf is the peer id of a node's life at that time.
func (l *lives) peerOf(node string, at time.Duration) string {
	if life := l.at(node, at); life >= 0 {
		return l.h.Nodes[life].Peer
	}
	return ""
}

// late says whether a life began after the network stood.
func (l *lives) late(life int) bool { return life >= 0 && l.h.Nodes[life].From > l.h.Start }

// died says whether a life ended without a farewell.
func (l *lives) died(life int) bool {
	n := &l.h.Nodes[life]
	return n.Until >= 0 && n.How != "stopped"
}

// acquainted says whether two lives of nodes hold the same keys for a cluster.
func (l *lives) acquainted(a, b int, cluster string) bool {
	if a < 0 || b < 0 {
		return false
	}
	x, y := &l.h.Nodes[a], &l.h.Nodes[b]
	return x.Key == y.Key && x.Keys[cluster] == y.Keys[cluster]
}

// nameOf is the node of a peer.
func (l *lives) nameOf(peer string) string {
	for i := range l.h.Nodes {
		if l.h.Nodes[i].Peer == peer {
			return l.h.Nodes[i].Name
		}
	}
	return peer
}
