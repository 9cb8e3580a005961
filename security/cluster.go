// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package security

import (
	"encoding/hex"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"
)

// ClusterID is the blinded id of a cluster in one epoch: where on the overlay
// its anchors are. To who lacks the cluster key it is 32 random bytes.
type ClusterID [32]byte

// String returns 64 hexadecimal digits.
func (id ClusterID) String() string { return hex.EncodeToString(id[:]) }

// Cluster holds the keys of one cluster and what is derived from them. All
// methods may be called concurrently. Printing it shows no key.
type Cluster struct {
	// Immutable after New.
	name    string
	derived bool
	plan    schedule
	keys    []hidden[clusterKey] // the accepted ones, newest first

	subkeys hidden[subkeys] // locks itself

	// Guarded by mu, which is held while keys are derived but never across
	// anything that blocks.
	mu     sync.Mutex
	epochs []Epoch // the ones last asked for
}

// clusterKey is one version of the key, with the route key derived from it.
type clusterKey struct {
	version uint32
	id      KeyID
	key     Key
	route   Key
}

// NewCluster returns a cluster with explicit keys, which should pass CheckKeys.
// The two newest are accepted. It copies keys.
func NewCluster(name string, keys []KeyVersion) *Cluster {
	c := newCluster(name, false)
	for _, k := range newest(keys) {
		c.addKey(k.Version, k.Key)
	}
	return c
}

func newCluster(name string, derived bool) *Cluster {
	return &Cluster{name: name, derived: derived, plan: newSchedule(name), subkeys: hide(new(subkeys))}
}

// addKey is for constructors.
func (c *Cluster) addKey(version uint32, key Key) {
	route := Key(derive(len(Key{}), key[:], nil, labelRouteKey))
	c.keys = append(c.keys, hide(&clusterKey{version, keyID(c.name, version, key), key, route}))
}

// Name is the cluster's name.
func (c *Cluster) Name() string { return c.name }

// Derived says whether the keys come from the network's, so that every node of
// the network holds them.
func (c *Cluster) Derived() bool { return c.derived }

// KeyID names the key that seals now. A cluster without keys has none: all zeros.
func (c *Cluster) KeyID() (id KeyID) {
	if len(c.keys) > 0 {
		id = c.keys[0].get().id
	}
	return id
}

// Opens says whether what was sealed with that key can be opened.
func (c *Cluster) Opens(id KeyID) bool {
	_, ok := c.key(id)
	return ok
}

// Epochs returns every accepted pair of key version and epoch: the newest key
// first, and for each key the epoch that now lies in before the one that is
// about to begin or has just ended. Members register under all of them;
// callers watch the first, and the others where that one has nobody. The
// caller owns the slice. It is empty only for a cluster without keys.
func (c *Cluster) Epochs(now time.Time) []Epoch {
	indexes := c.plan.valid(now.Unix())
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.cached(indexes) {
		var epochs []Epoch
		for _, k := range c.keys {
			for _, i := range indexes {
				epochs = append(epochs, c.epochLocked(k.get(), i))
			}
		}
		c.epochs = epochs
	}
	return slices.Clone(c.epochs)
}

// NextChange returns when the result of Epochs changes next, in its members or
// in their order.
func (c *Cluster) NextChange(now time.Time) time.Time {
	return time.Unix(c.plan.nextChange(now.Unix()), 0)
}

// cached says whether c.epochs is the answer for these indexes.
func (c *Cluster) cached(indexes []int64) bool {
	if len(c.epochs) != len(c.keys)*len(indexes) {
		return false
	}
	for i, e := range c.epochs {
		if e.s.get().index != indexes[i%len(indexes)] {
			return false
		}
	}
	return true
}

func (c *Cluster) epochLocked(k *clusterKey, index int64) Epoch {
	for _, e := range c.epochs {
		if e.s.get().version == k.version && e.s.get().index == index {
			return e
		}
	}
	return newEpoch(c.name, k, index)
}

// String returns the name.
func (c *Cluster) String() string { return "cluster " + c.name }

// Format writes String, whatever the verb.
func (c *Cluster) Format(s fmt.State, _ rune) { _, _ = io.WriteString(s, c.String()) }
