// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package security

import (
	"crypto/cipher"
	"encoding/binary"
	"io"
	"sync/atomic"

	"github.com/libp2p/go-libp2p/core/peer"
)

const (
	streamHeadSize = 1 + keyIDSize + saltSize

	// StreamOverhead is what Stream.Seal adds to a chunk, in bytes.
	StreamOverhead = tagSize
)

// StreamBinding is the tunnel that a stream belongs to. Both ends state the
// same values; if any differs, nothing opens.
type StreamBinding struct {
	Opener                    peer.ID
	OpenerIncarnation         uint64
	Member, MemberIncarnation uint64
	Tunnel                    uint64 // unique for Opener and OpenerIncarnation
}

// Stream seals what one end of a tunnel sends, and opens what it receives: each
// chunk once and in order, so that one that is missing, repeated, moved or from
// another tunnel does not open. Sealing and opening chunks may go on at the same
// time, but each is for one goroutine. What goes beside the chunks is in
// streamaside.go.
type Stream struct {
	sealer, opener streamWay
}

// streamWay is one direction.
type streamWay struct {
	aead  hidden[cipher.AEAD]
	nonce [12]byte // four zeros and the number of the next chunk
	data  [1]byte
	reset atomic.Bool  // its one reset was sealed, or opened
	with  atomic.Int32 // the data of all credit, above 255; 0 = none was sealed
}

// NewStreamHead returns what the opener of a tunnel sends with the opening: the
// key that is used, CommonKey, and a salt. It is made once for each tunnel. rand must not
// fail. A cluster without keys is a bug: it panics. The layout is
//
//	1 byte    format, 1
//	8 bytes   KeyID of the cluster key
//	24 bytes  salt
func (c *Cluster) NewStreamHead(rand io.Reader) []byte {
	head := make([]byte, streamHeadSize)
	head[0] = sealFormat
	k := c.ring().sealer(c.CommonKey())
	copy(head[1:], k.id[:])
	mustRead(rand, head[1+keyIDSize:])
	return head
}

// NewStreamSalt returns what the member answers: a salt of its own, so that an
// opening which is repeated never leads to the same keys. rand must not fail.
func NewStreamSalt(rand io.Reader) []byte {
	salt := make([]byte, saltSize)
	mustRead(rand, salt)
	return salt
}

// Stream returns the sealing of a tunnel, from the head of its opening and the
// salt of its answer. isOpener says which end it is for. It returns
// ErrUnauthorized if the head or the salt are none, or the key is not
// accepted.
//
// Each direction has an AES key of its own, derived from the cluster key, both
// salts, the cluster's name, the binding and the direction. A chunk is
// AES-256-GCM ciphertext and tag; its nonce is the number of the chunk in its
// direction, from 0, and its associated data are one byte of the caller's. For
// credit and resets see SealCredit and SealReset.
func (c *Cluster) Stream(b StreamBinding, head, salt []byte, isOpener bool) (*Stream, error) {
	if len(head) != streamHeadSize || head[0] != sealFormat || len(salt) != saltSize {
		return nil, ErrUnauthorized
	}
	k, ok := c.ring().key(KeyID(head[1:]))
	if !ok {
		return nil, ErrUnauthorized
	}
	way := func(fromMember bool) hidden[cipher.AEAD] {
		both := append(append(make([]byte, 0, 2*saltSize), head[1+keyIDSize:]...), salt...)
		return hide(ref(newAEAD(derive(32, k.key[:], both, labelStream,
			[]byte(c.name), []byte(b.Opener), uint64Bytes(b.OpenerIncarnation),
			uint64Bytes(b.Member), uint64Bytes(b.MemberIncarnation), uint64Bytes(b.Tunnel), direction(fromMember)))))
	}
	return &Stream{sealer: streamWay{aead: way(!isOpener)}, opener: streamWay{aead: way(isOpener)}}, nil
}

func ref[T any](v T) *T { return &v }

// Seal appends the next chunk, sealed, to dst, and returns the extended slice.
// plain and dst must not overlap.
func (s *Stream) Seal(dst, plain []byte, data byte) []byte {
	w := &s.sealer
	w.data[0] = data
	dst = (*w.aead.get()).Seal(dst, w.nonce[:], plain, w.data[:])
	w.advance()
	return dst
}

// Open decrypts the next chunk in place: the result has the memory of sealed.
// After ErrUnauthorized the stream is of no use any more.
func (s *Stream) Open(sealed []byte, data byte) ([]byte, error) {
	w := &s.opener
	w.data[0] = data
	plain, err := (*w.aead.get()).Open(sealed[:0], w.nonce[:], sealed, w.data[:])
	if err != nil {
		return nil, ErrUnauthorized
	}
	w.advance()
	return plain, nil
}

// advance goes on to the next chunk. 2^64 of them never come.
func (w *streamWay) advance() {
	binary.BigEndian.PutUint64(w.nonce[4:], binary.BigEndian.Uint64(w.nonce[4:])+1)
}
