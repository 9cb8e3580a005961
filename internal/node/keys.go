// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package node

import (
	"sync"

	"github.com/arke-mesh/arke/security"
)

// maxKeys bounds the derived cluster keys that are kept: names come from
// whoever calls.
const maxKeys = 4096

// keyring returns the keys of each cluster: the explicit ones, else those
// derived from the network's. It may be used concurrently.
type keyring struct {
	network  *security.Network
	explicit map[string]*security.Cluster // immutable

	mu      sync.Mutex
	derived map[string]*security.Cluster // guarded by mu
}

func newKeyring(network *security.Network, explicit map[string][]security.KeyVersion) *keyring {
	k := &keyring{
		network: network, explicit: make(map[string]*security.Cluster), derived: make(map[string]*security.Cluster),
	}
	for name, keys := range explicit {
		k.explicit[name] = security.NewCluster(name, keys)
	}
	return k
}

// cluster returns the keys of the cluster of that name.
func (k *keyring) cluster(name string) *security.Cluster {
	if c := k.explicit[name]; c != nil {
		return c
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	c := k.derived[name]
	if c == nil {
		if len(k.derived) >= maxKeys {
			clear(k.derived) // those in use are kept by their users
		}
		c = k.network.Cluster(name)
		k.derived[name] = c
	}
	return c
}
