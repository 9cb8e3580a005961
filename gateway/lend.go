// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package gateway

import (
	"cmp"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"

	"github.com/arke-mesh/arke/cluster"
	"github.com/arke-mesh/arke/overlay"
)

// lend is one crossing in force. It has a loan for each network whose members it lends:
// that of the crossing and, with transit, those that other gateways lend there.
type lend struct {
	// Immutable.
	inForce
	what    Crossing // without its limits
	asked   bool     // a pattern stands for it, and somebody has asked
	reach   *reach   // of from
	tunnels *tunnels
	sealed  *sealed // what is done instead where the gateway can't open it; else nil

	followed atomic.Bool // with transit: it was known once whom others lend
	settled  atomic.Bool // it was lent once
	made     time.Time
	used     atomic.Int64 // when the last message came, in ns since made; 0 = none has

	mu    sync.Mutex
	loans map[cluster.NetworkID]*loan // guarded by mu: by the networks that the members are from
	trip  time.Duration               // guarded by mu: of a message there and back, without its handler's time; smoothed
}

// maxLoans is of how many networks a crossing lends members, and maxCaused of how many that
// one peer there was the first to lend: whoever holds the network's key can invent
// networks, and shall not keep those of others out.
const (
	maxLoans  = 64
	maxCaused = maxLoans / 4
)

func newLend(g *Gateway, c Crossing) *lend {
	l := &lend{
		inForce: newInForce(g, c.From, c.To, c), what: c, reach: g.reaches[c.From], made: g.clock.Now(),
		loans: map[cluster.NetworkID]*loan{},
	}
	l.tunnels = newTunnels(l)
	return l
}

// touch notes that a message came.
func (l *lend) touch(now time.Time) { l.used.Store(int64(now.Sub(l.made))) }

// run has a loan for each network while there are members.
func (l *lend) run() {
	defer close(l.over)
	var wg sync.WaitGroup
	l.grant(&wg, cluster.NetworkID{}, l.what.From, "")
	if l.what.Transit {
		l.follow(&wg)
	}
	wg.Wait()
	l.tunnels.close()
}

// follow begins a loan for each network that others lend.
func (l *lend) follow(wg *sync.WaitGroup) {
	w := l.from.Watch(l.what.Cluster)
	defer w.Release()
	var leftOut map[cluster.NetworkID]bool
	for l.ctx.Err() == nil {
		v := w.View()
		now := make(map[cluster.NetworkID]bool)
		for _, m := range v.Members {
			if !m.Imported || len(m.Networks) == 0 || !l.transit(m.Networks[0]).Permits(m) {
				continue
			}
			if origin := m.Networks[0]; !l.grant(wg, origin, m.Network, m.Peer) && !now[origin] {
				if now[origin] = true; !leftOut[origin] {
					l.border.refused.Inc(refusedNetworks)
				}
			}
		}
		leftOut = now
		l.followed.Store(v.Believed())
		if !l.watches(w, v, "gateway.follow "+l.what.String()) {
			return
		}
	}
}

// grant begins a loan of that network's members, whom the peer by lends, unless there is
// one; false says that there is no room for it.
func (l *lend) grant(wg *sync.WaitGroup, origin cluster.NetworkID, name string, by peer.ID) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.loans[origin] != nil:
		return true
	case !roomFor(l.loans, by):
		return false
	}
	x := &loan{lend: l, origin: origin, name: name, by: by, address: l.what.Cluster}
	if x.native() {
		x.address += "@" + l.from.Home()
	}
	l.loans[origin] = x
	wg.Add(1)
	l.of.spawn(overlay.ExecKey{Name: "gateway.loan", N: loanNumber(x)}, func() {
		defer wg.Done()
		x.run()
		l.mu.Lock()
		defer l.mu.Unlock()
		delete(l.loans, origin)
	})
	return true
}

// roomFor says whether the peer may cause one more loan.
func roomFor(loans map[cluster.NetworkID]*loan, by peer.ID) bool {
	caused := 0
	for _, x := range loans {
		if x.by == by {
			caused++
		}
	}
	return len(loans) < maxLoans && caused < maxCaused
}

// transit says who may be lent of the members of a network: nobody who has come through
// the one that borrows.
func (l *lend) transit(origin cluster.NetworkID) *cluster.Transit {
	return &cluster.Transit{Origin: origin, Passed: []cluster.NetworkID{l.to.NetworkID()}}
}

// sorted returns the loans, that of the crossing's own network first.
func (l *lend) sorted() []*loan {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.SortedFunc(maps.Values(l.loans), func(a, b *loan) int { return cmp.Compare(string(a.origin[:]), string(b.origin[:])) })
}
