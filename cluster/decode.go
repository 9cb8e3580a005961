// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"github.com/libp2p/go-libp2p/core/peer"
	"google.golang.org/protobuf/proto"

	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/security"
)

// decode reads the body of a frame; nothing in the result aliases it. An error
// says that the peer is broken or hostile.
func decode(k wire.Kind, body []byte) (message, error) {
	switch k {
	case wire.KindRegister:
		return decodeAs(body, &wire.Register{}, fromRegister)
	case wire.KindRegistered:
		return decodeAs(body, &wire.Registered{}, fromRegistered)
	case wire.KindUnregister:
		return decodeAs(body, &wire.Unregister{}, func(m *wire.Unregister) message {
			return &unregisterMsg{cid: security.ClusterID(m.Cid), member: MemberID(m.Member)}
		})
	case wire.KindWatch:
		return decodeAs(body, &wire.Watch{}, func(m *wire.Watch) message {
			return &watchMsg{cid: security.ClusterID(m.Cid), key: m.Key, proof: m.Proof, seq: m.Seq}
		})
	case wire.KindUnwatch:
		return decodeAs(body, &wire.Unwatch{}, func(m *wire.Unwatch) message {
			return &unwatchMsg{cid: security.ClusterID(m.Cid)}
		})
	case wire.KindSnapshot:
		return decodeAs(body, &wire.Snapshot{}, fromSnapshot)
	case wire.KindDelta:
		return decodeAs(body, &wire.Delta{}, fromDelta)
	case wire.KindHint:
		return decodeAs(body, &wire.Hint{}, fromHint)
	}
	panic("BUG: no handler was asked for this kind")
}

// decodeAs decodes and checks; conversions may rely on lengths afterwards.
func decodeAs[M proto.Message](body []byte, m M, convert func(M) message) (message, error) {
	if err := wire.DecodeControl(body, m); err != nil {
		return nil, err
	}
	return convert(m), nil
}

func fromRegister(m *wire.Register) message {
	return &registerMsg{
		cid: security.ClusterID(m.Cid), key: m.Key, proof: m.Proof, member: MemberID(m.Member),
		incarnation: m.Incarnation, record: m.Record, seq: m.Seq,
	}
}

func fromRegistered(m *wire.Registered) message {
	return &registeredMsg{
		cid: security.ClusterID(m.Cid), member: MemberID(m.Member), seq: m.Seq,
		refusal: m.Refusal, anchors: peersFromWire(m.Anchors),
	}
}

func fromSnapshot(m *wire.Snapshot) message {
	return &snapshotMsg{
		cid: security.ClusterID(m.Cid), seq: m.Seq, leases: leasesFromWire(m.Leases), more: m.More,
		settled: m.Settled, anchors: peersFromWire(m.Anchors), refusal: m.Refusal,
	}
}

func fromDelta(m *wire.Delta) message {
	d := &deltaMsg{
		cid: security.ClusterID(m.Cid), seq: m.Seq, number: m.Number, upserted: leasesFromWire(m.Upserted),
		settled: m.Settled, anchors: peersFromWire(m.Anchors),
	}
	for _, r := range m.Removed {
		d.removed = append(d.removed, leaseRef{leaseKey{peer.ID(r.Peer), MemberID(r.Member)}, r.Incarnation})
	}
	return d
}

func fromHint(m *wire.Hint) message {
	return &hintMsg{
		cid: security.ClusterID(m.Cid), leases: int(m.Leases), settled: m.Settled,
		wantReply: m.WantReply, anchors: peersFromWire(m.Anchors),
	}
}

func peersFromWire(peers [][]byte) []peer.ID {
	var out []peer.ID
	for _, p := range peers {
		out = append(out, peer.ID(p))
	}
	return out
}

func leasesFromWire(leases []*wire.Lease) []lease {
	var out []lease
	for _, l := range leases {
		out = append(out, lease{
			leaseKey:    leaseKey{peer.ID(l.Peer), MemberID(l.Member)},
			incarnation: l.Incarnation, record: l.Record, proof: l.Proof, suspect: l.Suspect,
		})
	}
	return out
}
