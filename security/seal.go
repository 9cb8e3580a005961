// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package security

import (
	"crypto/cipher"
	"encoding/binary"
	"io"
	"sync"

	"github.com/libp2p/go-libp2p/core/peer"
)

const (
	sealHeadSize = 1 + keyIDSize + saltSize + 8
	keyIDSize    = len(KeyID{})

	// SealOverhead is what Seal adds to a payload, in bytes.
	SealOverhead = sealHeadSize + tagSize
	// AgreedOverhead is what it adds to one that is sealed with an Agreement and is no
	// reply.
	AgreedOverhead = SealOverhead + agreedSize
	// SealTag is what of that is behind the ciphertext.
	SealTag = tagSize
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
	// Agreement is that of the nodes of sender and member: With at the one, Agreed at
	// the other. nil = none: then whoever gets the cluster's key later can open it.
	Agreement *Agreement
}

// Seal appends plain, encrypted end to end under the key of the
// cluster that seals now, to dst and returns the extended slice. plain must not overlap what is
// appended, unless it is Binding.Room bytes behind the end of dst, where it is encrypted in
// place. The layout is
//
//	1 byte    format: 2 with an agreement, else 1
//	8 bytes   KeyID of the cluster key
//	24 bytes  salt
//	8 bytes   counter
//	          then with an agreement, but not in a reply:
//	32 bytes  the sender's ephemeral key
//	8 bytes   beginning of the member's
//	8 bytes   proof that the sender holds the cluster key
//	…         AES-256-GCM ciphertext and tag
//
// The AES key is derived from cluster key, salt, cluster name, sender, its
// incarnation and the direction; with an agreement also from what was agreed on, as a
// secret behind the cluster key, and both ephemeral keys. The proof is derived from
// the cluster key, the name, sender and incarnation, and what of the ephemeral keys is
// before it. An AES key is used for a bounded number of payloads,
// each with the next counter as its nonce. The associated data are everything
// before the ciphertext, the name and the whole binding. rand must not fail.
// A cluster without keys is a bug: Seal panics. With an agreement that was erased it
// seals with what nobody knows.
func (c *Cluster) Seal(rand io.Reader, b Binding, dst, plain []byte) []byte {
	k := c.ring().sealer(b.Key)
	with := c.subkeysOf(&b).toSeal(rand, sealer{k.id, b.party()}, func(s *sealing) {
		var ok bool
		if s.aead, ok = c.payloadAEAD(k, &b, s.salt[:]); !ok {
			var unknown Key
			mustRead(rand, unknown[:])
			s.aead = newAEAD(unknown[:])
		}
		if a := b.Agreement; a != nil && !b.Reply {
			s.proof = k.agreedProof(c.name, b.party(), a.state.get().caller, a.Member().id())
		}
	})
	start := len(dst)
	dst = append(dst, b.format())
	dst = append(dst, k.id[:]...)
	dst = append(dst, with.salt[:]...)
	dst = binary.BigEndian.AppendUint64(dst, with.next)
	if a := b.Agreement; a != nil && !b.Reply {
		s := a.state.get()
		dst = append(dst, s.caller[:]...)
		dst = append(dst, s.member[:ephemeralIDSize]...)
		dst = append(dst, with.proof[:]...)
	}
	x := c.scratches.take()
	defer c.scratches.put(x)
	return with.aead.Seal(dst, x.nonceOf(dst[start:]), plain, x.dataOf(c.name, &b, dst[start:]))
}

// Open decrypts what Seal made for the same binding, with whichever accepted
// key. It returns ErrUnauthorized, and does not say why. The caller owns the
// result. What was opened once opens again: it is for the receiver to refuse a
// RequestID that it has seen.
func (c *Cluster) Open(b Binding, sealed []byte) ([]byte, error) { return c.open(&b, nil, sealed) }

// OpenInPlace is Open, but the result has the memory of sealed, which is of no use
// after an error.
func (c *Cluster) OpenInPlace(b Binding, sealed []byte) ([]byte, error) {
	return c.open(&b, sealed[min(b.Room(), len(sealed)):][:0], sealed)
}

func (c *Cluster) open(b *Binding, dst, sealed []byte) ([]byte, error) {
	size := b.Room()
	if len(sealed) < size+tagSize || sealed[0] != b.format() {
		return nil, ErrUnauthorized
	}
	head, ciphertext := sealed[:size], sealed[size:]
	name := subkeyName{key: KeyID(head[1:]), party: b.party()}
	copy(name.salt[:], head[1+keyIDSize:])
	k, ok := c.ring().key(name.key)
	if !ok { // even if its subkey is still known
		return nil, ErrUnauthorized
	}
	subkeys := c.subkeysOf(b)
	aead, known := subkeys.toOpen(name)
	if !known {
		if aead, ok = c.payloadAEAD(k, b, head[1+keyIDSize:][:saltSize]); !ok {
			return nil, ErrUnauthorized
		}
	}
	x := c.scratches.take()
	defer c.scratches.put(x)
	plain, err := aead.Open(dst, x.nonceOf(head), ciphertext, x.dataOf(c.name, b, head))
	if err != nil {
		return nil, ErrUnauthorized
	}
	if !known {
		subkeys.keep(name, aead)
	}
	return plain, nil
}

// subkeysOf is where subkeys are remembered: those of an agreement end with it.
func (c *Cluster) subkeysOf(b *Binding) *subkeys {
	if b.Agreement != nil {
		return &b.Agreement.state.get().subkeys
	}
	if s := c.subkeys.Load(); s != nil {
		return s
	}
	c.subkeys.CompareAndSwap(nil, new(subkeys))
	return c.subkeys.Load()
}

// payloadAEAD derives a subkey; false if the agreement was erased.
func (c *Cluster) payloadAEAD(k *clusterKey, b *Binding, salt []byte) (cipher.AEAD, bool) {
	a := b.Agreement
	if a == nil {
		return newAEAD(derive(32, k.key[:], salt, labelPayload,
			[]byte(c.name), []byte(b.Sender), uint64Bytes(b.SenderIncarnation), direction(b.Reply))), true
	}
	secret, ok := a.with(&k.key)
	if !ok {
		return nil, false
	}
	defer clear(secret)
	s := a.state.get()
	return newAEAD(derive(32, secret, salt, labelAgreed,
		[]byte(c.name), []byte(b.Sender), uint64Bytes(b.SenderIncarnation), direction(b.Reply), s.caller[:], s.member[:])), true
}

// format is the first byte of what is sealed.
func (b *Binding) format() byte {
	if b.Agreement != nil {
		return agreedFormat
	}
	return sealFormat
}

// Room is how many bytes Seal appends before the ciphertext; behind it are SealTag more.
func (b *Binding) Room() int {
	if b.Agreement != nil && !b.Reply {
		return sealHeadSize + agreedSize
	}
	return sealHeadSize
}

func (b *Binding) party() party { return party{b.Sender, b.SenderIncarnation, b.Reply} }

func direction(reply bool) []byte {
	if reply {
		return []byte{1}
	}
	return []byte{0}
}

// scratch is what sealing or opening one payload needs for a moment.
type scratch struct {
	nonce [12]byte // four zeros and the counter
	data  []byte
}

// scratches has what is not in use.
type scratches struct{ spare sync.Pool }

func (s *scratches) take() *scratch {
	if x, ok := s.spare.Get().(*scratch); ok {
		return x
	}
	return new(scratch)
}

func (s *scratches) put(x *scratch) { s.spare.Put(x) }

// nonceOf is valid until put.
func (x *scratch) nonceOf(head []byte) []byte {
	copy(x.nonce[4:], head[sealHeadSize-8:])
	return x.nonce[:]
}

// dataOf returns the associated data, which are a message of the head, the name, the
// sender, the numbers, and one byte with the direction, behind which is the pattern
// unless it is 0. They are valid until put.
func (x *scratch) dataOf(name string, b *Binding, head []byte) []byte {
	label := labelPayload
	if b.Agreement != nil {
		label = labelAgreed
	}
	d := append(append(x.data[:0], label...), 0)
	d = appendPart(d, head)
	d = appendPart(d, name)
	d = appendPart(d, b.Sender)
	d = binary.BigEndian.AppendUint32(d, 32)
	for _, v := range [...]uint64{b.SenderIncarnation, b.Member, b.MemberIncarnation, b.RequestID} {
		d = binary.BigEndian.AppendUint64(d, v)
	}
	kind := [2]byte{0, b.Pattern}
	if b.Reply {
		kind[0] = 1
	}
	if b.Pattern == 0 {
		d = appendPart(d, kind[:1])
	} else {
		d = appendPart(d, kind[:])
	}
	x.data = d
	return d
}
