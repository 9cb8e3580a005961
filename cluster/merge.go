// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"bytes"
	"slices"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"
)

// flush makes the views anew of whatever has changed since the last one.
func (k *lookout) flush(now time.Time) {
	for len(k.touched) > 0 {
		w := k.touched[0]
		k.touched = k.touched[1:]
		w.touched = false
		if k.names[w.name] == w {
			k.refresh(now, w)
		}
	}
	k.touched = nil
}

// refresh publishes w's view if it is another one now.
func (k *lookout) refresh(now time.Time, w *watched) {
	found := fuse(w.sights)
	v := &View{pool: w.view.pool}
	members := make(map[leaseKey]*Member, len(found))
	for _, f := range found {
		m := k.member(w, f)
		members[f.leaseKey] = m
		v.Members = append(v.Members, m)
	}
	slices.SortFunc(v.Members, compareMembers)
	v.Empty = len(v.Members) == 0 && believedEmpty(w.sights)
	v.Known = v.Empty || len(v.Members) > 0
	v.Told = complete(w.sights, true)
	v.Complete = complete(w.sights, w.view.Complete)
	for key, m := range w.members {
		if members[key] == nil || members[key].load != m.load {
			m.load.setFlag(flagGone, true)
		}
	}
	w.members = members
	for _, s := range w.sights {
		s.tidy(len(found))
	}
	if slices.Equal(v.Members, w.view.Members) && v.Known == w.view.Known && v.Told == w.view.Told && v.Complete == w.view.Complete {
		return
	}
	v.rota = newRota(k.self, k.zone, v.Members)
	loads := make([]*load, len(v.Members))
	for i, m := range v.Members {
		loads[i] = m.load
	}
	v.pool.setLoads(loads)
	w.view = v
	k.dial(now, w, v.rota.one)
	k.out.add(publishAction{w.name, v})
}

// member returns the Member for f: the same one as before if nothing about it
// has changed, with the same health if it is only described differently.
func (k *lookout) member(w *watched, f *fused) *Member {
	old := w.members[f.leaseKey]
	m := old
	if old == nil || old.Incarnation != f.incarnation || !old.describes(f.described) {
		m = &Member{
			ID: f.member, Peer: f.peer, Incarnation: f.incarnation, Zone: f.zone,
			Capacity: f.capacity, MaxMessage: f.maxMessage, Addrs: f.addrs, Payload: f.payload,
		}
		if old != nil && old.Incarnation == f.incarnation && old.Capacity == f.capacity {
			m.load = old.load
		} else {
			m.load = newLoad(w.view.pool, f.capacity)
		}
	}
	m.load.setFlag(flagSuspect, f.suspect)
	k.flagLink(m)
	return m
}

func (m *Member) describes(d *described) bool {
	return m.Zone == d.zone && m.Capacity == d.capacity && m.MaxMessage == d.maxMessage && slices.Equal(m.Addrs, d.addrs) &&
		bytes.Equal(m.Payload, d.payload)
}

// dial keeps links up to the nodes of these members, and no others.
func (k *lookout) dial(now time.Time, w *watched, members []*Member) {
	dialled := make(map[peer.ID]bool, len(members))
	for _, m := range members {
		if dialled[m.Peer] {
			continue
		}
		dialled[m.Peer] = true
		if w.dialled[m.Peer] {
			k.reach.learn(m.Peer, m.Addrs)
		} else {
			k.reach.want(now, m.Peer, m.Addrs)
		}
	}
	var gone []peer.ID
	for p := range w.dialled {
		if !dialled[p] {
			gone = append(gone, p)
		}
	}
	slices.Sort(gone)
	for _, p := range gone {
		k.reach.unwant(p)
	}
	w.dialled = dialled
}

// tidy forgets checks of leases that nobody lists any more.
func (s *sight) tidy(members int) {
	if len(s.known) <= 2*members+64 && len(s.proofs) <= 2*members+64 {
		return
	}
	listed := make(map[leaseKey]bool)
	peers := make(map[peer.ID]bool)
	for _, c := range s.sources {
		for key := range c.set {
			listed[key], peers[key.peer] = true, true
		}
		for key := range c.coming {
			listed[key], peers[key.peer] = true, true
		}
	}
	for key := range s.known {
		if !listed[key] {
			delete(s.known, key)
		}
	}
	for p := range s.proofs {
		if !peers[p] {
			delete(s.proofs, p)
		}
	}
	for _, c := range s.sources {
		for key := range c.lost {
			if !listed[key] {
				delete(c.lost, key)
			}
		}
	}
}
