// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import "github.com/libp2p/go-libp2p/core/peer"

// rota is whom Pick chooses from, prepared once for each view.
type rota struct {
	all  []*Member // everybody: sticky keys must not depend on the caller
	one  []*Member // this caller's subset
	near []*Member // of one, those in the caller's zone
	far  []*Member // of one, the others
	upTo []uint64  // capacities of one, summed up to and including each
}

func newRota(self peer.ID, zone string, members []*Member) rota {
	r := rota{all: members, one: subset(self, members, subsetSize)}
	sum := uint64(0)
	for _, m := range r.one {
		sum += uint64(m.load.capacity)
		r.upTo = append(r.upTo, sum)
		if zone != "" && m.Zone == zone {
			r.near = append(r.near, m)
		} else {
			r.far = append(r.far, m)
		}
	}
	return r
}
