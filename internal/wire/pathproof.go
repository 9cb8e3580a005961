// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package wire

import "encoding/binary"

// Limits of a PathProof: a tree is not deeper, and has not more branches in a node.
const (
	maxPathSteps = 8
	maxPathAudit = 8
)

// DigestSize is the size of a digest in a PathProof, in bytes.
const DigestSize = 32

// PathProof shows a receiver that the publisher's node has put it behind those who
// pass messages on to it: the publisher has signed a digest of its tree, and this is
// what leads there from the receiver. Package security makes the digests, and has
// what is signed.
type PathProof struct {
	// Base is what had been addressed to the receiver when the path was signed.
	Base uint64
	// Behind is the digest of those behind the receiver; nil = there are none.
	Behind []byte
	// Incarnation is the publisher's. Serial is larger in each path that it signs;
	// what it seals for this one has serials beyond Floor.
	Incarnation   uint64
	Serial, Floor uint64
	Signature     [ProofSize]byte
	// Top is the place of the receiver's branch among those that were signed
	// together. Steps are the nodes between publisher and receiver, each with the
	// place of the next one, or of the receiver, among those behind it.
	Top   PathPlace
	Steps []PathStep
	// Certificate is the publisher's; nil = it shows none. Its hash is signed, too.
	Certificate []byte
}

// PathStep is one forwarder.
type PathStep struct {
	Peer   string
	Run    uint32
	Number uint64 // what had been addressed to it when the path was signed
	Next   PathPlace
}

// PathPlace is one of Count digests, and the others as far as they have to be known
// to join all of them.
type PathPlace struct {
	Index, Count uint8
	Audit        [][DigestSize]byte
}

func (p *PathProof) appendTo(dst []byte) []byte {
	dst = binary.BigEndian.AppendUint64(dst, p.Base)
	dst = append(append(dst, byte(len(p.Behind))), p.Behind...)
	dst = binary.BigEndian.AppendUint64(dst, p.Incarnation)
	dst = binary.BigEndian.AppendUint64(dst, p.Serial)
	dst = binary.BigEndian.AppendUint64(dst, p.Floor)
	dst = append(dst, p.Signature[:]...)
	dst = p.Top.appendTo(dst)
	dst = append(dst, byte(len(p.Steps)))
	for i := range p.Steps {
		s := &p.Steps[i]
		dst = appendShort(dst, s.Peer)
		dst = binary.BigEndian.AppendUint32(dst, s.Run)
		dst = binary.BigEndian.AppendUint64(dst, s.Number)
		dst = s.Next.appendTo(dst)
	}
	dst = binary.BigEndian.AppendUint16(dst, uint16(len(p.Certificate)))
	return append(dst, p.Certificate...)
}

func (p *PathPlace) appendTo(dst []byte) []byte {
	dst = append(dst, p.Index, p.Count, byte(len(p.Audit)))
	for i := range p.Audit {
		dst = append(dst, p.Audit[i][:]...)
	}
	return dst
}

// readPathProof reads one that is not aliased.
func readPathProof(r *reader) (p PathProof) {
	p.Base = r.number()
	if n := int(r.uint8()); n == DigestSize {
		p.Behind = append(p.Behind, r.bytes(n)...)
	} else {
		r.bad = r.bad || n != 0
	}
	p.Incarnation, p.Serial, p.Floor = r.uint64(), r.uint64(), r.uint64()
	copy(p.Signature[:], r.bytes(len(p.Signature)))
	p.Top = readPathPlace(r)
	n := int(r.uint8())
	r.bad = r.bad || n > maxPathSteps
	for i := 0; i < n && !r.bad; i++ {
		p.Steps = append(p.Steps, PathStep{Peer: r.name(MaxPeerID), Run: r.uint32(), Number: r.number(), Next: readPathPlace(r)})
	}
	n = int(r.uint16())
	if r.bad = r.bad || n > MaxCertificate; !r.bad {
		p.Certificate = append(p.Certificate, r.bytes(n)...)
	}
	return p
}

func readPathPlace(r *reader) PathPlace {
	p := PathPlace{Index: r.uint8(), Count: r.uint8()}
	n := int(r.uint8())
	r.bad = r.bad || n > maxPathAudit
	for i := 0; i < n && !r.bad; i++ {
		p.Audit = append(p.Audit, [DigestSize]byte{})
		copy(p.Audit[i][:], r.bytes(DigestSize))
	}
	return p
}
