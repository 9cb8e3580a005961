// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package relay

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/relay/policy"
)

// openTimeout is what a Serve or a Subscribe has that says nothing.
const openTimeout = 30 * time.Second

// place is what a client has at the node: a registration or a subscription.
type place interface {
	// open takes the place, and returns the value that the client is told.
	open(ctx context.Context) (value uint64, err error)
	// close gives it back, in good order until ctx ends.
	close(ctx context.Context) error
	// name is the cluster or the pattern.
	name() string
	// excess says why the relay can't keep what the place asks for.
	excess(*Limits) error
}

// claimKind tells registrations and subscriptions apart.
type claimKind uint8

const (
	registration claimKind = iota
	subscription
	claimKinds
)

// kinds is what sets them apart.
var kinds = [claimKinds]struct {
	lane wire.Lane   // where the client is told of a claim: behind what comes for it
	verb policy.Verb // what the client does with the place, in the policy's words
}{
	registration: {wire.LaneCtl, policy.Serve},
	subscription: {wire.LanePub, policy.Subscribe},
}

// claims are the registrations and subscriptions of one client: ids that it has
// chosen, and the places that they stand for. One that is open has no goroutine.
type claims struct {
	c *client

	// Guarded by mu.
	mu    sync.Mutex
	byID  map[uint64]*claim
	count [claimKinds]int
	parts [claimKinds]portion
}

func newClaims(c *client, number uint64) *claims {
	s := &c.relay.shares
	return &claims{c: c, byID: map[uint64]*claim{}, parts: [claimKinds]portion{
		registration: s.registrations.Portion(number, ownFew, stepFew),
		subscription: s.subscriptions.Portion(number, ownPlaces, stepPlaces),
	}}
}

// claim is one of them.
type claim struct {
	place
	of   *claims
	id   uint64
	kind claimKind
	// refused is why the client may not have it, under a policy.
	refused error
	under   *policy.Policy

	// Lifecycle.
	ctx     context.Context // when it ends, everything is over at once
	cancel  context.CancelFunc
	opening context.Context // ends with the time to open it, or when it is to close
	giveUp  context.CancelFunc
	gone    chan struct{} // closed when the id is free

	// Guarded by of.mu.
	opened   bool
	leaving  bool
	asked    bool          // a Done for a Leave is due
	patience time.Duration // that closing may take; 0 = as long as it needs
}

// begin takes an id for a place. An error says that the client broke the protocol.
func (s *claims) begin(id uint64, kind claimKind, timeout uint64, p place) error {
	k := &claim{place: p, of: s, id: id, kind: kind, gone: make(chan struct{})}
	k.refused, k.under = s.c.rights.refuse(kinds[k.kind].verb, p.name()), s.c.rights.under
	k.ctx, k.cancel = context.WithCancel(s.c.ctx)
	k.opening, k.giveUp = s.c.relay.within(k.ctx, micros(timeout, openTimeout))
	err := s.add(k)
	switch {
	case err == errDuplicate:
		k.cancel()
		return undue(fmt.Sprintf("id %d is in use", id))
	case err == nil:
		if err = s.c.work("relay/open", k.run); err == nil {
			return nil
		}
		s.forget(k)
	}
	k.cancel()
	s.c.relay.count.limit(err)
	s.c.answers.done(kinds[k.kind].lane, id, err, 0)
	return nil
}

// add takes a place among the client's claims.
func (s *claims) add(k *claim) error {
	limits := &s.c.relay.cfg.Limits
	most := [claimKinds]int{registration: limits.Registrations, subscription: limits.Subscriptions}
	excess := k.excess(limits)
	refusals := &s.c.relay.refusals
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.byID[k.id] != nil:
		return errDuplicate
	case k.refused != nil:
		return k.refused
	case s.c.relay.isDraining():
		return errDraining
	case excess != nil:
		return excess
	case s.count[k.kind] >= most[k.kind]:
		return refusals.claims[k.kind].tooMany
	case !s.parts[k.kind].Cover(s.count[k.kind] + 1):
		return refusals.claims[k.kind].share
	}
	s.byID[k.id] = k
	s.count[k.kind]++
	return nil
}

// run opens the claim's place.
func (k *claim) run() {
	c := k.of.c
	if p := c.relay.law.policy.Load(); p != k.under { // it was replaced when k was not among all yet
		k.of.obey(p)
	}
	value, err := k.open(k.opening)
	k.giveUp()
	if err != nil {
		if c.relay.isDraining() {
			err = errDraining
		}
		asked := k.of.forget(k)
		c.answers.done(kinds[k.kind].lane, k.id, err, 0)
		if asked {
			c.answers.done(kinds[k.kind].lane, k.id, nil, 0)
		}
		return
	}
	k.of.mu.Lock()
	k.opened, k.leaving = true, k.leaving || k.ctx.Err() != nil
	leaving := k.leaving
	k.of.mu.Unlock()
	c.answers.done(kinds[k.kind].lane, k.id, nil, value)
	c.sess.Want(k.of.wanted)
	if leaving {
		k.shut()
	}
}

// wanted says whether anybody wants to know that the client lives.
func (s *claims) wanted() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.count[registration] > 0
}

// handleLeave ends a claim; one that is gone already is what is wanted.
func (s *claims) handleLeave(body []byte) error {
	f, err := wire.DecodeLeave(body)
	if err != nil {
		return malformed(err)
	}
	s.mu.Lock()
	k := s.byID[f.ID]
	again := k != nil && k.asked
	if k != nil {
		k.asked = true
	}
	s.mu.Unlock()
	switch {
	case k == nil:
		s.c.answers.done(wire.LanePub, f.ID, nil, 0)
	case again:
		k.cancel()
	default:
		k.leave(micros(f.Timeout, 0))
	}
	return nil
}

// leave begins to close the claim's place, or no longer opens it.
func (k *claim) leave(patience time.Duration) {
	k.of.mu.Lock()
	first := !k.leaving
	if first {
		k.leaving, k.patience = true, patience
	}
	opened := k.opened
	k.of.mu.Unlock()
	if !first {
		return
	}
	k.giveUp()
	if opened && !k.of.c.spawn("relay/leave", k.shut) {
		k.cancel()
		k.shut()
	}
}

// shut closes the claim's place.
func (k *claim) shut() {
	ctx, cancel := k.ctx, k.cancel
	if k.patience > 0 {
		ctx, cancel = k.of.c.relay.within(ctx, k.patience)
	}
	defer cancel()
	err := k.close(ctx)
	if k.of.forget(k) {
		k.of.c.answers.done(kinds[k.kind].lane, k.id, err, 0)
	}
}

// forget gives the id free, and says whether the client waits for the end. It
// comes before whatever tells the client that the id is free.
func (s *claims) forget(k *claim) (asked bool) {
	s.mu.Lock()
	delete(s.byID, k.id)
	s.count[k.kind]--
	s.parts[k.kind].Cover(s.count[k.kind])
	asked = k.asked
	s.mu.Unlock()
	if k.kind == subscription {
		s.c.topics.forget(k.id)
	}
	s.c.sess.Want(s.wanted)
	k.cancel()
	close(k.gone)
	return asked
}

// find returns the place of a claim, nil if there is none.
func (s *claims) find(id uint64) place {
	s.mu.Lock()
	defer s.mu.Unlock()
	if k := s.byID[id]; k != nil {
		return k.place
	}
	return nil
}

// all returns the claims of a kind, in the order of their ids.
func (s *claims) all(kind claimKind) []*claim {
	s.mu.Lock()
	defer s.mu.Unlock()
	var list []*claim
	for _, k := range s.byID {
		if k.kind == kind {
			list = append(list, k)
		}
	}
	slices.SortFunc(list, func(a, b *claim) int { return cmp.Compare(a.id, b.id) })
	return list
}

// drain closes all claims of a kind, and waits for it; false if ctx ended before.
func (s *claims) drain(ctx context.Context, kind claimKind, patience time.Duration) bool {
	list := s.all(kind)
	for _, k := range list {
		k.leave(patience)
	}
	for _, k := range list {
		if !s.c.await(ctx, k.gone) {
			return false
		}
	}
	return true
}

// end closes all claims at once: the session has ended.
func (s *claims) end() {
	for kind := range claimKinds {
		for _, k := range s.all(kind) {
			k.leave(0)
		}
	}
}
