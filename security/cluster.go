// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package security

import (
	"encoding/hex"
	"fmt"
	"io"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// ClusterID is the blinded id of a cluster in one epoch: where on the overlay
// its anchors are. To who lacks the cluster key it is 32 random bytes.
type ClusterID [32]byte

// String returns 64 hexadecimal digits.
func (id ClusterID) String() string { return hex.EncodeToString(id[:]) }

// Cluster holds the keys of one cluster and what is derived from them. Its keys may
// change while it is in use. All methods may be called concurrently. Printing it
// shows no key.
type Cluster struct {
	// Immutable after New.
	name string
	plan schedule

	keys      *source                 // locks itself
	subkeys   atomic.Pointer[subkeys] // made with the first one; package fmt does not follow it
	scratches scratches

	// Guarded by mu, which is held while keys are derived but never across
	// anything that blocks.
	mu     sync.Mutex
	epochs []Epoch // the ones last asked for
}

// NewCluster returns a cluster with explicit keys, which should pass CheckKeys.
// It copies keys. Until SetKeys or Advance is called the two newest are accepted,
// whatever their times.
func NewCluster(name string, keys []KeyVersion) *Cluster {
	c := newCluster(name, &source{})
	c.keys.set(name, keys, timeless(keys))
	return c
}

func newCluster(name string, keys *source) *Cluster {
	return &Cluster{name: name, keys: keys, plan: newSchedule(name)}
}

// SetKeys puts other keys in the place of explicit ones. It returns ErrBadFile for
// keys that no file may have, and for a cluster with derived keys. It copies keys.
// changed says whether others count than before.
func (c *Cluster) SetKeys(keys []KeyVersion, now time.Time) (changed bool, err error) {
	if c.Derived() {
		return false, fmt.Errorf("%w: the keys of %s are derived from the network's", ErrBadFile, c)
	}
	if err := CheckKeys(keys); err != nil {
		return false, err
	}
	return c.keys.set(c.name, keys, ValidityOf(keys, now)), nil
}

// Advance has those of explicit keys count that do at now; see Network.Advance, which
// does it for derived ones.
func (c *Cluster) Advance(now time.Time) (next time.Time, changed bool) {
	if c.Derived() {
		return time.Time{}, false
	}
	return c.keys.advance(c.name, now)
}

func (c *Cluster) ring() *clusterRing { return c.keys.ring(c.name) }

// Name is the cluster's name.
func (c *Cluster) Name() string { return c.name }

// Derived says whether the keys come from the network's, so that every node of
// the network holds them.
func (c *Cluster) Derived() bool { return c.keys.network != nil }

// FindsOnly says whether only finding keys of the cluster are known.
func (c *Cluster) FindsOnly() bool { return c.keys.finds }

// KeyID names the key that seals now. A cluster without keys, or with finding keys
// only, has none: all zeros.
func (c *Cluster) KeyID() (id KeyID) {
	if r := c.ring(); len(r.accepted) > 0 && !c.keys.finds {
		id = r.sealer(id).id
	}
	return id
}

// CommonKey names the key to seal with where it is not known which keys the receivers
// have; see Validity.Common.
func (c *Cluster) CommonKey() (id KeyID) {
	if r := c.ring(); len(r.accepted) > 0 && !c.keys.finds {
		id = r.accepted[r.common].get().id
	}
	return id
}

// Opens says whether what was sealed with that key can be opened.
func (c *Cluster) Opens(id KeyID) bool {
	_, ok := c.ring().key(id)
	return ok
}

// Epochs returns every accepted pair of key version and epoch: the newest key
// first, and for each key the epoch that now lies in before the one that is
// about to begin or has just ended. Members register under all of them;
// callers watch the first, and the others where that one has nobody. The
// caller owns the slice. It is empty only for a cluster without keys.
func (c *Cluster) Epochs(now time.Time) []Epoch {
	indexes := c.plan.valid(now.Unix())
	accepted := c.ring().accepted
	c.mu.Lock()
	defer c.mu.Unlock()
	epochs := make([]Epoch, 0, len(accepted)*len(indexes))
	for _, k := range accepted {
		for _, i := range indexes {
			epochs = append(epochs, c.epochLocked(k, i))
		}
	}
	c.epochs = epochs
	return slices.Clone(epochs)
}

// NextChange returns when the result of Epochs changes next, in its members or
// in their order, as long as the keys do not.
func (c *Cluster) NextChange(now time.Time) time.Time {
	return time.Unix(c.plan.nextChange(now.Unix()), 0)
}

func (c *Cluster) epochLocked(k hidden[clusterKey], index int64) Epoch {
	for _, e := range c.epochs {
		if e.s.get().of == k && e.s.get().index == index {
			return e
		}
	}
	return newEpoch(c.name, k, index)
}

// String returns the name.
func (c *Cluster) String() string { return "cluster " + c.name }

// Format writes String, whatever the verb.
func (c *Cluster) Format(s fmt.State, _ rune) { _, _ = io.WriteString(s, c.String()) }
