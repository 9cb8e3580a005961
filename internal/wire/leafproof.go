// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package wire

const (
	// NonceSize is how many random bytes each side of a challenge chooses.
	NonceSize = 32
	// LeafProofSize is how many bytes a proof of a token has.
	LeafProofSize = 32
	// MaxTokens is how many tokens a relay may have: it proves each of them.
	MaxTokens = 64

	leafChallengeMagic = "arke-key"
)

// LeafChallenge is the first frame of a client that has a token, of KindHello like
// what follows: the relay proves that it holds the token, and then the client does,
// in its LeafHello. The token itself is never sent.
type LeafChallenge struct {
	Nonce [NonceSize]byte // random, of this connection
}

// IsLeafChallenge says whether the body of a client's KindHello frame is a
// challenge.
func IsLeafChallenge(b []byte) bool {
	return len(b) >= len(leafChallengeMagic) && string(b[:len(leafChallengeMagic)]) == leafChallengeMagic
}

// AppendTo appends the encoded message.
func (m *LeafChallenge) AppendTo(dst []byte) []byte {
	return append(append(dst, leafChallengeMagic...), m.Nonce[:]...)
}

// DecodeLeafChallenge decodes a challenge. What follows the fields is ignored: a
// later version may have more.
func DecodeLeafChallenge(b []byte) (m LeafChallenge, err error) {
	r := reader{b: b}
	magic := string(r.bytes(len(leafChallengeMagic)))
	copy(m.Nonce[:], r.bytes(len(m.Nonce)))
	if r.bad || magic != leafChallengeMagic {
		return LeafChallenge{}, malformed("hello: challenge")
	}
	return m, nil
}

// RelayProof is the relay's answer to a LeafChallenge.
type RelayProof struct {
	Nonce  [NonceSize]byte       // random, of this connection
	Proofs [][LeafProofSize]byte // one for each token of the relay, at most MaxTokens
}

// AppendTo appends the encoded message.
func (m *RelayProof) AppendTo(dst []byte) []byte {
	if len(m.Proofs) > MaxTokens {
		panic("BUG: more proofs than tokens")
	}
	dst = append(append(dst, m.Nonce[:]...), byte(len(m.Proofs)))
	for i := range m.Proofs {
		dst = append(dst, m.Proofs[i][:]...)
	}
	return dst
}

// DecodeRelayProof decodes the relay's answer to a challenge. What follows the
// fields is ignored: a later version may have more.
func DecodeRelayProof(b []byte) (m RelayProof, err error) {
	r := reader{b: b}
	copy(m.Nonce[:], r.bytes(len(m.Nonce)))
	n := int(r.uint8())
	if n > MaxTokens {
		return RelayProof{}, malformed("hello: proofs")
	}
	for range n {
		m.Proofs = append(m.Proofs, [LeafProofSize]byte{})
		copy(m.Proofs[len(m.Proofs)-1][:], r.bytes(LeafProofSize))
	}
	if r.bad {
		return RelayProof{}, malformed("hello: short")
	}
	return m, nil
}
