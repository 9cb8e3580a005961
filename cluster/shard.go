// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"encoding/binary"
	"iter"
	"time"

	"github.com/arke-mesh/arke/security"
)

// shardCount is how many shards a cluster id has, if it has any.
const shardCount = 4

// deepestShard is how often a part of a cluster can be sharded again: a thousand parts are
// enough for half a million members, and all that anchors who lie can make callers ask for.
const deepestShard = 5

// shardLimits say when a cluster id is sharded.
type shardLimits struct {
	whole    int           // with more leases than this it is
	deputies int           // of each shard, as the anchors of the shard appoint them
	most     int           // of each shard, as the anchors of the sharded id hold them
	few      int           // where each shard has had fewer than this …
	quiet    time.Duration // … for so long, the id is whole again: all members are here
}

// usualShards are the limits of a network. That an id becomes whole with an eighth of the
// members that had it sharded keeps it from going to and fro.
func usualShards() shardLimits {
	return shardLimits{whole: 512, deputies: 32, most: 48, few: 16, quiet: 10 * time.Second}
}

// shardOf is which shard of cid a member belongs to. All nodes of all releases agree on it.
func shardOf(cid security.ClusterID, k leaseKey) int {
	return int(mix(binary.BigEndian.Uint64(cid[:])^mix(uint64(k.member))^hashString(string(k.peer))) % shardCount)
}

// shards are the shards of an epoch, or what it is itself a shard of.
type shards struct {
	of    *epoch // nil = it is the cluster's own
	depth int
	below [shardCount]*epoch // nil = not derived yet
}

// root is the cluster's own epoch.
func (e *epoch) root() *epoch {
	for e.shards != nil && e.shards.of != nil {
		e = e.shards.of
	}
	return e
}

// depth is how often the cluster was sharded for e.
func (e *epoch) depth() int {
	if e.shards == nil {
		return 0
	}
	return e.shards.depth
}

// derived returns a shard if somebody has asked for it before, or nil.
func (e *epoch) derived(number int) *epoch {
	if e.shards == nil {
		return nil
	}
	return e.shards.below[number]
}

// shard returns a shard, which is made once; nil = it can't be sharded any more.
func (e *epoch) shard(c *base, number int) *epoch {
	if e.depth() == deepestShard {
		return nil
	}
	if e.shards == nil {
		e.shards = &shards{}
	}
	if e.shards.below[number] == nil {
		keys := e.keys.Shard(number)
		e.shards.below[number] = &epoch{
			keys: keys, cid: keys.ID(), proof: keys.Prove(c.self), whole: e.whole,
			shards: &shards{of: e, depth: e.depth() + 1},
		}
	}
	return e.shards.below[number]
}

// downTo yields e and its shards that a member may be under, from above.
func (e *epoch) downTo(c *base, k leaseKey) iter.Seq[*epoch] {
	return func(yield func(*epoch) bool) {
		for x := e; x != nil && yield(x); {
			x = x.shard(c, shardOf(x.cid, k))
		}
	}
}
