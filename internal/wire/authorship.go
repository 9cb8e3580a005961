// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package wire

import "encoding/binary"

// Authorship is what a publisher says of a message that it has signed. With
// FlagSigned it is the end of the content of each message, within the seal if there
// is one. Package security has what is signed.
type Authorship struct {
	Incarnation uint64 // of the publisher
	Session     uint64 // of what it publishes in the group
	Serial      uint64 // used once in that life of it
	Signature   []byte // ProofSize bytes
}

// AuthorshipSize is the size of an encoded Authorship in bytes.
const AuthorshipSize = 8 + 8 + 8 + ProofSize

// AppendTo appends the encoded authorship.
func (a *Authorship) AppendTo(dst []byte) []byte {
	dst = binary.BigEndian.AppendUint64(dst, a.Incarnation)
	dst = binary.BigEndian.AppendUint64(dst, a.Session)
	dst = binary.BigEndian.AppendUint64(dst, a.Serial)
	return append(dst, a.Signature...)
}

// CutAuthorship takes the authorship off the end of a content, and returns the
// headers and body before it. Both alias the content. It is false if that is too
// short, or if those are no headers and body.
func CutAuthorship(content []byte) (tail []byte, a Authorship, ok bool) {
	n := len(content) - AuthorshipSize
	if n < 0 {
		return nil, a, false
	}
	tail = content[:n:n]
	if n < 2 || checkEncodedHeaders(tail) != nil {
		return nil, a, false
	}
	r := reader{b: content[n:]}
	a = Authorship{Incarnation: r.uint64(), Session: r.uint64(), Serial: r.uint64()}
	a.Signature = r.b
	return tail, a, true
}
