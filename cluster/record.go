// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"errors"

	"github.com/libp2p/go-libp2p/core/peer"

	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/security"
)

// record is what callers need to reach a member.
type record struct {
	leaseKey
	incarnation uint64
	addrs       []string
	zone        string
	network     string   // of a member that a gateway lends: where it is from
	priority    int      // likewise: the lowest first
	networks    networks // likewise: those that it has come through
	capacity    int
	maxMessage  int
	payload     []byte                // never changes
	suspect     bool                  // its own node doubts it
	revision    uint64                // of two records of one registration the larger one is the later
	certificate []byte                // of the node; never changes; nil = none
	ephemeral   security.EphemeralKey // the node's, to seal for; zeros = none
	nodeName    string                // in the certificate; not encoded
	// passed is a member's own lease, where a gateway that can't open its record lends it.
	passed *Passed
}

// Bounds of a record, so that a full anchor stays small.
const (
	maxRecordAddrs     = 16
	maxRecordAddrBytes = 1 << 11 // in all
)

func (r *record) encode() []byte {
	if r.passed != nil {
		return r.encodeAs(r.passed.lease())
	}
	return r.encodeAs(nil)
}

func (r *record) encodeAs(passed *wire.Lease) []byte {
	m := &wire.Record{
		Passed: passed,
		Peer:   []byte(r.peer), Member: uint64(r.member), Incarnation: r.incarnation,
		Addrs: trimAddrs(r.addrs), Zone: r.zone,
		Capacity: uint32(r.capacity), MaxMessage: uint32(r.maxMessage), Payload: r.payload,
		Suspect: r.suspect, Revision: r.revision, Network: r.network, Priority: uint32(r.priority),
		Certificate: r.certificate, Networks: r.networks.encode(),
	}
	if passed != nil {
		m.PassedNetwork = r.passed.Network[:]
	}
	if !r.ephemeral.IsZero() {
		m.Ephemeral = r.ephemeral[:]
	}
	b, err := wire.AppendControl(nil, m)
	if err != nil {
		panic("BUG: record: " + err.Error()) // zone and addresses are checked before
	}
	return b
}

// trimAddrs drops what others would refuse; the first addresses stay.
func trimAddrs(addrs []string) []string {
	var out []string
	size := 0
	for _, a := range addrs {
		if len(a) == 0 || len(a) > wire.MaxAddr || size+len(a) > maxRecordAddrBytes || len(out) == maxRecordAddrs {
			continue
		}
		size += len(a)
		out = append(out, a)
	}
	return out
}

var errForeignRecord = errors.New("cluster: record belongs to another lease")

// decodeRecord reads an opened record and checks that it is the lease's own:
// an anchor could attach one member's record to another one's lease.
func decodeRecord(b []byte, l *lease) (record, error) {
	var m wire.Record
	if err := wire.DecodeControl(b, &m); err != nil {
		return record{}, err
	}
	r := record{
		leaseKey: leaseKey{peer.ID(m.Peer), MemberID(m.Member)}, incarnation: m.Incarnation,
		addrs: m.Addrs, zone: m.Zone, capacity: int(min(max(m.Capacity, 1), MaxCapacity)), maxMessage: int(m.MaxMessage),
		payload: m.Payload, suspect: m.Suspect, revision: m.Revision, certificate: m.Certificate,
		network: m.Network, priority: int(min(m.Priority, MaxPriority)), networks: decodeNetworks(m.Networks),
	}
	r.ephemeral, _ = security.ParseEphemeralKey(m.Ephemeral)
	if r.leaseKey != l.leaseKey || r.incarnation != l.incarnation {
		return record{}, errForeignRecord
	}
	if p := m.Passed; p != nil {
		r.passed = &Passed{
			Network: security.NetworkID(m.PassedNetwork), Peer: peer.ID(p.Peer), Member: MemberID(p.Member),
			Incarnation: p.Incarnation, Record: p.Record, Signature: p.Signature,
		}
	}
	return r, nil
}
