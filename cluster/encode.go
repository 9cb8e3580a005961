// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"github.com/libp2p/go-libp2p/core/peer"
	"google.golang.org/protobuf/proto"

	"github.com/arke-mesh/arke/internal/wire"
)

// encode returns the body of a frame. It fails only for what would exceed
// wire.MaxControl, which the cores' bounds rule out.
func encode(m message) ([]byte, error) { return wire.AppendControl(nil, toWire(m)) }

func toWire(m message) proto.Message {
	switch m := m.(type) {
	case *registerMsg:
		return &wire.Register{
			Cid: m.cid[:], Key: m.key, Proof: m.proof, Member: uint64(m.member),
			Incarnation: m.incarnation, Record: m.record, Seq: m.seq,
		}
	case *registeredMsg:
		return &wire.Registered{
			Cid: m.cid[:], Member: uint64(m.member), Seq: m.seq,
			Refusal: m.refusal, Anchors: peersToWire(m.anchors),
		}
	case *unregisterMsg:
		return &wire.Unregister{Cid: m.cid[:], Member: uint64(m.member)}
	case *watchMsg:
		return &wire.Watch{Cid: m.cid[:], Key: m.key, Proof: m.proof, Seq: m.seq}
	case *unwatchMsg:
		return &wire.Unwatch{Cid: m.cid[:]}
	case *snapshotMsg:
		return &wire.Snapshot{
			Cid: m.cid[:], Seq: m.seq, Leases: leasesToWire(m.leases), More: m.more,
			Settled: m.settled, Anchors: peersToWire(m.anchors), Refusal: m.refusal,
		}
	case *deltaMsg:
		return &wire.Delta{
			Cid: m.cid[:], Seq: m.seq, Number: m.number, Upserted: leasesToWire(m.upserted),
			Removed: refsToWire(m.removed), Settled: m.settled, Anchors: peersToWire(m.anchors),
		}
	case *hintMsg:
		return &wire.Hint{
			Cid: m.cid[:], Leases: uint32(m.leases), Settled: m.settled,
			WantReply: m.wantReply, Anchors: peersToWire(m.anchors),
		}
	}
	panic("BUG: unknown control message")
}

func peersToWire(peers []peer.ID) [][]byte {
	if len(peers) == 0 {
		return nil
	}
	out := make([][]byte, 0, len(peers))
	for _, p := range peers[:min(len(peers), wire.MaxAnchors)] {
		out = append(out, []byte(p))
	}
	return out
}

func leasesToWire(leases []lease) []*wire.Lease {
	out := make([]*wire.Lease, 0, len(leases))
	for i := range leases {
		l := &leases[i]
		out = append(out, &wire.Lease{
			Peer: []byte(l.peer), Member: uint64(l.member), Incarnation: l.incarnation,
			Record: l.record, Suspect: l.suspect, Proof: l.proof,
		})
	}
	return out
}

func refsToWire(refs []leaseRef) []*wire.LeaseRef {
	out := make([]*wire.LeaseRef, 0, len(refs))
	for _, r := range refs {
		out = append(out, &wire.LeaseRef{
			Peer: []byte(r.peer), Member: uint64(r.member), Incarnation: r.incarnation,
		})
	}
	return out
}
