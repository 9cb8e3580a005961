// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package security

import "crypto/subtle"

const (
	agreedFormat = 2
	proofSize    = len(proof{})
	agreedSize   = len(EphemeralKey{}) + ephemeralIDSize + proofSize
)

// proof shows that the sender of a payload holds the cluster's key: who does not can't
// make a member's node multiply on the curve, or tell of its keys. It says nothing
// of the payload.
type proof [8]byte

// Agreed returns what the sender of a payload has agreed on with this node, which is the
// member's: b has the sender and its incarnation. Open opens the payload with it. Errors:
// ErrUnauthorized, and ErrForgotten, after which the sender should be told Public.
func (e *Ephemerals) Agreed(c *Cluster, b Binding, sealed []byte) (*Agreement, error) {
	if len(sealed) < AgreedOverhead || sealed[0] != agreedFormat {
		return nil, ErrUnauthorized
	}
	k, ok := c.ring().key(KeyID(sealed[1:]))
	if !ok {
		return nil, ErrUnauthorized
	}
	rest := sealed[sealHeadSize:]
	caller := EphemeralKey(rest)
	id := [ephemeralIDSize]byte(rest[len(caller):])
	own, a := e.answered(id, caller)
	if a != nil {
		return a, nil
	}
	want := k.agreedProof(c.name, b.party(), caller, id)
	if subtle.ConstantTimeCompare(want[:], rest[len(caller)+ephemeralIDSize:][:proofSize]) != 1 {
		return nil, ErrUnauthorized
	}
	if own == nil {
		return nil, ErrForgotten
	}
	return e.agree(own, caller, false)
}

func (k *clusterKey) agreedProof(cluster string, by party, caller EphemeralKey, member [ephemeralIDSize]byte) proof {
	return proof(derive(proofSize, k.key[:], nil, labelAgreedProof,
		[]byte(cluster), []byte(by.sender), uint64Bytes(by.incarnation), caller[:], member[:]))
}
