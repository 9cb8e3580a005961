// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package fanout

import (
	"slices"

	"github.com/libp2p/go-libp2p/core/peer"

	"github.com/arke-mesh/arke/cluster"
	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/patterns/pubsub/env"
)

// Subscribers is who listens to one group, by the views of its cluster: a pure
// core. Its owner's lock guards it.
type Subscribers struct {
	self      peer.ID
	rights    env.Rights
	audience  *Audience
	View      *cluster.View // that receivers was made of
	floor     uint16        // no run of a receiver that was forgotten has a higher count
	Receivers map[peer.ID]*Receiver
	known     map[*cluster.Member][]wire.Interest
	Malformed int // leases that can't be decoded
	changes   []Change
}

// SubscriberState is what a publisher knows of a receiver beside what forwarders do.
type SubscriberState struct {
	Members []*cluster.Member // its leases, of one life
	Gone    int64             // since when it is in no view; 0 = it is
	Doubted int64             // when a forwarder could not reach it; 0 = never
}

// Change is something that a view has changed.
type Change struct {
	What Changed
	R    *Receiver
}

// Changed says what a view has changed.
type Changed uint8

const (
	Came     Changed = iota // nobody knew it
	Returned                // it was in no view; it is to be told what it missed
	Altered                 // it has other interests
	Left                    // it is in no view any more
	Replaced                // it was started anew, or has begun to listen anew: another receiver is coming
)

// NewSubscribers has the audience follow the views that Refresh is given.
func NewSubscribers(self peer.ID, r env.Rights, a *Audience) Subscribers {
	return Subscribers{self: self, rights: r, audience: a, Receivers: make(map[peer.ID]*Receiver), known: make(map[*cluster.Member][]wire.Interest)}
}

// Refresh takes in a view, and returns what it changes. One that is not known
// any more is worth less than what was known before.
func (s *Subscribers) Refresh(now int64, v *cluster.View) []Change {
	if v == s.View || !v.Known {
		return nil
	}
	s.View, s.changes = v, nil
	present := make(map[peer.ID][]*cluster.Member)
	var order []peer.ID
	for _, m := range v.Members {
		if m.Peer == s.self {
			continue
		}
		old := present[m.Peer]
		switch {
		case len(old) == 0:
			order = append(order, m.Peer)
		case later(old[0], m):
			continue
		case later(m, old[0]):
			old = nil
		}
		present[m.Peer] = append(old, m)
	}
	for _, p := range order {
		s.attend(p, present[p])
	}
	for _, r := range s.Sorted() {
		if present[r.Peer] == nil && r.State.Gone == 0 {
			r.State.Gone = now
			s.note(Left, r)
		}
	}
	for m := range s.known {
		if !slices.Contains(present[m.Peer], m) {
			delete(s.known, m)
		}
	}
	return s.changes
}

func (s *Subscribers) note(what Changed, r *Receiver) {
	s.changes = append(s.changes, Change{what, r})
}

// Ask says whether somebody who is there asks for signatures.
func (s *Subscribers) Ask() bool {
	for _, r := range s.Receivers {
		if r.State.Gone == 0 && slices.ContainsFunc(r.Interests, func(i wire.Interest) bool { return i.Signed }) {
			return true
		}
	}
	return false
}

// Sorted returns the receivers in a fixed order.
func (s *Subscribers) Sorted() []*Receiver {
	return env.Sorted(s.Receivers, func(r *Receiver) peer.ID { return r.Peer })
}

// attend takes in the leases of one node.
func (s *Subscribers) attend(p peer.ID, members []*cluster.Member) {
	r := s.Receivers[p]
	if r != nil && r.State.Gone == 0 && slices.Equal(r.State.Members, members) {
		return
	}
	interests := s.interestsOf(members)
	if r != nil && r.in(members[0]) {
		back := r.State.Gone != 0
		r.Addrs, r.State.Members, r.State.Gone = members[0].Addrs, members, 0
		if back {
			s.note(Returned, r)
		}
		if !slices.Equal(r.Interests, interests) {
			s.audience.Remove(r)
			r.Interests = interests
			s.audience.Add(r)
			s.note(Altered, r)
		}
		return
	}
	count := s.floor + 1
	if r != nil {
		count = uint16(r.Run) + 1
		s.Remove(r)
		s.note(Replaced, r)
	}
	fresh := &Receiver{
		Peer: p, Hash: env.HashNode(string(p)), Addrs: members[0].Addrs, Interests: interests,
		Incarnation: members[0].Incarnation, Life: env.LifeOf(members[0].ID), State: &SubscriberState{Members: members},
	}
	fresh.Run = wire.MakeRun(fresh.Incarnation, fresh.Life, count)
	if r != nil {
		fresh.Hop = r.Hop // the link is the same
	}
	s.audience.Add(fresh)
	s.Receivers[p] = fresh
	s.note(Came, fresh)
}

// Renumber has what is addressed to r numbered anew.
func (r *Receiver) Renumber() {
	r.Run, r.Number, r.Base, r.Owed = wire.MakeRun(r.Incarnation, r.Life, uint16(r.Run)+1), 0, 0, false
}

// in says whether a lease is of the life that r is: the node has listened all the time,
// whether or not we saw it.
func (r *Receiver) in(m *cluster.Member) bool {
	return r.Incarnation == m.Incarnation && r.Life == env.LifeOf(m.ID)
}

// later says whether lease a is of a later life of its node than b.
func later(a, b *cluster.Member) bool {
	if a.Incarnation != b.Incarnation {
		return a.Incarnation > b.Incarnation
	}
	return int16(env.LifeOf(a.ID)-env.LifeOf(b.ID)) > 0
}

// Forget forgets r, which has been gone for long. If it returns its numbers begin anew,
// in a run that it does not know: else it would take them for late.
func (s *Subscribers) Forget(r *Receiver) {
	s.floor = max(s.floor, uint16(r.Run))
	s.Remove(r)
}

// Remove takes r out.
func (s *Subscribers) Remove(r *Receiver) {
	s.audience.Remove(r)
	delete(s.Receivers, r.Peer)
}

// interestsOf joins what the leases of one node say.
func (s *Subscribers) interestsOf(members []*cluster.Member) []wire.Interest {
	if len(members) == 1 {
		return s.interests(members[0])
	}
	var all []wire.Interest
	for _, m := range members {
		for _, i := range s.interests(m) {
			same := slices.IndexFunc(all, func(o wire.Interest) bool { return o.Pattern == i.Pattern && o.Queue == i.Queue })
			if same < 0 {
				all = append(all, i)
			} else {
				all[same].Weight = max(all[same].Weight, i.Weight)
				all[same].Signed = all[same].Signed || i.Signed
			}
		}
	}
	return all
}

func (s *Subscribers) interests(m *cluster.Member) []wire.Interest {
	is, ok := s.known[m]
	if !ok {
		var rest []byte
		var err error
		if is, rest, err = wire.DecodeInterests(m.Payload); err != nil || len(rest) > 0 {
			s.Malformed++
			is = nil
		}
		is = slices.DeleteFunc(env.Legal(is), func(i wire.Interest) bool {
			return !s.rights.MaySubscribe(m.Peer, m.Certificate, i.Pattern)
		})
		s.known[m] = is
	}
	return is
}
