// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package sim

import "github.com/libp2p/go-libp2p/core/peer"

// Admission is what a node shows and demands in the handshake. A network of
// package security is one.
type Admission interface {
	// Admit makes the proof that the peer id belongs to the network.
	Admit(p peer.ID) []byte
	// CheckAdmission checks such a proof.
	CheckAdmission(p peer.ID, proof []byte) error
}

// SetAdmission says what the node of that name shows and demands when it
// connects or is connected to: a connection stands only if each end accepts
// the other's proof. Nodes without one accept everybody and are accepted by
// everybody. It holds from the next dial on. A proof is checked once for each
// Admission and peer: nodes of one network should share one.
func (n *Network) SetAdmission(name string, a Admission) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.host(name).admission = a
}

// admits says whether both ends of a new connection accept each other.
func (n *Network) admits(a, b *host) bool { return n.accepts(a, b) && n.accepts(b, a) }

// proven names a proof that was checked.
type proven struct {
	by, of Admission
	id     peer.ID
}

// accepts says whether one end accepts the other's proof.
func (n *Network) accepts(one, other *host) bool {
	if one.admission == nil || other.admission == nil {
		return true
	}
	k := proven{by: one.admission, of: other.admission, id: other.id}
	ok, known := n.proofs[k]
	if !known {
		ok = one.admission.CheckAdmission(other.id, other.admission.Admit(other.id)) == nil
		n.proofs[k] = ok
	}
	return ok
}
