// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package security

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
)

// VouchSize is the length of what Vouch returns, in bytes.
const VouchSize = 4 + sha256.Size

// Vouch returns the proof that a holder of the network's newest key makes a
// statement to all nodes: what it is about, in which number, and its body. Whoever
// holds that key can make one; who it was does not show. It is
//
//	4 bytes   version of the network key, big-endian
//	32 bytes  HMAC-SHA-256 over network id, version, topic, subject, number and body
func (n *Network) Vouch(topic uint32, subject string, number uint64, body []byte) []byte {
	k := n.keys[0].get()
	b := binary.BigEndian.AppendUint32(make([]byte, 0, VouchSize), k.version)
	return append(b, n.vouch(k, topic, subject, number, body)...)
}

// CheckVouch verifies what Vouch returned, here or at another node. It returns
// ErrUnauthorized unless an accepted key has made it.
func (n *Network) CheckVouch(proof []byte, topic uint32, subject string, number uint64, body []byte) error {
	if len(proof) != VouchSize {
		return fmt.Errorf("%w: length of a proof", ErrUnauthorized)
	}
	for _, h := range n.keys {
		k := h.get()
		if k.version == binary.BigEndian.Uint32(proof) &&
			hmac.Equal(proof[4:], n.vouch(k, topic, subject, number, body)) {
			return nil
		}
	}
	return ErrUnauthorized
}

func (n *Network) vouch(k *networkKey, topic uint32, subject string, number uint64, body []byte) []byte {
	var head [8]byte
	binary.BigEndian.PutUint32(head[:], k.version)
	binary.BigEndian.PutUint32(head[4:], topic)
	key := derive(len(Key{}), k.key[:], n.id[:], labelVouchKey)
	h := hmac.New(sha256.New, key)
	h.Write(message(labelVouch, n.id[:], head[:], []byte(subject), uint64Bytes(number), body))
	return h.Sum(nil)
}
