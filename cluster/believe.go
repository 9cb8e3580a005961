// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"bytes"
)

// described is a lease that was believed: its proof is good, and its record
// could be opened and is its own.
type described struct {
	record
	sealed, proof []byte
}

// list adds l to set if it can be believed.
func (k *lookout) list(s *sight, set map[leaseKey]listing, l *lease) {
	if len(set) >= 2*maxClusterLeases {
		k.rejected.add("lease_too_many")
		return
	}
	if d := k.believe(s, l); d != nil {
		set[l.leaseKey] = listing{d, l.suspect}
	}
}

// believe checks a lease, or remembers that it did. Three anchors tell the
// same leases, and one node's proof covers all its members.
func (k *lookout) believe(s *sight, l *lease) *described {
	d := s.known[l.leaseKey]
	if d != nil && d.incarnation == l.incarnation && bytes.Equal(d.sealed, l.record) && bytes.Equal(d.proof, l.proof) {
		return d
	}
	if !bytes.Equal(s.proofs[l.peer], l.proof) {
		if k.verify(s.cid, s.key, l.proof, l.peer) != nil {
			k.rejected.add("lease_bad_proof")
			return nil
		}
		s.proofs[l.peer] = l.proof
	}
	plain, err := s.epoch.OpenRecord(l.record)
	if err != nil {
		k.rejected.add("lease_bad_seal")
		return nil
	}
	r, err := decodeRecord(plain, l)
	if err != nil {
		k.rejected.add("lease_bad_record")
		return nil
	}
	d = &described{record: r, sealed: l.record, proof: l.proof}
	s.known[l.leaseKey] = d
	return d
}
