// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"github.com/libp2p/go-libp2p/core/peer"
	"google.golang.org/protobuf/proto"

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
		signature   []byte
		seq         uint64
		below       bool
		announce    bool
	}
	registeredMsg struct {
		cid     security.ClusterID
		member  MemberID
		seq     uint64
		refusal wire.Refusal
		anchors []peer.ID
		sharded bool
		deputy  bool

		pending bool
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
		sharded bool
		anchors []peer.ID
		refusal wire.Refusal

		announcement uint64
	}
	deltaMsg struct {
		cid      security.ClusterID
		seq      uint64
		number   uint64
		upserted []lease
		removed  []leaseRef
		settled  bool
		sharded  bool
		anchors  []peer.ID

		announcement uint64
	}
	seenMsg struct {
		cid    security.ClusterID
		seq    uint64
		number uint64
	}
	claimsMsg struct {
		holdings
		differs bool // an answer
	}
	hintMsg struct {
		cid       security.ClusterID
		leases    int
		settled   bool
		wantReply bool
		anchors   []peer.ID
	}
)

// lease is what from asks an anchor to hold.
func (m *registerMsg) lease(from peer.ID) lease {
	return lease{
		leaseKey: leaseKey{from, m.member}, incarnation: m.incarnation, record: m.record, signature: m.signature,
		below: m.below,
	}
}

func (*registerMsg) kind() wire.Kind   { return wire.KindRegister }
func (*registeredMsg) kind() wire.Kind { return wire.KindRegistered }
func (*unregisterMsg) kind() wire.Kind { return wire.KindUnregister }
func (*watchMsg) kind() wire.Kind      { return wire.KindWatch }
func (*unwatchMsg) kind() wire.Kind    { return wire.KindUnwatch }
func (*snapshotMsg) kind() wire.Kind   { return wire.KindSnapshot }
func (*deltaMsg) kind() wire.Kind      { return wire.KindDelta }
func (*hintMsg) kind() wire.Kind       { return wire.KindHint }
func (*seenMsg) kind() wire.Kind       { return wire.KindSeen }
func (*claimsMsg) kind() wire.Kind     { return wire.KindClaims }

// partBytes bounds the leases in one Snapshot part or Delta, so that other
// frames of the lane get their turn.
const partBytes = 32 << 10

// leaseOverhead is about what a lease takes beside its record and peer id.
const leaseOverhead = 64 + 32

// parts cuts leases so that each part fits a frame. There is at least one.
func parts(leases []lease) [][]lease {
	var out [][]lease
	size, start := 0, 0
	for i := range leases {
		n := len(leases[i].record) + len(leases[i].peer) + leaseOverhead
		if i > start && (size+n > partBytes || i-start == maxPart) {
			out = append(out, leases[start:i])
			size, start = 0, i
		}
		size += n
	}
	return append(out, leases[start:])
}

// maxPart bounds the leases or references in one message.
const maxPart = 256

// encode returns the body of a frame. It fails only for what would exceed
// wire.MaxControl, which the cores' bounds rule out.
func encode(m message) ([]byte, error) { return wire.AppendControl(nil, toWire(m)) }

func toWire(m message) proto.Message {
	switch m := m.(type) {
	case *registerMsg:
		return &wire.Register{
			Cid: m.cid[:], Key: m.key, Proof: m.proof, Member: uint64(m.member),
			Incarnation: m.incarnation, Record: m.record, Seq: m.seq, Signature: m.signature, Below: m.below,
			Announce: m.announce,
		}
	case *registeredMsg:
		return &wire.Registered{
			Cid: m.cid[:], Member: uint64(m.member), Seq: m.seq,
			Refusal: m.refusal, Anchors: peersToWire(m.anchors), Sharded: m.sharded, Deputy: m.deputy,
			Pending: m.pending,
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
			Settled: m.settled, Anchors: peersToWire(m.anchors), Refusal: m.refusal, Sharded: m.sharded,
			Announcement: m.announcement,
		}
	case *deltaMsg:
		return &wire.Delta{
			Cid: m.cid[:], Seq: m.seq, Number: m.number, Upserted: leasesToWire(m.upserted),
			Removed: refsToWire(m.removed), Settled: m.settled, Anchors: peersToWire(m.anchors), Sharded: m.sharded,
			Announcement: m.announcement,
		}
	case *seenMsg:
		return &wire.Seen{Cid: m.cid[:], Seq: m.seq, Number: m.number}
	case *claimsMsg:
		return &wire.Claims{
			Leases: uint32(m.leases), LeaseSum: m.leaseSum,
			Watches: uint32(m.watches), WatchSum: m.watchSum, Differs: m.differs,
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
			Record: l.record, Suspect: l.suspect, Signature: l.signature,
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
	case wire.KindSeen:
		return decodeAs(body, &wire.Seen{}, func(m *wire.Seen) message {
			return &seenMsg{cid: security.ClusterID(m.Cid), seq: m.Seq, number: m.Number}
		})
	case wire.KindHint:
		return decodeAs(body, &wire.Hint{}, fromHint)
	case wire.KindClaims:
		return decodeAs(body, &wire.Claims{}, func(m *wire.Claims) message {
			return &claimsMsg{holdings{int(m.Leases), int(m.Watches), m.LeaseSum, m.WatchSum}, m.Differs}
		})
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
		incarnation: m.Incarnation, record: m.Record, seq: m.Seq, signature: m.Signature, below: m.Below,
		announce: m.Announce,
	}
}

func fromRegistered(m *wire.Registered) message {
	return &registeredMsg{
		cid: security.ClusterID(m.Cid), member: MemberID(m.Member), seq: m.Seq,
		refusal: m.Refusal, anchors: peersFromWire(m.Anchors), sharded: m.Sharded, deputy: m.Deputy,
		pending: m.Pending,
	}
}

func fromSnapshot(m *wire.Snapshot) message {
	return &snapshotMsg{
		cid: security.ClusterID(m.Cid), seq: m.Seq, leases: leasesFromWire(m.Leases), more: m.More,
		settled: m.Settled, anchors: peersFromWire(m.Anchors), refusal: m.Refusal, sharded: m.Sharded,
		announcement: m.Announcement,
	}
}

func fromDelta(m *wire.Delta) message {
	d := &deltaMsg{
		cid: security.ClusterID(m.Cid), seq: m.Seq, number: m.Number, upserted: leasesFromWire(m.Upserted),
		settled: m.Settled, anchors: peersFromWire(m.Anchors), sharded: m.Sharded,
		announcement: m.Announcement,
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
			incarnation: l.Incarnation, record: l.Record, signature: l.Signature, suspect: l.Suspect,
		})
	}
	return out
}
