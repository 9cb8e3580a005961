// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package wire

import "encoding/binary"

// AckSize is the length of an encoded Ack, in bytes.
const AckSize = 8 * Lanes

// AppendAck appends the body of a KindAck frame: for each lane how many frames
// its sender need not keep any more.
func AppendAck(dst []byte, released Counts) []byte {
	for _, n := range released {
		dst = binary.BigEndian.AppendUint64(dst, n)
	}
	return dst
}

// DecodeAck decodes the body of a KindAck frame.
func DecodeAck(b []byte) (released Counts, err error) {
	if len(b) != AckSize {
		return Counts{}, malformed("ack: length")
	}
	for lane := range released {
		released[lane] = binary.BigEndian.Uint64(b[8*lane:])
	}
	return released, nil
}
