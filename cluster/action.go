// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"time"

	"github.com/libp2p/go-libp2p/core/peer"

	"github.com/arke-mesh/arke/internal/drop"
	"github.com/arke-mesh/arke/security"
)

// base is what all cores of a node stand on.
type base struct {
	self    peer.ID
	network security.NetworkID
	key     security.NodeKey // signs this node's leases
	verify  func(l security.Lease, signature []byte) error
	out     *outbox
	rng     *prng // jitter
	drops   drop.Counts[dropReason]
	peers   *peerTable
	finder  *finder
	epochs  *epochTable
	claims  *claims

	certificates Certificates
}

// check verifies that l is the word of its member's node, here and in this epoch.
func (b *base) check(cid security.ClusterID, l *lease) error {
	return b.verify(l.signed(b.network, cid), l.signature)
}

// action is what a core wants done; the loop performs actions in order.
type action interface{ isAction() }

type (
	// sendAction puts a message on the link to a peer. If that fails the loop
	// tells the core that sent it (sendFailed).
	sendAction struct {
		to  peer.ID
		msg message
	}
	// openAction begins to establish a link; a link event is the answer.
	openAction struct {
		to    peer.ID
		addrs []string
	}
	// holdAction starts or ends the interest in a peer's life.
	holdAction struct {
		peer peer.ID
		on   bool
	}
	// needAction starts or ends the wish that the link to a peer stays.
	needAction struct {
		peer peer.ID
		on   bool
	}
	// lookupAction asks the network for the peers closest to a cluster id;
	// control.lookedUp is the answer, always.
	lookupAction struct {
		cid   security.ClusterID
		count int
	}
	// publishAction shows a new view to callers.
	publishAction struct {
		name string
		view *View
	}
	// registeredAction ends a Register call.
	registeredAction struct {
		name   string
		member MemberID
		err    error // nil: acknowledged
	}
	// expireAction says that a watch has lingered for long enough; the loop
	// forgets it unless somebody came back.
	expireAction struct {
		name string
	}
)

func (sendAction) isAction()       {}
func (openAction) isAction()       {}
func (holdAction) isAction()       {}
func (needAction) isAction()       {}
func (lookupAction) isAction()     {}
func (publishAction) isAction()    {}
func (registeredAction) isAction() {}
func (expireAction) isAction()     {}

// outbox collects the actions of one step, for all cores of a node.
type outbox struct{ actions []action }

func (o *outbox) add(a action) { o.actions = append(o.actions, a) }

func (o *outbox) send(to peer.ID, m message) { o.add(sendAction{to, m}) }

// alarm remembers when a core has to be woken next. Cores lower it as they
// plan, and recompute it from all their plans once it has rung.
type alarm struct{ at time.Time }

// plan makes the alarm ring at t or before; zero plans nothing.
func (a *alarm) plan(t time.Time) {
	if !t.IsZero() && (a.at.IsZero() || t.Before(a.at)) {
		a.at = t
	}
}

// rings says whether it is time, and if so forgets the plan.
func (a *alarm) rings(now time.Time) bool {
	if a.at.IsZero() || now.Before(a.at) {
		return false
	}
	a.at = time.Time{}
	return true
}

// due says whether a planned time (zero = none) has come.
func due(t, now time.Time) bool { return !t.IsZero() && !now.Before(t) }

// check says whether a planned time has come; if not, the alarm rings then.
func (a *alarm) check(t, now time.Time) bool {
	if due(t, now) {
		return true
	}
	a.plan(t)
	return false
}

// backoff doubles from first up to limit, and adds up to a quarter, so that
// nodes that failed together do not come back together.
func backoff(d *prng, failures int, first, limit time.Duration) time.Duration {
	wait := limit
	if failures < 20 {
		wait = min(first<<failures, limit)
	}
	return wait + spread(d, wait/4)
}

// spread returns a random part of width.
func spread(d *prng, width time.Duration) time.Duration {
	return time.Duration(d.roll(int(max(width, 1))))
}
