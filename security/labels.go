// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package security

import (
	"crypto/hkdf"
	"crypto/sha256"
	"encoding/binary"
)

// Every use of a key has a label of its own, so that nothing made for one
// purpose is good for another one. The number is the version of all formats
// here; whoever changes one of them gives it a new label.
const (
	labelAdmissionKey  = "arke/1 admission key"  // network key -> Ed25519 seed
	labelAdmission     = "arke/1 admission"      // what that key signs
	labelStrangerKey   = "arke/1 stranger key"   // network key -> HMAC key of greetings
	labelVouchKey      = "arke/1 vouch key"      // network key -> HMAC key of statements
	labelVouch         = "arke/1 vouch"          // what that key makes a MAC of
	labelPublic        = "arke/1 public label"   // network id -> Label
	labelClusterKey    = "arke/1 cluster key"    // network key, name -> cluster key
	labelRouteKey      = "arke/1 route key"      // cluster key -> route key
	labelKeyID         = "arke/1 key id"         // cluster key, name, version -> its public name
	labelKeySet        = "arke/1 key set"        // newest cluster key, ids of all -> name of the set
	labelEpochKey      = "arke/1 epoch key"      // route key, name, epoch -> Ed25519 seed
	labelShardKey      = "arke/1 shard key"      // epoch's Ed25519 seed, number of the shard -> Ed25519 seed
	labelEpochOffset   = "arke/1 epoch offset"   // name -> when its epochs begin
	labelClusterID     = "arke/1 cluster id"     // epoch public key -> cluster id
	labelProof         = "arke/1 cluster proof"  // what the epoch key signs
	labelLease         = "arke/1 lease"          // what a member's node key signs
	labelPath          = "arke/1 path"           // what a publisher signs for its forwarders
	labelPathNode      = "arke/1 path node"      // a node in it and those behind it -> digest
	labelPathJoin      = "arke/1 path join"      // two digests -> one
	labelRootForwarder = "arke/1 root forwarder" // what a publisher signs for one of the root group
	labelPublication   = "arke/1 publication"    // a message that a publisher signs
	labelCertificate   = "arke/1 certificate"    // what an authority signs for a node
	labelRevocations   = "arke/1 revocations"    // what it signs against nodes
	labelDelegation    = "arke/1 delegation"     // what it signs for an issuer
	labelRenewal       = "arke/1 renewal"        // what that one signs for a node
	labelRecord        = "arke/1 sealed record"  // cluster key, salt -> AES-256 key
	labelReach         = "arke/1 sealed reach"   // route key, salt -> AES-256 key
	labelLent          = "arke/1 lent record"    // route key, salt -> AES-256 key
	labelPayload       = "arke/1 sealed payload" // cluster key, salt -> AES-256 key
	labelAgreed        = "arke/1 agreed payload" // cluster key, agreement, salt -> AES-256 key
	labelAgreedProof   = "arke/1 agreed proof"   // cluster key, ephemeral keys -> proof of the first one
	labelStream        = "arke/1 sealed tunnel"  // cluster key, two salts -> AES-256 key
)

// derive is HKDF-SHA-256. parts go into info behind the label, each with its
// length, so that no two lists of parts read the same.
func derive(size int, secret, salt []byte, label string, parts ...[]byte) []byte {
	out, err := hkdf.Key(sha256.New, secret, salt, string(message(label, parts...)), size)
	if err != nil {
		panic("BUG: hkdf: " + err.Error()) // only for a size beyond 255 hashes
	}
	return out
}

// message is what gets hashed or signed: the label, a zero byte, then each
// part with its length.
func message(label string, parts ...[]byte) []byte {
	n := len(label) + 1
	for _, p := range parts {
		n += 4 + len(p)
	}
	b := make([]byte, 0, n)
	b = append(b, label...)
	b = append(b, 0)
	for _, p := range parts {
		b = appendPart(b, p)
	}
	return b
}

// appendPart appends p with its length.
func appendPart[P ~string | ~[]byte](b []byte, p P) []byte {
	return append(binary.BigEndian.AppendUint32(b, uint32(len(p))), p...)
}

func uint64Bytes(v uint64) []byte { return binary.BigEndian.AppendUint64(nil, v) }
