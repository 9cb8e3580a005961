// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"bytes"
	"cmp"
	"slices"

	"github.com/libp2p/go-libp2p/core/peer"
)

func (b *book) findLease(k leaseKey) (int, bool) {
	return slices.BinarySearchFunc(b.leases, k, func(l *held, k leaseKey) int {
		return compareLeaseKeys(l.leaseKey, k)
	})
}

// lease returns the lease of k, or nil.
func (b *book) lease(k leaseKey) *held {
	if i, ok := b.findLease(k); ok {
		return b.leases[i]
	}
	return nil
}

func (b *book) insert(l *held, k leaseKey) {
	i, _ := b.findLease(k)
	b.leases = slices.Insert(b.leases, i, l)
}

// upsert has watchers told about k by the next flush. That it was taken out
// since the last one is no news any more: they would take it out for good.
func (b *book) upsert(k leaseKey) {
	b.removed = slices.DeleteFunc(b.removed, func(r leaseRef) bool { return r.leaseKey == k })
	if !slices.Contains(b.upserted, k) {
		b.upserted = append(b.upserted, k)
	}
}

// remove takes l out and has watchers told.
func (b *book) remove(l *held) {
	i, ok := b.findLease(l.leaseKey)
	if !ok {
		return
	}
	b.leases = slices.Delete(b.leases, i, i+1)
	b.upserted = slices.DeleteFunc(b.upserted, func(k leaseKey) bool { return k == l.leaseKey })
	b.removed = append(b.removed, leaseRef{l.leaseKey, l.incarnation})
}

func (b *book) anyLease(p peer.ID) bool {
	return slices.ContainsFunc(b.leases, func(l *held) bool { return l.peer == p })
}

func (b *book) findWatcher(p peer.ID) (int, bool) {
	return slices.BinarySearchFunc(b.watchers, p, func(w *watcher, p peer.ID) int {
		return cmp.Compare(w.peer, p)
	})
}

// watcher returns p's watch, or nil.
func (b *book) watcher(p peer.ID) *watcher {
	if i, ok := b.findWatcher(p); ok {
		return b.watchers[i]
	}
	return nil
}

// proven says whether this very proof of p's has been checked before.
func (b *book) proven(p peer.ID, proof []byte) bool {
	if w := b.watcher(p); w != nil && bytes.Equal(w.proof, proof) {
		return true
	}
	for _, l := range b.leases {
		if l.peer == p {
			return bytes.Equal(l.proof, proof)
		}
	}
	return false
}

// list returns the leases as messages carry them.
func (b *book) list() []lease {
	out := make([]lease, len(b.leases))
	for i, l := range b.leases {
		out[i] = l.lease
	}
	return out
}
