// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package security

import (
	"crypto/ed25519"
	"crypto/sha256"

	"github.com/libp2p/go-libp2p/core/peer"
)

// DigestSize is the size of a PathDigest in bytes.
const DigestSize = sha256.Size

// PathDigest stands for one node of a publisher's tree and all that are behind it.
type PathDigest [DigestSize]byte

// PathNode is a node that has others behind it, or none.
type PathNode struct {
	Peer   peer.ID
	Run    uint32
	Number uint64 // of the last message addressed to it when the publisher signed
}

// Digest returns the digest of n with those behind it: JoinPaths of the digests of
// the next ones, or nil.
func (n PathNode) Digest(behind []byte) PathDigest {
	return sha256.Sum256(message(labelPathNode, []byte(n.Peer), uint64Bytes(uint64(n.Run)), uint64Bytes(n.Number), behind))
}

// JoinPaths returns what stands for several digests, in their order: the hash tree
// of RFC 6962, section 2.1, whose leaves are told from its nodes by their label.
// There must be at least one.
func JoinPaths(ds []PathDigest) PathDigest {
	if len(ds) == 1 {
		return ds[0]
	}
	k := split(len(ds))
	return joinTwo(JoinPaths(ds[:k]), JoinPaths(ds[k:]))
}

// AuditPath returns what has to be known beside ds[index] to find JoinPaths(ds): at
// most one digest for each time that len(ds) can be halved. The nearest come first.
func AuditPath(ds []PathDigest, index int) []PathDigest {
	if len(ds) == 1 {
		return nil
	}
	k := split(len(ds))
	if index < k {
		return append(AuditPath(ds[:k], index), JoinPaths(ds[k:]))
	}
	return append(AuditPath(ds[k:], index-k), JoinPaths(ds[:k]))
}

// JoinPath returns what JoinPaths does for count digests of which one is d, at that
// index, and the others are known by their audit path. It is false if such a path
// has another length.
func JoinPath(d PathDigest, index, count int, audit []PathDigest) (joined PathDigest, ok bool) {
	last := len(audit) - 1
	switch {
	case index < 0 || index >= count:
		return PathDigest{}, false
	case count == 1:
		return d, last < 0
	case last < 0:
		return PathDigest{}, false
	}
	k := split(count)
	if index < k {
		left, ok := JoinPath(d, index, k, audit[:last])
		return joinTwo(left, audit[last]), ok
	}
	right, ok := JoinPath(d, index-k, count-k, audit[:last])
	return joinTwo(audit[last], right), ok
}

// split is the largest power of two that is less than n, which is at least 2.
func split(n int) int {
	k := 1
	for 2*k < n {
		k *= 2
	}
	return k
}

func joinTwo(a, b PathDigest) PathDigest {
	return sha256.Sum256(message(labelPathJoin, a[:], b[:]))
}

// Path is what a publisher signs when it tells its forwarders who is behind them:
// all that receivers take their word for.
type Path struct {
	Network     NetworkID
	Publisher   peer.ID // whose session it is
	Incarnation uint64  // of its node
	Session     uint64
	// Serial is larger in each that the publisher signs, and than all with which it
	// has sealed before. What it seals later, and what is on its way now, has
	// serials beyond Floor.
	Serial, Floor uint64
	Group         string
	Nodes         PathDigest // of the branches that are signed together, joined
	// Certificate is that of the publisher, which says what it may publish; zero = it
	// shows none.
	Certificate CertificateHash
}

func (p *Path) message() []byte {
	return message(labelPath, p.Network[:], []byte(p.Publisher), uint64Bytes(p.Incarnation), uint64Bytes(p.Session),
		uint64Bytes(p.Serial), uint64Bytes(p.Floor), []byte(p.Group), p.Nodes[:], p.Certificate[:])
}

// SignPath returns k's signature of p, 64 bytes that the caller owns. It is good
// only if p.Publisher is k's peer id. The zero NodeKey can't sign.
func (k NodeKey) SignPath(p Path) []byte { return ed25519.Sign(k.get().private, p.message()) }

// VerifyPath checks what SignPath returned. It returns ErrBadSignature.
func VerifyPath(p Path, signature []byte) error {
	return verify(p.Publisher, p.message(), signature)
}

// RootForwarder is what a publisher signs for the node that passes its messages on
// to the root group.
type RootForwarder struct {
	Network     NetworkID
	Publisher   peer.ID
	Incarnation uint64 // of the publisher's node
	// Serial and Floor are as in Path.
	Serial, Floor uint64
	Forwarder     peer.ID
	Rank          uint64 // of the last message that went by another one
}

func (f *RootForwarder) message() []byte {
	return message(labelRootForwarder, f.Network[:], []byte(f.Publisher), uint64Bytes(f.Incarnation),
		uint64Bytes(f.Serial), uint64Bytes(f.Floor), []byte(f.Forwarder), uint64Bytes(f.Rank))
}

// SignRootForwarder returns k's signature of f, 64 bytes that the caller owns. It
// is good only if f.Publisher is k's peer id. The zero NodeKey can't sign.
func (k NodeKey) SignRootForwarder(f RootForwarder) []byte {
	return ed25519.Sign(k.get().private, f.message())
}

// VerifyRootForwarder checks what SignRootForwarder returned. It returns
// ErrBadSignature.
func VerifyRootForwarder(f RootForwarder, signature []byte) error {
	return verify(f.Publisher, f.message(), signature)
}

// Publication is what a publisher signs of one message, for those who take none
// without that: all that nobody but its author may say, whoever passes it on.
type Publication struct {
	Network     NetworkID
	Publisher   peer.ID
	Incarnation uint64 // of its node
	Session     uint64 // in which it is published in its group
	Serial      uint64 // is used once in that life of the node, and grows
	Topic       string
	Tail        []byte // headers and body, as they travel
}

// message is what is signed. The tail may be large, and Ed25519 hashes twice.
func (p *Publication) message() []byte {
	digest := sha256.Sum256(p.Tail)
	return message(labelPublication, p.Network[:], []byte(p.Publisher), uint64Bytes(p.Incarnation),
		uint64Bytes(p.Session), uint64Bytes(p.Serial), []byte(p.Topic), digest[:])
}

// SignPublication returns k's signature of p, 64 bytes that the caller owns. It is
// good only if p.Publisher is k's peer id. The zero NodeKey can't sign.
func (k NodeKey) SignPublication(p Publication) []byte {
	return ed25519.Sign(k.get().private, p.message())
}

// VerifyPublication checks what SignPublication returned. It returns
// ErrBadSignature.
func VerifyPublication(p Publication, signature []byte) error {
	return verify(p.Publisher, p.message(), signature)
}

// verify checks a signature by p's node key.
func verify(p peer.ID, message, signature []byte) error {
	public, err := publicKeyOf(p)
	if err == nil && !ed25519.Verify(public, message, signature) {
		err = ErrBadSignature
	}
	return err
}
