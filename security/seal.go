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
	sealHeadSize = 1 + 4 + saltSize + 8

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
	// Reply tells the reply from the request.
	Reply bool
}

// Seal appends plain, encrypted end to end under the newest key of the
// cluster, to dst and returns the extended slice. plain and dst must not
// overlap. The layout is
//
//	1 byte    format, 1
//	4 bytes   version of the cluster key
//	24 bytes  salt
//	8 bytes   counter; 0, as each salt is used once
//	…         AES-256-GCM ciphertext and tag
//
// The AES key is derived from cluster key, salt, cluster name, sender, its
// incarnation and the direction; the nonce is the counter; the associated data
// are everything before the ciphertext, the name and the whole binding. rand
// must not fail. A cluster without keys is a bug: Seal panics.
func (c *Cluster) Seal(rand io.Reader, b Binding, dst, plain []byte) []byte {
	if len(c.keys) == 0 {
		panic("BUG: seal for a cluster without keys")
	}
	k := c.keys[0]
	var head [sealHeadSize]byte
	head[0] = sealFormat
	binary.BigEndian.PutUint32(head[1:], k.version)
	mustRead(rand, head[5:5+saltSize])
	var nonce [12]byte
	dst = append(dst, head[:]...)
	return c.payloadAEAD(k, b, head[:]).Seal(dst, nonce[:], plain, c.payloadData(b, head[:]))
}

// Open decrypts what Seal made for the same binding, with whichever accepted
// key. It returns ErrUnauthorized, and does not say why. The caller owns the
// result.
func (c *Cluster) Open(b Binding, sealed []byte) ([]byte, error) {
	if len(sealed) < SealOverhead || sealed[0] != sealFormat {
		return nil, ErrUnauthorized
	}
	head, ciphertext := sealed[:sealHeadSize], sealed[sealHeadSize:]
	version := binary.BigEndian.Uint32(head[1:])
	for _, k := range c.keys {
		if k.version != version {
			continue
		}
		var nonce [12]byte
		copy(nonce[4:], head[sealHeadSize-8:])
		plain, err := c.payloadAEAD(k, b, head).Open(nil, nonce[:], ciphertext, c.payloadData(b, head))
		if err == nil {
			return plain, nil
		}
	}
	return nil, ErrUnauthorized
}

func (c *Cluster) payloadAEAD(k clusterKey, b Binding, head []byte) cipher.AEAD {
	return newAEAD(derive(32, k.key[:], head[5:5+saltSize], labelPayload,
		[]byte(c.name), []byte(b.Sender), uint64Bytes(b.SenderIncarnation), b.direction()))
}

func (c *Cluster) payloadData(b Binding, head []byte) []byte {
	return message(labelPayload, head, []byte(c.name), []byte(b.Sender), uint64Bytes(b.SenderIncarnation),
		uint64Bytes(b.Member), uint64Bytes(b.MemberIncarnation), uint64Bytes(b.RequestID), b.direction())
}

func (b Binding) direction() []byte {
	if b.Reply {
		return []byte{1}
	}
	return []byte{0}
}
