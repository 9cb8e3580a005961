// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package node

import (
	"errors"
	"fmt"
	"sync"

	"github.com/arke-mesh/arke/cluster"
	"github.com/arke-mesh/arke/internal/name"
	"github.com/arke-mesh/arke/security"
)

const (
	// maxKeys bounds the derived cluster keys that are kept: names come from
	// whoever calls.
	maxKeys = 4096
	// maxLent bounds the different sets of keys that are lent to the node.
	maxLent = 65_536
)

// ErrTooManyKeys is returned by Node.Bring when so many sets of keys are lent already.
var ErrTooManyKeys = errors.New("node: too many sets of cluster keys: close clients that bring their own, or give the keys to the node itself")

// keyring returns the keys of each cluster: the explicit ones, those that somebody
// has lent, else those derived from the network's. It may be used concurrently.
type keyring struct {
	network  *security.Network
	explicit map[string]*security.Cluster // immutable

	mu      sync.Mutex
	own     map[string]security.KeyID    // guarded by mu; of the sets of the explicit ones
	derived map[string]*security.Cluster // guarded by mu
	lent    map[string]*loan             // guarded by mu; by reference
	finders uint64                       // guarded by mu: how many references to finding keys there were
}

// loan is keys that somebody has brought.
type loan struct {
	keys  *security.Cluster
	users int // guarded by keyring.mu
}

func newKeyring(network *security.Network, explicit map[string][]security.KeyVersion) *keyring {
	k := &keyring{
		network: network, explicit: make(map[string]*security.Cluster), own: make(map[string]security.KeyID),
		derived: make(map[string]*security.Cluster), lent: make(map[string]*loan),
	}
	for name, keys := range explicit {
		k.explicit[name] = security.NewCluster(name, keys)
		k.own[name] = security.KeySetID(name, keys)
	}
	return k
}

// cluster returns the keys of the cluster that ref stands for. Where they have been
// given back there are none: nothing can be registered or found with that.
func (k *keyring) cluster(ref string) *security.Cluster {
	if c := k.explicit[ref]; c != nil {
		return c
	}
	plain, id := name.CutRef(ref)
	k.mu.Lock()
	defer k.mu.Unlock()
	if id != "" {
		if l := k.lent[ref]; l != nil {
			return l.keys
		}
		return security.NewCluster(plain, nil)
	}
	c := k.derived[ref]
	if c == nil {
		if len(k.derived) >= maxKeys {
			clear(k.derived) // those in use are kept by their users
		}
		c = k.network.Cluster(ref)
		k.derived[ref] = c
	}
	return c
}

// knows refuses a reference that stands for nothing.
func (k *keyring) knows(ref string) error {
	ref, _, _ = name.Split(ref)
	if _, id := name.CutRef(ref); id == "" {
		return nil
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.lent[ref] == nil {
		return fmt.Errorf("%w: %q: nobody has brought these keys", cluster.ErrName, ref)
	}
	return nil
}

// replaced notes which keys the node has for a cluster now: who brings the same ones
// has those.
func (k *keyring) replaced(plain string, keys []security.KeyVersion) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.own[plain] = security.KeySetID(plain, keys)
}

// lend takes keys in until release is called, and says how to refer to the cluster
// under them. The same keys have the same reference, whoever brings them: by the name
// alone if they are the node's own.
func (k *keyring) lend(plain string, keys []security.KeyVersion) (ref string, release func(), err error) {
	id := security.KeySetID(plain, keys)
	k.mu.Lock()
	defer k.mu.Unlock()
	if own, ok := k.own[plain]; ok && own == id {
		return plain, func() {}, nil
	}
	return k.take(name.Ref(plain, id.String()), func() *security.Cluster { return security.NewCluster(plain, keys) })
}

// find is lend for finding keys. They can be replaced, so whoever brings some has a
// reference that nobody else has.
func (k *keyring) find(plain string, keys []security.KeyVersion) (ref string, release func(), err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for ref == "" || k.lent[ref] != nil {
		k.finders++
		ref = name.Ref(plain, fmt.Sprintf("%016x", k.finders))
	}
	return k.take(ref, func() *security.Cluster { return security.NewFinder(plain, keys) })
}

// take counts one more who has brought the keys that ref stands for. mu is held.
func (k *keyring) take(ref string, made func() *security.Cluster) (_ string, release func(), err error) {
	l := k.lent[ref]
	if l == nil {
		if len(k.lent) >= maxLent {
			return "", nil, ErrTooManyKeys
		}
		l = &loan{keys: made()}
		k.lent[ref] = l
	}
	l.users++
	return ref, sync.OnceFunc(func() {
		k.mu.Lock()
		defer k.mu.Unlock()
		if l.users--; l.users == 0 {
			delete(k.lent, ref)
		}
	}), nil
}
