// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package pubsub

import (
	"sync"

	"github.com/libp2p/go-libp2p/core/peer"

	"github.com/arke-mesh/arke/internal/wire"
)

// spread sends the messages of one session to receivers, directly and through
// branches. Both the publisher and its forwarders are one; the owner's lock
// guards it.
type spread struct {
	e       *Engine
	source  peer.ID
	session uint64
	group   string
	lock    sync.Locker // the owner's
	root    bool

	audience audience
	epoch    uint32
	branches []*branch

	touched []*branch // scratch
	head    []byte    // scratch
	skips   []wire.Skip

	debts  []*receiver // that are owed their number
	paying bool        // a timer is set
}

// direct sends to one receiver alone.
func (s *spread) direct(r *receiver, parts [2][]byte) verdict {
	m := wire.Publish{Session: s.session, Run: r.run, Number: r.number + 1}
	s.head = m.AppendHead(s.head[:0])
	v, _ := r.pipe(s.e).send(r.at(), wire.KindPublish, s.head, parts[0], parts[1])
	if v != full {
		r.number++
		r.passBy(1)
		s.count(v, 1)
	}
	return v
}

// through sends to those of a branch that are in b.matched.
func (s *spread) through(o *outgoing, b *branch) verdict {
	q := b.head.pipe(s.e)
	if len(b.stops) > 0 && o.patient && q.doubtful() {
		return full // if the head is lost, they are reached on another way at once
	}
	if len(b.stops) > 0 && (!b.known || b.told != q.lossCount() || len(b.skips) > maxSkips) {
		if v := s.tell(b); v != sent {
			if v == lost {
				s.pass(b)
			}
			return v
		}
	}
	m := wire.Publish{Session: s.session, Run: b.head.run}
	parts := o.near
	if len(b.stops) > 0 {
		s.skips = b.skipList(s.skips[:0])
		m.Epoch, m.Skips, parts = s.epoch, s.skips, o.far
	}
	if b.headMatched() {
		m.Number = b.head.number + 1
	}
	s.head = m.AppendHead(s.head[:0])
	v, losses := q.send(b.head.at(), wire.KindPublish, s.head, parts[0], parts[1])
	switch v {
	case sent:
		for _, r := range b.matched {
			r.number++
		}
		b.clearSkips()
		b.known = b.known && b.told == losses
		s.count(v, 1)
	case lost:
		s.pass(b)
	}
	return v
}

// pass gives up a message for those of a branch: they will see that it is
// missing. The head has to be told anew how far they are.
func (s *spread) pass(b *branch) {
	for _, r := range b.matched {
		r.number++
	}
	b.known = false
	s.count(lost, len(b.matched))
}

// skip gives up a message for those of a branch whose lane is full.
func (s *spread) skip(b *branch) {
	for _, r := range b.matched {
		r.number++
		r.passBy(1)
	}
	s.e.drops.Add(dropForward, uint64(len(b.matched)))
	s.owe(b.head)
}

func (s *spread) count(v verdict, n int) {
	if v == sent {
		s.e.counts.copies.Add(uint64(n))
	} else {
		s.e.drops.Add(dropUnreachable, uint64(n))
	}
}

func (b *branch) headMatched() bool {
	for _, r := range b.matched {
		if r == b.head {
			return true
		}
	}
	return false
}

// tell tells the head of a branch who is behind it and how far each is.
func (s *spread) tell(b *branch) verdict {
	b.compact()
	q := b.head.pipe(s.e)
	first := q.lossCount()
	for from := 0; ; {
		p := wire.Path{
			Session: s.session, Run: b.head.run, Number: b.head.number, Epoch: s.epoch,
			Source: string(s.source), Group: s.group,
		}
		if s.root {
			p.Flags |= wire.FlagRoot
		}
		size := 0
		for from < len(b.stops) && size < pathBytes {
			stop := b.stops[from].stop()
			if n := stop.Size(); size+n > pathBytes && size > 0 {
				break
			}
			size += stop.Size()
			p.Stops = append(p.Stops, stop)
			from++
		}
		if from < len(b.stops) {
			p.Flags |= wire.FlagMore
		}
		v, losses := q.send(b.head.at(), wire.KindPath, p.AppendTo(nil))
		switch {
		case v != sent:
			b.known = false
			return v
		case losses != first:
			b.known = false
			return lost
		}
		if from == len(b.stops) {
			b.known, b.told = true, first
			return sent
		}
	}
}

// pathSize is about how many bytes tell sends.
func (b *branch) pathSize() (n int) {
	for _, r := range b.stops {
		if r != nil {
			stop := r.stop()
			n += stop.Size()
		}
	}
	return n + n/pathBytes*headRoom
}

// stop is r as a path names it.
func (r *receiver) stop() wire.Stop {
	s := wire.Stop{Peer: string(r.peer), Incarnation: r.incarnation, Run: r.run, Number: r.number, Interests: r.interests}
	for _, a := range r.addrs {
		if len(s.Addrs) < wire.MaxStopAddrs && len(a) < 256 {
			s.Addrs = append(s.Addrs, a)
		}
	}
	return s
}

// compact forgets the stops that have left; the numbers that are told next
// include everything.
func (b *branch) compact() {
	kept := make([]*receiver, 0, len(b.stops))
	for _, r := range b.stops {
		switch {
		case r == nil:
		case r.pending == wire.SkipLeft:
			r.branch, r.pending = nil, 0
		default:
			r.index, r.pending = len(kept), 0
			kept = append(kept, r)
		}
	}
	b.stops, b.skips = kept, b.skips[:0]
}

// mark tells a receiver how much was addressed to it.
func (s *spread) mark(r *receiver) verdict {
	if r.number == 0 {
		return sent
	}
	m := wire.PublishMark{Session: s.session, Run: r.run, Number: r.number, Source: string(s.source), Group: s.group}
	v, _ := r.pipe(s.e).send(r.at(), wire.KindPublishMark, m.AppendTo(nil))
	if v == full {
		s.owe(r)
	}
	return v
}

// remind tells a head that may have missed something how things stand.
func (s *spread) remind(b *branch) {
	if len(b.stops) == 0 {
		s.mark(b.head)
	} else if s.tell(b) == full {
		s.owe(b.head)
	}
}

// owe has r told its number, and those behind it theirs, when there is room:
// what was dropped may have been the last.
func (s *spread) owe(r *receiver) {
	if !r.owed {
		r.owed = true
		s.debts = append(s.debts, r)
	}
	if !s.paying {
		s.paying = true
		s.e.after("pubsub.owed", holeTime, func() {
			s.lock.Lock()
			defer s.lock.Unlock()
			s.paying = false
			s.pay()
		})
	}
}

// pay tells whom something is owed. Where a link is lost, its return does.
func (s *spread) pay() {
	debts := s.debts
	s.debts = nil
	for _, r := range debts {
		r.owed = false
		if r.branch != nil && r.index < 0 {
			s.remind(r.branch)
		} else {
			s.mark(r)
		}
	}
}

// sort puts the receivers of a message into their branches, and returns those
// that are reached directly. s.touched has the branches.
func (s *spread) sort(rs []*receiver, tree bool) (direct []*receiver) {
	s.touched = s.touched[:0]
	for _, r := range rs {
		if !tree || r.branch == nil || r.pending == wire.SkipLeft {
			direct = append(direct, r)
			continue
		}
		b := r.branch
		if len(b.matched) == 0 {
			s.touched = append(s.touched, b)
		}
		b.matched = append(b.matched, r)
	}
	return direct
}
