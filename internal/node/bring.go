// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package node

import (
	"fmt"
	"strings"
	"time"

	"github.com/arke-mesh/arke/cluster"
	"github.com/arke-mesh/arke/internal/name"
	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/patterns/pubsub"
	"github.com/arke-mesh/arke/security"
)

// Bring gives the node keys of a cluster, or of a group of topics, for those who have
// them: until release is called, in memory only. ref is the name by which they call and
// serve under these keys, in place of the cluster's own; with those of topics its id is
// what they publish and subscribe with (patterns.PublishOptions.Keys). See
// the package documentation. Nobody else is concerned, with other keys or without.
// The keys are copied. Errors: cluster.ErrName, patterns.ErrTopic,
// security.ErrBadFile, ErrTooManyKeys.
func (n *raw) Bring(set *wire.LeafKeys) (ref string, release func(), err error) {
	if err := cluster.CheckName(set.Cluster); err != nil {
		return "", nil, err
	}
	if _, id := name.CutRef(set.Cluster); id != "" {
		return "", nil, fmt.Errorf("%w: %q: it is a reference", cluster.ErrName, set.Cluster)
	}
	if word, is := strings.CutPrefix(set.Cluster, topicPrefix); is {
		if err := pubsub.CheckKeyedWord(word); err != nil {
			return "", nil, err
		}
	}
	keys := versionsOf(set)
	if err := security.CheckKeys(keys); err != nil {
		return "", nil, err
	}
	ref, release, err = n.keys.lend(set.Cluster, keys)
	if err == nil {
		n.rotation.lent(n.keys.cluster(ref))
	}
	return ref, release, err
}

// Find takes finding keys of a cluster in, until release is called, and says how to
// refer to the cluster under them: it can be watched, and others' members can be lent by
// Lend with cluster.Registration.Passed, and asked by Begin with request.Ask.Origin.
// Errors: cluster.ErrName, security.ErrBadFile and ErrTooManyKeys.
func (n *raw) Find(f security.FindingFile) (ref string, release func(), err error) {
	if err := cluster.CheckName(f.Name); err != nil {
		return "", nil, err
	}
	if err := security.CheckKeys(f.Keys); err != nil {
		return "", nil, err
	}
	ref, release, err = n.keys.find(f.Name, f.Keys)
	if err == nil {
		n.rotation.lent(n.keys.cluster(ref))
	}
	return ref, release, err
}

// FindUnder puts other finding keys in the place of those that Find has given ref for.
// Whom both of them find stays found, and what is under way goes on. Errors:
// cluster.ErrName where ref is none of Find's, or was released; security.ErrBadFile.
func (n *raw) FindUnder(ref string, keys []security.KeyVersion) error {
	if err := n.keys.knows(ref); err != nil {
		return err
	}
	c := n.keys.cluster(ref)
	if !c.FindsOnly() {
		return fmt.Errorf("%w: %q: it has no finding keys", cluster.ErrName, ref)
	}
	return n.rotation.found(c, keys)
}

// KeySetID names a set of keys, as status and logs do. It is not secret.
func KeySetID(set *wire.LeafKeys) string {
	return security.KeySetID(set.Cluster, versionsOf(set)).String()
}

// versionsOf returns keys as package security has them.
func versionsOf(set *wire.LeafKeys) []security.KeyVersion {
	at := func(s uint64) time.Time {
		if s == 0 {
			return time.Time{}
		}
		return time.Unix(int64(min(s, 1<<40)), 0).UTC()
	}
	keys := make([]security.KeyVersion, 0, len(set.Keys))
	for i := range set.Keys {
		k := &set.Keys[i]
		keys = append(keys, security.KeyVersion{
			Version: k.Version, Key: security.Key(k.Key), NotBefore: at(k.NotBefore), NotAfter: at(k.NotAfter),
		})
	}
	return keys
}
