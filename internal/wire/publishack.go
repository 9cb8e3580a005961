// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package wire

import "encoding/binary"

// PublishAck says that all frames of a pipe up to a number have arrived, so that
// they need not be kept. Sent by the receiver now and then.
type PublishAck struct {
	Pipe   uint64 // as in PublishResume
	Number uint64
}

// AppendTo appends the encoded message.
func (m PublishAck) AppendTo(dst []byte) []byte {
	return binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(dst, m.Pipe), m.Number)
}

// DecodePublishAck decodes the body of a KindPublishAck frame.
func DecodePublishAck(b []byte) (PublishAck, error) {
	r := reader{b: b}
	m := PublishAck{Pipe: r.uint64(), Number: r.uint64()}
	if r.bad || len(r.b) > 0 {
		return PublishAck{}, malformed("publish ack")
	}
	return m, nil
}
