// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"cmp"
	"slices"

	"github.com/arke-mesh/arke/security"
)

// byPlace are things that belong to cluster ids, in the order of the ids' places. A
// node may have many thousands of them: a map would take ten times the memory, and an
// order of its own.
type byPlace[T interface{ set() *anchorSet }] []T

// find is the index of the first thing of cid, or where it would be.
func (all byPlace[T]) find(cid security.ClusterID) (int, bool) {
	at := placeOfID(cid).Head()
	return slices.BinarySearchFunc(all, cid, func(t T, cid security.ClusterID) int {
		g := t.set()
		return cmp.Or(cmp.Compare(g.place, at), compareIDs(g.cid, cid))
	})
}

// get returns the first thing of cid, or the zero value.
func (all byPlace[T]) get(cid security.ClusterID) (t T) {
	if i, ok := all.find(cid); ok {
		return all[i]
	}
	return t
}

// of lists the things of cid.
func (all byPlace[T]) of(cid security.ClusterID) []T {
	from, _ := all.find(cid)
	to := from
	for to < len(all) && all[to].set().cid == cid {
		to++
	}
	return all[from:to]
}

// add takes in the only thing of its id.
func (all *byPlace[T]) add(t T) {
	i, _ := all.find(t.set().cid)
	*all = slices.Insert(*all, i, t)
}

// remove takes out the only thing of its id.
func (all *byPlace[T]) remove(t T) {
	if i, ok := all.find(t.set().cid); ok {
		*all = slices.Delete(*all, i, i+1)
	}
}
