// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"errors"
	"fmt"
	"time"

	"github.com/arke-mesh/arke/cluster"
	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/security"
)

// ErrKeys is returned by Start when the relay is of a release that takes no keys of
// clusters: what is meant for holders of a key must not go without it.
var ErrKeys = errors.New("client: the relay takes no cluster keys: update it, or give the keys to the relay itself")

// ReadKeys reads a file with keys of a cluster, for Config.Keys.
func ReadKeys(path string) (security.ClusterFile, error) { return security.ReadClusterFile(path) }

// ParseKeys is ReadKeys of a file's content.
func ParseKeys(content []byte) (security.ClusterFile, error) {
	return security.ParseClusterFile(content)
}

// leafKeys returns the keys as the Hello has them. A cluster that comes twice, and
// more than fits into a Hello, are refused.
func leafKeys(files []security.ClusterFile) ([]wire.LeafKeys, error) {
	seconds := func(t time.Time) uint64 {
		if t.IsZero() {
			return 0
		}
		return uint64(t.Unix())
	}
	var sets []wire.LeafKeys
	seen := map[string]bool{}
	for i := range files {
		f := &files[i]
		if err := cluster.CheckName(f.Name); err != nil {
			return nil, err
		}
		if err := security.CheckKeys(f.Keys); err != nil {
			return nil, fmt.Errorf("client: keys of cluster %q: %w", f.Name, err)
		}
		if seen[f.Name] {
			return nil, fmt.Errorf("client: keys of cluster %q are there twice: give one file for each cluster", f.Name)
		}
		seen[f.Name] = true
		set := wire.LeafKeys{Cluster: f.Name}
		for _, k := range f.Keys[max(0, len(f.Keys)-wire.MaxLeafKeys):] {
			set.Keys = append(set.Keys, wire.LeafKey{
				Version: k.Version, NotBefore: seconds(k.NotBefore), NotAfter: seconds(k.NotAfter), Key: wire.Secret(k.Key),
			})
		}
		sets = append(sets, set)
	}
	return sets, nil
}

// CheckKeys says what is wrong with Config.Keys, as New would: a cluster that comes
// twice, or more than a client may bring.
func CheckKeys(c Config) error {
	sets, err := leafKeys(c.Keys)
	switch {
	case err != nil:
		return err
	case len(sets) > wire.MaxLeafKeySets:
		return fmt.Errorf("client: keys of %d clusters are more than %d: give some to the relay itself", len(sets), wire.MaxLeafKeySets)
	}
	hello := wire.LeafHello{Features: wire.AllFeatures, Name: c.Name, Proof: make([]byte, wire.LeafProofSize), Keys: sets}
	if n := 1 + len(hello.AppendTo(nil)); n > wire.MaxLeafHello {
		return fmt.Errorf("client: the keys of %d clusters need %d bytes more than a client may bring: give some to the relay itself", len(sets), n-wire.MaxLeafHello)
	}
	return nil
}
