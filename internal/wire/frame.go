// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"encoding/binary"
	"fmt"
)

const (
	lengthSize = 4
	// FrameOverhead is what AppendFrame adds to a body, in bytes: the length
	// and the head.
	FrameOverhead = lengthSize + 1

	kindBits = 6 // of the head; the others are the lane
	kindMask = 1<<kindBits - 1
)

// AppendFrame appends one frame, whose body is the concatenation of parts, and
// returns the extended slice. It copies the parts. A body of more than
// MaxFrame-1 bytes, or a kind beyond 63, is a bug of the caller: it panics.
func AppendFrame(dst []byte, lane Lane, k Kind, parts ...[]byte) []byte {
	n := 0
	for _, p := range parts {
		n += len(p)
	}
	dst = AppendFrameHead(dst, lane, k, n)
	for _, p := range parts {
		dst = append(dst, p...)
	}
	return dst
}

// AppendFrameHead appends what comes before the body of a frame, which has n
// bytes.
func AppendFrameHead(dst []byte, lane Lane, k Kind, n int) []byte {
	n++
	if n > MaxFrame || k > kindMask || lane >= Lanes {
		panic(fmt.Sprintf("BUG: frame of %d bytes, kind %d, lane %d", n, k, lane))
	}
	dst = binary.BigEndian.AppendUint32(dst, uint32(n))
	return append(dst, byte(lane)<<kindBits|byte(k))
}

// ExtendFrame appends parts to the body of the encoded frame that begins at dst[at]
// and is the last in dst. The body must stay within MaxFrame-1 bytes.
func ExtendFrame(dst []byte, at int, parts ...[]byte) []byte {
	for _, p := range parts {
		dst = append(dst, p...)
	}
	binary.BigEndian.PutUint32(dst[at:], uint32(len(dst)-at-lengthSize))
	return dst
}

// FirstFrame returns the kind and the whole length, FrameOverhead included, of
// the encoded frame that b begins with, and its body. b is what AppendFrame made.
func FirstFrame(b []byte) (k Kind, body []byte, size int) {
	size = lengthSize + int(binary.BigEndian.Uint32(b))
	return Kind(b[lengthSize]) & kindMask, b[FrameOverhead:size], size
}

// KindOf is the kind in the head of a frame, the byte behind its length.
func KindOf(head byte) Kind { return Kind(head) & kindMask }

// VoidFrame makes the encoded frame that b begins with one that is skipped.
func VoidFrame(b []byte) { b[lengthSize] = b[lengthSize]&^kindMask | byte(KindVoid) }
