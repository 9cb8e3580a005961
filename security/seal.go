// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package security

import (
	"crypto/cipher"
	"encoding/binary"
	"io"

	"github.com/libp2p/go-libp2p/core/peer"
)

const (
	sealHeadSize = 1 + keyIDSize + saltSize + 8
	keyIDSize    = len(KeyID{})

	// SealOverhead is what Seal adds to a payload, in bytes.
	SealOverhead = sealHeadSize + tagSize
)

// Binding is the request that a sealed payload belongs to. Whoever opens it
// states the same values, from what the payload came with; any difference is
// ErrUnauthorized. So a payload can't be used for another request, another
// member, or the same member after a restart.
type Binding struct {
	// Sender is the node that sent the request, SenderIncarnation its start.
	// In a reply too: it is sealed for the one caller who asked.
	Sender            peer.ID
	SenderIncarnation uint64
	// Member is whom the request was sent to.
	Member, MemberIncarnation uint64
	// RequestID is unique for Sender and SenderIncarnation.
	RequestID uint64
	// Pattern is how it was sent, as package patterns numbers it: a request
	// must not come as a push.
	Pattern uint8
	// Reply tells the reply from the request.
	Reply bool
	// Key is what Seal seals with, if it is accepted: the key under which a member was
	// found, or that sealed the request. So both ends have it, whichever of them hears
	// of a new key first. Zero = the one that seals now. It is bound to nothing, and
	// Open goes by what the payload says.
	Key KeyID
}

// Seal appends plain, encrypted end to end under the key of the
// cluster that seals now, to dst and returns the extended slice. plain and dst must not
// overlap. The layout is
//
//	1 byte    format, 1
//	8 bytes   KeyID of the cluster key
//	24 bytes  salt
//	8 bytes   counter
//	…         AES-256-GCM ciphertext and tag
//
// The AES key is derived from cluster key, salt, cluster name, sender, its
// incarnation and the direction. It is used for a bounded number of payloads,
// each with the next counter as its nonce. The associated data are everything
// before the ciphertext, the name and the whole binding. rand must not fail.
// A cluster without keys is a bug: Seal panics.
func (c *Cluster) Seal(rand io.Reader, b Binding, dst, plain []byte) []byte {
	k := c.ring().sealer(b.Key)
	salt, counter, aead := c.subkeys.get().toSeal(rand, sealer{k.id, b.party()}, func(salt []byte) cipher.AEAD {
		return c.payloadAEAD(k, b.party(), salt)
	})
	start := len(dst)
	dst = append(dst, sealFormat)
	dst = append(dst, k.id[:]...)
	dst = append(dst, salt[:]...)
	dst = binary.BigEndian.AppendUint64(dst, counter)
	head := dst[start:]
	return aead.Seal(dst, payloadNonce(head), plain, c.payloadData(b, head))
}

// Open decrypts what Seal made for the same binding, with whichever accepted
// key. It returns ErrUnauthorized, and does not say why. The caller owns the
// result. What was opened once opens again: it is for the receiver to refuse a
// RequestID that it has seen.
func (c *Cluster) Open(b Binding, sealed []byte) ([]byte, error) {
	if len(sealed) < SealOverhead || sealed[0] != sealFormat {
		return nil, ErrUnauthorized
	}
	head, ciphertext := sealed[:sealHeadSize], sealed[sealHeadSize:]
	name := subkeyName{key: KeyID(head[1:]), party: b.party()}
	copy(name.salt[:], head[1+keyIDSize:])
	k, ok := c.ring().key(name.key)
	if !ok { // even if its subkey is still known
		return nil, ErrUnauthorized
	}
	aead, known := c.subkeys.get().toOpen(name)
	if !known {
		aead = c.payloadAEAD(k, name.party, name.salt[:])
	}
	plain, err := aead.Open(nil, payloadNonce(head), ciphertext, c.payloadData(b, head))
	if err != nil {
		return nil, ErrUnauthorized
	}
	if !known {
		c.subkeys.get().keep(name, aead)
	}
	return plain, nil
}

func (c *Cluster) payloadAEAD(k *clusterKey, p party, salt []byte) cipher.AEAD {
	return newAEAD(derive(32, k.key[:], salt, labelPayload,
		[]byte(c.name), []byte(p.sender), uint64Bytes(p.incarnation), direction(p.reply)))
}

// payloadNonce is four zeros and the counter at the end of head.
func payloadNonce(head []byte) []byte {
	nonce := make([]byte, 12)
	copy(nonce[4:], head[sealHeadSize-8:])
	return nonce
}

func (c *Cluster) payloadData(b Binding, head []byte) []byte {
	var numbers [32]byte
	binary.BigEndian.PutUint64(numbers[0:], b.SenderIncarnation)
	binary.BigEndian.PutUint64(numbers[8:], b.Member)
	binary.BigEndian.PutUint64(numbers[16:], b.MemberIncarnation)
	binary.BigEndian.PutUint64(numbers[24:], b.RequestID)
	return message(labelPayload, head, []byte(c.name), []byte(b.Sender), numbers[:], b.kind())
}

// kind is one byte with the direction, and for all patterns but 0 another one.
func (b Binding) kind() []byte {
	if b.Pattern == 0 {
		return direction(b.Reply)
	}
	return append(direction(b.Reply), b.Pattern)
}

func (b Binding) party() party { return party{b.Sender, b.SenderIncarnation, b.Reply} }

func direction(reply bool) []byte {
	if reply {
		return []byte{1}
	}
	return []byte{0}
}
