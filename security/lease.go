// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package security

import (
	"crypto/ed25519"
	"fmt"
	"strings"

	"github.com/libp2p/go-libp2p/core/peer"
)

// Lease is what a member's node signs when it registers: all that its anchors
// keep of the member and pass on, and where it is good. Nobody else can make
// one for its peer id, whatever other keys they hold.
type Lease struct {
	Network     NetworkID
	Cluster     ClusterID
	Peer        peer.ID // the member's node
	Member      uint64
	Incarnation uint64 // of the node
	Record      []byte // as SealRecord or SealRecordParts made it
}

// message is what is signed. The cluster's id stands for its key and its epoch. Of a
// record in two parts PassedRecord is signed, so that whoever gets only that can
// verify it.
func (l *Lease) message() []byte {
	record := l.Record
	if passed, ok := PassedRecord(record); ok {
		record = passed
	}
	return message(labelLease, l.Network[:], l.Cluster[:], []byte(l.Peer),
		uint64Bytes(l.Member), uint64Bytes(l.Incarnation), record)
}

// SignLease returns k's signature of l, 64 bytes that the caller owns. It is
// good only if l.Peer is k's peer id. The zero NodeKey can't sign.
func (k NodeKey) SignLease(l Lease) []byte {
	return ed25519.Sign(k.get().private, l.message())
}

// VerifyLease checks what SignLease returned, with nothing but l: the peer id of
// a node holds its public key. It returns ErrBadSignature.
func VerifyLease(l Lease, signature []byte) error {
	return verify(l.Peer, l.message(), signature)
}

// ed25519PeerHead is what the peer id of every node begins with: an identity
// multihash (00) of 36 bytes (24), and in it the protobuf of an Ed25519 key
// (08 01) of 32 bytes (12 20). See https://github.com/libp2p/specs, peer-ids.
const ed25519PeerHead = "\x00\x24\x08\x01\x12\x20"

// publicKeyOf returns the key in a peer id. It takes the one encoding that nodes
// have: another one of the same key would be a second name for the same node.
func publicKeyOf(p peer.ID) (ed25519.PublicKey, error) {
	key, ok := strings.CutPrefix(string(p), ed25519PeerHead)
	if !ok || len(key) != ed25519.PublicKeySize {
		return nil, fmt.Errorf("%w: the peer id holds no Ed25519 key", ErrBadSignature)
	}
	return ed25519.PublicKey(key), nil
}

// CheckPeerID returns ErrBadSignature unless p is the peer id of a node, in the one
// encoding that nodes have.
func CheckPeerID(p peer.ID) error {
	_, err := publicKeyOf(p)
	return err
}
