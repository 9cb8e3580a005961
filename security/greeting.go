// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package security

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
)

// GreetingSize is the length of what Greet returns, in bytes.
const GreetingSize = sha256.Size

// half of a greeting is enough for one key: 128 bits.
const half = GreetingSize / 2

// Greet returns what a node sends in front of hello, the first bytes that it says
// on a connection, so that the other side knows at the price of a hash that a key
// of the network is held there. It looks random to everybody else.
//
// With one key it is HMAC-SHA-256 of hello, by the stranger key. With two
// its first half is that of the newest key's and its second half that of the
// other's: during a change of keys a node meets others that have only one of them,
// and does not know which. The keys are those of Admit.
func (n *Network) Greet(hello []byte) (greeting [GreetingSize]byte) {
	shown := n.ring.Load().shown
	newest, oldest := shown[0].get(), shown[len(shown)-1].get()
	copy(greeting[:], newest.mac(hello))
	if oldest != newest {
		copy(greeting[half:], oldest.mac(hello)[half:])
	}
	return greeting
}

// CheckGreeting says whether greeting was made for hello with an accepted key. mark
// is then a number that is the same whenever the same hello comes to this Network,
// and that nobody without a key can choose or foresee: by it a replay is known.
// greeting has GreetingSize bytes.
func (n *Network) CheckGreeting(greeting, hello []byte) (mark uint64, ok bool) {
	if len(greeting) != GreetingSize {
		return 0, false
	}
	for i, h := range n.ring.Load().accepted {
		sum := h.get().mac(hello)
		if i == 0 {
			mark = binary.BigEndian.Uint64(sum)
		}
		if hmac.Equal(sum[:half], greeting[:half]) || hmac.Equal(sum[half:], greeting[half:]) {
			return mark, true
		}
	}
	return 0, false
}

func (k *networkKey) mac(hello []byte) []byte { return mac(k.stranger, hello) }

func mac(key, message []byte) []byte {
	h := hmac.New(sha256.New, key)
	h.Write(message)
	return h.Sum(nil)
}
