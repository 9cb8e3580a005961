// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package wire

import "encoding/binary"

const cancelSize = 8

// Cancel tells a member's node that nobody waits for a request any more. It is
// a hint: the reply may have left already.
type Cancel struct {
	ID uint64 // of the request
}

// AppendTo appends the encoded message.
func (m Cancel) AppendTo(dst []byte) []byte {
	return binary.BigEndian.AppendUint64(dst, m.ID)
}

// DecodeCancel decodes the body of a KindCancel frame.
func DecodeCancel(b []byte) (Cancel, error) {
	if len(b) != cancelSize {
		return Cancel{}, malformed("cancel: length")
	}
	return Cancel{ID: binary.BigEndian.Uint64(b)}, nil
}
