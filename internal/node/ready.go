// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package node

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/arke-mesh/arke/cluster"
	"github.com/arke-mesh/arke/overlay"
	"github.com/arke-mesh/arke/patterns/request"
)

// settleTime is how long a node has run at least before it is ready: that of an
// anchor, which may call a cluster empty only then.
const settleTime = 1500 * time.Millisecond

// readiness is what Ready looks at.
type readiness struct {
	phase  uint32
	ran    time.Duration
	seeds  []overlay.SeedStatus
	peers  int
	served []cluster.ServedStatus
}

// why says why it is not ready; nil = it is.
func (r readiness) why() error {
	switch {
	case r.phase != phaseRunning:
		return errors.New("the node is " + phaseName(r.phase))
	case r.peers == 0 && slices.ContainsFunc(r.seeds, func(s overlay.SeedStatus) bool { return s.State != overlay.SeedSelf }):
		return errors.New("no seed could be joined yet")
	case r.ran < settleTime:
		return errors.New("the node has just been started")
	}
	for _, s := range r.served {
		if s.Acknowledged < s.Members {
			return fmt.Errorf("%d of %d members of %s are not registered yet", s.Members-s.Acknowledged, s.Members, s.Cluster)
		}
	}
	return nil
}

// Ready says why programs should not rely on the node yet; nil means that it has
// joined and settled. A node without seeds, or whose seeds all lead to itself, need not
// join anybody: it may be the first of its network. One that has lost all its peers is not ready, and
// neither is one that drains.
func (n *Node) Ready() error {
	r := readiness{phase: n.phase.Load(), ran: n.ran(n.outside.Clock.Now()), seeds: n.overlay.Search().Seeds, peers: n.overlay.Router().Size(), served: n.clusters.Status().Served}
	return r.why()
}

// Ledgers count how the requests ended that were made here: see
// request.Engine.Ledgers.
func (n *Node) Ledgers() []*request.Ledger { return n.requests.Ledgers() }
