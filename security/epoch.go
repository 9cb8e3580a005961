// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package security

import (
	"crypto/ed25519"
	"crypto/sha256"
	"crypto/subtle"
	"fmt"
	"io"
	"slices"

	"github.com/libp2p/go-libp2p/core/peer"
)

// Epoch is a cluster under one key version in one epoch: a blinded id and the
// key pair it is the hash of. It is an immutable value, cheap to copy; its
// methods may be called concurrently. The zero Epoch has no use.
type Epoch struct{ s hidden[epochState] }

type epochState struct {
	of    hidden[clusterKey]
	index int64
	id    ClusterID
	// The private key is made of its seed when it is needed: once. Kept it would be four
	// times as large.
	seed [ed25519.SeedSize]byte
	key  [ed25519.PublicKeySize]byte
}

func newEpoch(name string, k hidden[clusterKey], index int64) Epoch {
	route := k.get().route
	return epochOf(k, index, derive(ed25519.SeedSize, route[:], nil, labelEpochKey, []byte(name), uint64Bytes(uint64(index))))
}

// epochOf makes the epoch whose private key is made of seed.
func epochOf(k hidden[clusterKey], index int64, seed []byte) Epoch {
	s := &epochState{of: k, index: index}
	copy(s.seed[:], seed)
	copy(s.key[:], ed25519.NewKeyFromSeed(seed).Public().(ed25519.PublicKey))
	s.id = clusterID(s.key[:])
	return Epoch{hide(s)}
}

// Shard returns the same key and epoch under another blinded id: that of a part of the
// cluster, by the part's number. Whoever can derive e can derive it, and nobody else can
// tell that the two ids belong together. A shard has shards of its own.
func (e Epoch) Shard(number int) Epoch {
	s := e.s.get()
	return epochOf(s.of, s.index, derive(ed25519.SeedSize, s.seed[:], nil, labelShardKey, uint64Bytes(uint64(number))))
}

func clusterID(public []byte) ClusterID { return sha256.Sum256(message(labelClusterID, public)) }

// ID is the blinded id.
func (e Epoch) ID() ClusterID { return e.s.get().id }

// KeyVersion is the version of the cluster key.
func (e Epoch) KeyVersion() uint32 { return e.s.get().of.get().version }

// KeyID names the cluster key.
func (e Epoch) KeyID() KeyID { return e.s.get().of.get().id }

// PublicKey is the key whose hash is ID. The caller owns the slice.
func (e Epoch) PublicKey() []byte { return slices.Clone(e.s.get().key[:]) }

// Prove returns the proof that p holds the cluster key. It is good for p in
// this epoch only, so it may be shown to anybody.
func (e Epoch) Prove(p peer.ID) []byte {
	s := e.s.get()
	return ed25519.Sign(ed25519.NewKeyFromSeed(s.seed[:]), proofMessage(s.id, p))
}

// String returns the beginning of the id.
func (e Epoch) String() string {
	if e.s.empty() {
		return "epoch"
	}
	return "epoch " + e.s.get().id.String()[:16]
}

// Format writes String, whatever the verb.
func (e Epoch) Format(s fmt.State, _ rune) { _, _ = io.WriteString(s, e.String()) }

// VerifyProof checks what Prove returned, without any secret: id must be the
// hash of publicKey, and proof its signature for p. It returns ErrBadProof.
func VerifyProof(id ClusterID, publicKey, proof []byte, p peer.ID) error {
	if len(publicKey) != ed25519.PublicKeySize || len(proof) != ed25519.SignatureSize {
		return fmt.Errorf("%w: length", ErrBadProof)
	}
	hash := clusterID(publicKey)
	if subtle.ConstantTimeCompare(hash[:], id[:]) != 1 {
		return fmt.Errorf("%w: the cluster id is not the hash of the key", ErrBadProof)
	}
	if !ed25519.Verify(publicKey, proofMessage(id, p), proof) {
		return fmt.Errorf("%w: signature", ErrBadProof)
	}
	return nil
}

func proofMessage(id ClusterID, p peer.ID) []byte { return message(labelProof, id[:], []byte(p)) }
