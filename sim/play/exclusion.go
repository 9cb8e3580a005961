// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package play

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"

	"github.com/arke-mesh/arke/sim/history"
	"github.com/arke-mesh/arke/sim/scenario"
)

// banWithin is the time after which every node knows of a ban.
const banWithin = 5 * time.Second

// ban puts nodes on the list of bans of the network's file, which one other node reads.
func (s *safe) ban(a scenario.Action) error {
	for _, name := range a.Nodes {
		id, err := s.crew.by[name].id()
		if err != nil {
			return err
		}
		s.mu.Lock()
		s.bans = append(slices.Clone(s.bans), id)
		s.mu.Unlock()
		s.exclude(s.crew.by[name], banWithin)
	}
	for _, n := range s.crew.nodes {
		if n.relay == nil && n.network == s.crew.by[a.Nodes[0]].network && n.alive() != nil && !slices.Contains(a.Nodes, n.name) && !n.isOut() {
			return s.bring(n, lock{"", n.key})
		}
	}
	return errors.New("play: nobody is left who could ban somebody")
}

// leaveOut excludes who holds the network's old key and is not to get the new one.
func (s *safe) leaveOut(a scenario.Action) {
	if a.On != "" {
		return
	}
	labels := make(map[string]bool)
	for _, name := range a.Nodes {
		labels[s.crew.by[name].key] = true
	}
	for _, n := range s.crew.nodes {
		if n.relay == nil && labels[n.key] && !slices.Contains(a.Nodes, n.name) {
			s.exclude(n, time.Duration(len(a.Nodes)-1)*a.Every.D())
		}
	}
}

// exclude notes that a node and its clients are out: nothing is promised to them any
// more, and within a time nobody answers them, asks them, or lists them.
func (s *safe) exclude(node *crewNode, within time.Duration) {
	for _, n := range s.crew.nodes {
		if n.carrier() != node || !n.putOut() {
			continue
		}
		l := n.alive()
		if l == nil {
			continue
		}
		begun := s.crew.p.level.Now()
		tenures := n.tenures(l)
		s.crew.p.record.leaving(tenures, begun)
		s.crew.p.record.note(func(h *history.History) { h.Nodes[l.index].Until, h.Nodes[l.index].How = begun, history.Excluded })
		s.crew.p.at(begun+within, "out "+n.name, func() { s.out(n, l, tenures) })
	}
}

// out notes that a node is a stranger from now on, with another life in the history.
func (s *safe) out(n *crewNode, l *life, tenures []int) {
	now, alive := s.crew.p.level.Now(), n.alive() == l
	s.crew.p.record.note(func(h *history.History) {
		for _, t := range tenures {
			if h.Tenures[t].Until < 0 {
				h.Tenures[t].Until = now
			}
		}
		if alive {
			again := h.Nodes[l.index]
			again.Key, again.From, again.Leaving, again.Until, again.How = history.Excluded, now, -1, -1, ""
			l.index = len(h.Nodes)
			h.Nodes = append(h.Nodes, again)
		}
	})
}

// id is the node's peer id, if it runs.
func (n *crewNode) id() (peer.ID, error) {
	l := n.alive()
	if l == nil {
		return "", fmt.Errorf("play: %s does not run: nobody knows its id", n.name)
	}
	return peer.Decode(l.Peer())
}

// putOut has the node be out; false = it is already.
func (n *crewNode) putOut() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	before := n.gone
	n.gone = true
	return !before
}

func (n *crewNode) isOut() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.gone
}

// label is that of the network's key that a node holds, as the history has it.
func (n *crewNode) label() string {
	if n.carrier().isOut() {
		return history.Excluded
	}
	return n.key
}

// outside says whether a node was a stranger then.
func outside(h *history.History, node string, at time.Duration) bool {
	return slices.ContainsFunc(h.Nodes, func(n history.Node) bool {
		return n.Name == node && n.Key == history.Excluded && n.From <= at && (n.Until < 0 || at <= n.Until)
	})
}
