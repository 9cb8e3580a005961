// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package pubsub

import (
	"slices"

	"github.com/libp2p/go-libp2p/core/peer"

	"github.com/arke-mesh/arke/cluster"
	"github.com/arke-mesh/arke/internal/wire"
)

// subscribers is who listens to one group, by the views of its cluster: a pure
// core. Its owner's lock guards it.
type subscribers struct {
	self      peer.ID
	rights    Rights
	audience  *audience
	view      *cluster.View // that receivers was made of
	receivers map[peer.ID]*receiver
	known     map[*cluster.Member][]wire.Interest
	malformed int // leases that can't be decoded
	changes   []change
}

// subscriberState is what a publisher knows of a receiver beside what forwarders do.
type subscriberState struct {
	members []*cluster.Member // its leases, of one incarnation
	gone    int64             // since when it is in no view; 0 = it is
	doubted int64             // when a forwarder could not reach it; 0 = never
}

// change is something that a view has changed.
type change struct {
	what changed
	r    *receiver
}

type changed uint8

const (
	came     changed = iota // nobody knew it
	returned                // it was in no view; it is to be told what it missed
	altered                 // it has other interests
	left                    // it is in no view any more
	replaced                // it was started anew: another receiver is coming
)

func newSubscribers(self peer.ID, r Rights, a *audience) subscribers {
	return subscribers{self: self, rights: r, audience: a, receivers: make(map[peer.ID]*receiver), known: make(map[*cluster.Member][]wire.Interest)}
}

// refresh takes in a view, and returns what it changes. One that is not known
// any more is worth less than what was known before.
func (s *subscribers) refresh(now int64, v *cluster.View) []change {
	if v == s.view || !v.Known {
		return nil
	}
	s.view, s.changes = v, nil
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
		case old[0].Incarnation > m.Incarnation:
			continue
		case old[0].Incarnation < m.Incarnation:
			old = nil
		}
		present[m.Peer] = append(old, m)
	}
	for _, p := range order {
		s.attend(p, present[p])
	}
	for _, r := range s.sorted() {
		if present[r.peer] == nil && r.state.gone == 0 {
			r.state.gone = now
			s.note(left, r)
		}
	}
	for m := range s.known {
		if !slices.Contains(present[m.Peer], m) {
			delete(s.known, m)
		}
	}
	return s.changes
}

func (s *subscribers) note(what changed, r *receiver) {
	s.changes = append(s.changes, change{what, r})
}

// ask says whether somebody who is there asks for signatures.
func (s *subscribers) ask() bool {
	for _, r := range s.receivers {
		if r.state.gone == 0 && slices.ContainsFunc(r.interests, func(i wire.Interest) bool { return i.Signed }) {
			return true
		}
	}
	return false
}

// sorted returns the receivers in a fixed order.
func (s *subscribers) sorted() []*receiver {
	return sorted(s.receivers, func(r *receiver) peer.ID { return r.peer })
}

// attend takes in the leases of one node.
func (s *subscribers) attend(p peer.ID, members []*cluster.Member) {
	r := s.receivers[p]
	if r != nil && r.state.gone == 0 && r.incarnation == members[0].Incarnation && slices.Equal(r.state.members, members) {
		return
	}
	interests := s.interestsOf(members)
	if r != nil && r.resumes(members) {
		back := r.state.gone != 0
		r.addrs, r.state.members, r.state.gone = members[0].Addrs, members, 0
		if back {
			s.note(returned, r)
		}
		if !slices.Equal(r.interests, interests) {
			s.audience.remove(r)
			r.interests = interests
			s.audience.add(r)
			s.note(altered, r)
		}
		return
	}
	count := uint16(1)
	if r != nil {
		count = uint16(r.run) + 1
		s.remove(r)
		s.note(replaced, r)
	}
	fresh := &receiver{
		peer: p, hash: hashNode(string(p)), addrs: members[0].Addrs, interests: interests,
		incarnation: members[0].Incarnation, run: wire.MakeRun(members[0].Incarnation, count), state: &subscriberState{members: members},
	}
	if r != nil {
		fresh.hop = r.hop // the link is the same
	}
	s.audience.add(fresh)
	s.receivers[p] = fresh
	s.note(came, fresh)
}

// renumber has what is addressed to r numbered anew.
func (r *receiver) renumber() {
	r.run, r.number, r.base, r.owed = wire.MakeRun(r.incarnation, uint16(r.run)+1), 0, 0, false
}

// resumes says whether these leases are of a node that has listened all the
// time: it has a lease that we knew, or has never been away.
func (r *receiver) resumes(members []*cluster.Member) bool {
	if r.incarnation != members[0].Incarnation {
		return false
	}
	if r.state.gone == 0 {
		return true
	}
	return slices.ContainsFunc(members, func(m *cluster.Member) bool {
		return slices.ContainsFunc(r.state.members, func(o *cluster.Member) bool { return o.ID == m.ID })
	})
}

// remove forgets r.
func (s *subscribers) remove(r *receiver) {
	s.audience.remove(r)
	delete(s.receivers, r.peer)
}

// interestsOf joins what the leases of one node say.
func (s *subscribers) interestsOf(members []*cluster.Member) []wire.Interest {
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

func (s *subscribers) interests(m *cluster.Member) []wire.Interest {
	is, ok := s.known[m]
	if !ok {
		var rest []byte
		var err error
		if is, rest, err = wire.DecodeInterests(m.Payload); err != nil || len(rest) > 0 {
			s.malformed++
			is = nil
		}
		is = slices.DeleteFunc(legal(is), func(i wire.Interest) bool {
			return !s.rights.MaySubscribe(m.Peer, m.Certificate, i.Pattern)
		})
		s.known[m] = is
	}
	return is
}
