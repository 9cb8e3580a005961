// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package overlay

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"math/bits"
)

// Place is where a Key or a peer lies in the key space. The distance of two is their
// exclusive or.
type Place [sha256.Size]byte

// PlaceOf is the place of a key, or of a peer by the bytes of its id.
func PlaceOf(b []byte) Place { return sha256.Sum256(b) }

// To is the distance from a to b.
func (a Place) To(b Place) (d Place) {
	for i := range a {
		d[i] = a[i] ^ b[i]
	}
	return d
}

// Closer compares the distances of x and y to a.
func (a Place) Closer(x, y Place) int {
	for i := range a {
		if x[i] != y[i] {
			return cmp.Compare(x[i]^a[i], y[i]^a[i])
		}
	}
	return 0
}

// Shared is the number of leading bits that two places have in common.
func (a Place) Shared(b Place) int {
	for i := range a {
		if x := a[i] ^ b[i]; x != 0 {
			return 8*i + bits.LeadingZeros8(x)
		}
	}
	return 8 * len(a)
}

// Head is the first part of a place, which tells nearly all apart, or of a distance.
func (a Place) Head() uint64 { return binary.BigEndian.Uint64(a[:]) }

// Bit says whether one of a's bits is set; the first is 0.
func (a Place) Bit(i int) bool { return a[i/8]>>(7-i%8)&1 == 1 }
