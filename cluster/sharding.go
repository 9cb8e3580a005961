// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"time"

	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/security"
)

// sharding is how an anchor shards the cluster ids it holds. An id with too many leases
// takes no more: its members go to its shards, which are ids of their own, with other
// anchors. The anchors of a shard appoint deputies, who are registered under the sharded
// id as well. So that one lists somebody as long as there is anybody under a shard; and
// where all shards have few members all are deputies, the sharded id lists everybody,
// and it is whole again without anybody having to move.
//
// Deputies say what they are. So who becomes an anchor of a sharded id learns from
// the first one that it is, and needs nobody's word but the members'.
type sharding struct {
	shardLimits
	since map[*book]time.Time // sharded ids: since when each shard has had few leases
}

// crowds says whether one more lease is too many for b.
func (s *sharding) crowds(b *book) bool {
	return b != nil && !b.sharded && len(b.leases) >= s.whole
}

// refuses says whether the lease of k is not needed in b, where it is not held yet: its
// member is to go to a shard, or there are enough deputies of that.
func (s *sharding) refuses(b *book, k leaseKey, below bool) bool {
	return b != nil && b.sharded && (!below || s.before(b, k) >= s.most)
}

// before counts the deputies of k's shard whose keys are lower.
func (s *sharding) before(b *book, k leaseKey) (n int) {
	i, _ := b.findLease(k)
	number := shardOf(b.cid(), k)
	for _, l := range b.leases[:i] {
		if l.below && shardOf(b.cid(), l.leaseKey) == number {
			n++
		}
	}
	return n
}

// surplus lists the deputies of k's shard that are too many.
func (s *sharding) surplus(b *book, k leaseKey) (leases []*heldLease) {
	number, n := shardOf(b.cid(), k), 0
	for _, l := range b.leases {
		if !l.below || shardOf(b.cid(), l.leaseKey) != number {
			continue
		}
		if n++; n > s.most {
			leases = append(leases, l)
		}
	}
	return leases
}

// review makes b whole again if it is time, or plans when to look again.
func (s *sharding) review(now time.Time, b *book) {
	if !b.sharded {
		return
	}
	var held [shardCount]int
	for _, l := range b.leases {
		number := shardOf(b.cid(), l.leaseKey)
		if held[number]++; held[number] >= s.few {
			delete(s.since, b)
			return
		}
	}
	since, ok := s.since[b]
	if !ok {
		since = now
		s.since[b] = now
	}
	if at := since.Add(s.quiet); now.Before(at) {
		b.authority.plan(at)
		return
	}
	delete(s.since, b)
	b.reshard(false)
}

// reshard notes whether b's id has shards; watchers and members are told by the next flush.
func (b *book) reshard(on bool) {
	b.sharded = on
	b.public().resharded = true
}

// isDeputy says whether the lease is one of those that stand for b's id, should that be
// a shard: those with the lowest keys, so that all anchors appoint the same ones.
func (b *book) isDeputy(k leaseKey, deputies int) bool {
	i, ok := b.findLease(k)
	return ok && i < deputies
}

// answer is what a member hears of its lease.
func (b *book) answer(l *heldLease, deputies int) *registeredMsg {
	return &registeredMsg{
		cid: b.cid(), member: l.member, seq: l.seq, anchors: b.authority.anchorSet.anchors,
		sharded: b.sharded, deputy: b.isDeputy(l.leaseKey, deputies),
		pending: b.audience.announces(l.leaseKey),
	}
}

// appoint tells the last so many deputies that they are, after as many went.
func (s *sharding) appoint(out *outbox, b *book, went int) {
	for i := max(s.deputies-went, 0); i < min(s.deputies, len(b.leases)); i++ {
		out.send(b.leases[i].peer, b.answer(b.leases[i], s.deputies))
	}
}

// displace tells who is the first one not to be a deputy any more, after l was put in.
func (s *sharding) displace(out *outbox, b *book, l *heldLease) {
	if len(b.leases) > s.deputies && b.isDeputy(l.leaseKey, s.deputies) {
		next := b.leases[s.deputies]
		out.send(next.peer, b.answer(next, s.deputies))
	}
}

// superfluous is what a member hears that is not needed.
func (l *heldLease) superfluous(cid security.ClusterID) *registeredMsg {
	return &registeredMsg{cid: cid, member: l.member, seq: l.seq, refusal: wire.Refusal_SHARDED, sharded: true}
}
