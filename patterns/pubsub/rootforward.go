// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package pubsub

import (
	"cmp"
	"slices"
	"sync"

	"github.com/libp2p/go-libp2p/core/peer"

	"github.com/arke-mesh/arke/cluster"
	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/overlay"
	"github.com/arke-mesh/arke/patterns/pubsub/env"
)

// forwarders is how many nodes of the root group pass on to the others.
const forwarders = 3

// rootForward decides whether this node, which listens to the root group, is one
// of its forwarders: the first ones in an order that all agree on.
type rootForward struct {
	l   *local
	key uint64 // for Exec

	mu        sync.Mutex
	active    bool             // guarded by mu; this node is in the root group …
	life      uint16           // guarded by mu; … in that life
	publisher *publisher       // guarded by mu; to the others; nil = not active
	member    cluster.MemberID // guarded by mu; of the registration; 0 = none
	timer     overlay.Timer    // guarded by mu
	busy      bool             // guarded by mu
	again     bool             // guarded by mu
	strict    bool             // the registration says that somebody asks for signatures; of who is busy
}

// settle takes in whether this node is in the root group now. It may wait for a
// registration.
func (f *rootForward) settle(active bool, life uint16) {
	f.mu.Lock()
	f.active, f.life = active, life
	f.mu.Unlock()
	f.look()
}

// look brings the registration up to date.
func (f *rootForward) look() {
	f.mu.Lock()
	if f.busy {
		f.again = true
		f.mu.Unlock()
		return
	}
	f.busy = true
	for {
		f.again = false
		active, life, p, member := f.active, f.life, f.publisher, f.member
		f.mu.Unlock()
		p, member = f.adjust(active, life, p, member)
		f.mu.Lock()
		f.publisher, f.member = p, member
		if !f.again {
			break
		}
	}
	f.busy = false
	if f.timer != nil {
		f.timer.Stop()
		f.timer = nil
	}
	f.armLocked()
	f.mu.Unlock()
}

// armLocked has the registration looked at again.
func (f *rootForward) armLocked() {
	if f.active {
		f.timer = f.l.After("pubsub.roster", env.CandidateTime, f.lookLater)
	}
}

func (f *rootForward) lookLater() {
	if !f.l.Work(overlay.ExecKey{Name: "pubsub.roster", N: f.key}, f.look) { // no worker is free
		f.mu.Lock()
		defer f.mu.Unlock()
		f.armLocked()
	}
}

// stop ends the timer.
func (f *rootForward) stop() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.active = false
	if f.timer != nil {
		f.timer.Stop()
	}
}

// adjust registers or withdraws this node as a forwarder.
func (f *rootForward) adjust(active bool, life uint16, p *publisher, member cluster.MemberID) (*publisher, cluster.MemberID) {
	l := f.l
	wide := env.ClusterOf(env.RootForwards)
	if active && p == nil {
		if p = l.publishers.use(env.RootGroup, true); p != nil {
			_ = p.await(l.Ctx, l.Base) // who forwards must know to whom
		}
	}
	wanted := active && p != nil && f.amongFirst(p, member != 0)
	strict := wanted && (l.asks(env.RootGroup) || othersAsk(p))
	switch {
	case wanted && (member == 0 || strict != f.strict || life != env.LifeOf(member)):
		r := cluster.Registration{Member: env.MemberIn(life, l.Random.Uint64())}
		if strict {
			r.Payload = wire.AppendInterests(nil, []wire.Interest{{Pattern: ">", Signed: true}})
		}
		if l.Cfg.Directory.Register(l.Ctx, wide, r) != nil {
			break // the next look tries again
		}
		if member != 0 {
			l.Cfg.Directory.Unregister(wide, member)
		}
		member, f.strict = r.Member, strict
	case !wanted && member != 0:
		l.Cfg.Directory.Unregister(wide, member)
		member = 0
	}
	if !active && p != nil {
		l.publishers.done(p)
		p = nil
	}
	return p, member
}

// othersAsk says whether another node in the root group asks for signatures.
func othersAsk(p *publisher) bool {
	p.lock()
	defer p.Unlock()
	return p.Audience.Strict > 0 && p.subscribers.Ask()
}

// amongFirst says whether this node is one of those that forward. As long as it
// does not know the others, to whom it would have to, it stays what it is.
func (f *rootForward) amongFirst(p *publisher, is bool) bool {
	v := p.watch.View()
	if !v.Known {
		return is
	}
	peers := []peer.ID{f.l.Self}
	for _, m := range v.Members {
		if !slices.Contains(peers, m.Peer) {
			peers = append(peers, m.Peer)
		}
	}
	slices.SortFunc(peers, func(a, b peer.ID) int {
		return cmp.Or(cmp.Compare(env.HashNode(string(a)), env.HashNode(string(b))), cmp.Compare(a, b))
	})
	return slices.Index(peers, f.l.Self) < forwarders
}
