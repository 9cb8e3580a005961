// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"bytes"
	"cmp"

	"github.com/libp2p/go-libp2p/core/peer"

	"github.com/arke-mesh/arke/security"
)

// leaseKey names one member on one node.
type leaseKey struct {
	peer   peer.ID
	member MemberID
}

func compareLeaseKeys(a, b leaseKey) int {
	return cmp.Or(cmp.Compare(a.member, b.member), cmp.Compare(a.peer, b.peer))
}

// lease is one member as its node registers it and as an anchor tells it.
type lease struct {
	leaseKey
	incarnation uint64
	record      []byte // sealed
	signature   []byte // the node's, of all above
	suspect     bool   // the anchor's own word
	below       bool   // the member is held under a shard of this id, too; its own word, for the anchor
}

// says reports whether l and o are the same words of the same node. Who has
// checked one need not check the other.
func (l *lease) says(o *lease) bool {
	return l.leaseKey == o.leaseKey && l.incarnation == o.incarnation &&
		bytes.Equal(l.record, o.record) && bytes.Equal(l.signature, o.signature)
}

// signed is what the signature covers.
func (l *lease) signed(network security.NetworkID, cid security.ClusterID) security.Lease {
	return security.Lease{
		Network: network, Cluster: cid, Peer: l.peer, Member: uint64(l.member), Incarnation: l.incarnation, Record: l.record,
	}
}

// leaseRef names a lease that ended.
type leaseRef struct {
	leaseKey
	incarnation uint64
}
