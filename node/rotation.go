// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package node

import (
	"errors"
	"sync/atomic"

	inner "github.com/arke-mesh/arke/internal/node"
	"github.com/arke-mesh/arke/security"
)

// Rotation changes the keys of a node while it runs. The zero value is ready: Set
// works once Join has been called with RotatedBy. It may be used concurrently.
//
//	var keys node.Rotation
//	conn, err := node.Join(ctx, node.NetworkFile("prod.arke"), node.RotatedBy(&keys))
//	// when the file has been changed by arke key rotate:
//	err = keys.Set(content)
type Rotation struct{ node atomic.Pointer[inner.Node] }

// RotatedBy lets r change the keys of the node. It is for one node: the one that was
// joined last.
func RotatedBy(r *Rotation) JoinOption {
	return func(j *joining) { j.rotation = r }
}

// Set puts the keys and the bans in the content of a network's file in the place of
// the node's, and the keys in those of clusters, for clusters that had keys of their own before.
// What is under way goes on. If one of them makes no sense, or is of another network,
// nothing changes.
func (r *Rotation) Set(network []byte, clusters ...[]byte) error {
	n := r.node.Load()
	if n == nil {
		return errors.New("node: there is no node yet whose keys could change: Join needs RotatedBy")
	}
	file, err := security.ParseNetworkFile(network)
	if err != nil {
		return err
	}
	keys := inner.Keys{Network: file, Clusters: make(map[string][]security.KeyVersion)}
	for _, content := range clusters {
		c, err := security.ParseClusterFile(content)
		if err != nil {
			return err
		}
		keys.Clusters[c.Name] = c.Keys
	}
	return n.SetKeys(keys)
}
