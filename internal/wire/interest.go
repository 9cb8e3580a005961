// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package wire

import "encoding/binary"

// Interest is one pattern that a node listens to.
type Interest struct {
	Pattern string // at most 255 bytes
	// Queue names a group of subscriptions of which one gets each message; ""
	// = every message. At most 255 bytes.
	Queue string
	// Weight is how many subscriptions of the queue the node has, at least 1
	// where Queue is set, else 0.
	Weight uint16
	// Signed says that somebody takes only what its publisher has signed.
	Signed bool
}

const interestMin = 1 + 1 + 2 + 1

// InterestsSize is the length of the encoded interests in bytes.
func InterestsSize(is []Interest) int {
	n := 2
	for i := range is {
		n += interestMin + len(is[i].Pattern) + len(is[i].Queue)
	}
	return n
}

// AppendInterests appends encoded interests; patterns and queues must have at
// most 255 bytes, and there must be fewer than 65,536.
func AppendInterests(dst []byte, is []Interest) []byte {
	dst = binary.BigEndian.AppendUint16(dst, uint16(len(is)))
	for i := range is {
		dst = appendShort(dst, is[i].Pattern)
		dst = appendShort(dst, is[i].Queue)
		dst = binary.BigEndian.AppendUint16(dst, is[i].Weight)
		dst = appendBool(dst, is[i].Signed)
	}
	return dst
}

// DecodeInterests returns the interests at the start of b, which they do not
// alias, and what follows them. Whether patterns mean anything is not judged.
func DecodeInterests(b []byte) (is []Interest, rest []byte, err error) {
	r := reader{b: b}
	n := int(r.uint16())
	if n*interestMin > len(r.b) {
		return nil, nil, malformed("interests: short")
	}
	if n > 0 {
		is = make([]Interest, 0, n)
	}
	for range n {
		i := Interest{Pattern: r.short(), Queue: r.short(), Weight: r.uint16(), Signed: r.bool()}
		if i.Pattern == "" || (i.Queue == "") != (i.Weight == 0) {
			r.bad = true
		}
		is = append(is, i)
	}
	if r.bad {
		return nil, nil, malformed("interests")
	}
	return is, r.b, nil
}
