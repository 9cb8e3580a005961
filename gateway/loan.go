// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package gateway

import (
	"fmt"
	"sync"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"
	"go.uber.org/zap"

	"github.com/arke-mesh/arke/cluster"
	"github.com/arke-mesh/arke/internal/node"
	"github.com/arke-mesh/arke/overlay"
	"github.com/arke-mesh/arke/patterns/request"
)

// loan is what a crossing lends of one network's members: it watches the cluster where
// they are found and is a member of it elsewhere.
type loan struct {
	*lend

	// Immutable.
	origin  cluster.NetworkID // the network whose members it lends; zero = that of the crossing
	name    string            // what callers know it as
	by      peer.ID           // who lent them first, where they are found; "" = the crossing's own
	address string            // of the cluster where it is from

	draining sync.WaitGroup // registrations that were given back and are not over

	mu    sync.Mutex
	reg   *node.Forwarded // guarded by mu; nil = it is not lent now
	shown seen            // guarded by mu: what was seen last
	fault error           // guarded by mu: why it could not be lent, if so
}

var _ request.Forwarder = (*loan)(nil)

// Times of a loan.
const (
	lookTime  = 500 * time.Millisecond // between looks: whose link is down no view tells
	lendTime  = 10 * time.Second       // for a registration to be acknowledged
	drainTime = 10 * time.Second       // for what is under way, when it is no longer lent
	retryTime = time.Second            // after what failed; doubled each time, up to …
	retryMost = 30 * time.Second
)

// retryAfter is how long to wait after n+1 failures in a row.
func retryAfter(n int) time.Duration { return min(retryTime<<min(n, 10), retryMost) }

// native says that the members are those of the crossing's own network.
func (l *loan) native() bool { return l.origin == cluster.NetworkID{} }

// way is where its messages go.
func (l *loan) way() way {
	return way{borrower: l.to.NetworkID(), lender: l.from.NetworkID(), origin: l.origin}
}

// run keeps it lent while it has members.
func (l *loan) run() {
	w := l.from.Watch(l.what.Cluster)
	defer w.Release()
	label := fmt.Sprintf("gateway.look %x", loanNumber(l))
	var core offer
	for {
		v := w.View()
		s := look(v, l.transit(l.origin), l.from.NetworkID(), (*cluster.Member).State)
		s.reckon(l.reach, l.native())
		l.mu.Lock()
		l.shown = s
		l.mu.Unlock()
		if !l.do(core.step(l.of.clock.Now(), s), &core) {
			core.failed()
			if !overlay.Sleep(l.ctx, l.of.clock, "gateway.retry", retryTime) {
				break
			}
			continue
		}
		if !l.native() && !core.lent && s.members == 0 {
			break // if somebody lends it again, another loan begins
		}
		if !l.watches(w, v, label) {
			break
		}
	}
	l.of.drain(l.take())
	l.draining.Wait()
}

// do carries an order out, and says whether it could.
func (l *loan) do(o order, core *offer) bool {
	switch reg := l.registration(); o {
	case orderLend:
		return l.register(core)
	case orderRevise:
		reg.Revise(l.terms(core))
	case orderDoubt:
		reg.Suspect(core.suspect)
	case orderReturn:
		l.log.Info("no longer lent: it has no member", zap.String("of", l.name))
		l.take()
		l.draining.Add(1)
		l.of.spawn(overlay.ExecKey{Name: "gateway.drain", N: loanNumber(l)}, func() { // a cluster that comes back is not kept waiting
			defer l.draining.Done()
			l.of.drain(reg)
		})
	}
	return true
}

// register makes it a member in the other network.
func (l *loan) register(core *offer) bool {
	// Not l.ctx: callers may know the member before it is acknowledged, and what they have
	// sent is finished.
	reg, err := l.lends(l.of.ctx, l.what.As, l.terms(core), l)
	l.mu.Lock()
	l.fault = err
	if err == nil {
		l.reg = reg
		l.settled.Store(true)
	}
	l.mu.Unlock()
	if err != nil {
		l.warn(err, zap.String("of", l.name))
		return false
	}
	l.log.Info("lent", zap.String("of", l.name), zap.Int("capacity", core.capacity))
	return true
}

// terms are what callers in the other network know of it.
func (l *loan) terms(core *offer) cluster.Registration {
	return cluster.Registration{
		Network: l.name, Networks: core.networks, Priority: l.what.Priority, Capacity: core.capacity, MaxMessage: core.maxMessage,
	}
}

func (l *loan) registration() *node.Forwarded {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.reg
}

// take returns the registration, once.
func (l *loan) take() *node.Forwarded {
	l.mu.Lock()
	defer l.mu.Unlock()
	reg := l.reg
	l.reg = nil
	return reg
}
