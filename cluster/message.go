// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"cmp"

	"github.com/libp2p/go-libp2p/core/peer"

	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/security"
)

// The control messages as the cores see them: typed, with every length already
// checked. encode.go and decode.go convert; control.proto says who sends what
// when.

// message is one of the pointers below.
type message interface{ kind() wire.Kind }

type (
	registerMsg struct {
		cid         security.ClusterID
		key, proof  []byte
		member      MemberID
		incarnation uint64
		record      []byte
		seq         uint64
	}
	registeredMsg struct {
		cid     security.ClusterID
		member  MemberID
		seq     uint64
		refusal wire.Refusal
		anchors []peer.ID
	}
	unregisterMsg struct {
		cid    security.ClusterID
		member MemberID
	}
	watchMsg struct {
		cid        security.ClusterID
		key, proof []byte
		seq        uint64
	}
	unwatchMsg struct {
		cid security.ClusterID
	}
	snapshotMsg struct {
		cid     security.ClusterID
		seq     uint64
		leases  []lease
		more    bool
		settled bool
		anchors []peer.ID
		refusal wire.Refusal
	}
	deltaMsg struct {
		cid      security.ClusterID
		seq      uint64
		number   uint64
		upserted []lease
		removed  []leaseRef
		settled  bool
		anchors  []peer.ID
	}
	hintMsg struct {
		cid       security.ClusterID
		leases    int
		settled   bool
		wantReply bool
		anchors   []peer.ID
	}
)

func (*registerMsg) kind() wire.Kind   { return wire.KindRegister }
func (*registeredMsg) kind() wire.Kind { return wire.KindRegistered }
func (*unregisterMsg) kind() wire.Kind { return wire.KindUnregister }
func (*watchMsg) kind() wire.Kind      { return wire.KindWatch }
func (*unwatchMsg) kind() wire.Kind    { return wire.KindUnwatch }
func (*snapshotMsg) kind() wire.Kind   { return wire.KindSnapshot }
func (*deltaMsg) kind() wire.Kind      { return wire.KindDelta }
func (*hintMsg) kind() wire.Kind       { return wire.KindHint }

// leaseKey names one member on one node.
type leaseKey struct {
	peer   peer.ID
	member MemberID
}

func compareLeaseKeys(a, b leaseKey) int {
	return cmp.Or(cmp.Compare(a.member, b.member), cmp.Compare(a.peer, b.peer))
}

// lease is one member as an anchor tells it.
type lease struct {
	leaseKey
	incarnation uint64
	record      []byte // sealed
	proof       []byte
	suspect     bool
}

// leaseRef names a lease that ended.
type leaseRef struct {
	leaseKey
	incarnation uint64
}
