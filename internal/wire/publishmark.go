// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package wire

import "encoding/binary"

// PublishMark tells a receiver how much has been addressed to it, so that it
// knows of a loss even if nothing follows. Sent on the way of the messages,
// after a link came up again.
type PublishMark struct {
	Session uint64
	Run     uint16
	Number  uint64 // of the last message
	Source  string // as in Publish
	Group   string // the first word of the topics; "*" in the root group
}

// AppendTo appends the encoded message.
func (m PublishMark) AppendTo(dst []byte) []byte {
	dst = binary.BigEndian.AppendUint64(dst, m.Session)
	dst = binary.BigEndian.AppendUint16(dst, m.Run)
	dst = binary.BigEndian.AppendUint64(dst, m.Number)
	return appendShort(appendShort(dst, m.Source), m.Group)
}

// DecodePublishMark decodes the body of a KindPublishMark frame.
func DecodePublishMark(b []byte) (PublishMark, error) {
	r := reader{b: b}
	m := PublishMark{Session: r.uint64(), Run: r.uint16(), Number: r.number(), Source: r.short(), Group: r.short()}
	if r.bad || len(r.b) > 0 || len(m.Source) > MaxPeerID {
		return PublishMark{}, malformed("publish mark")
	}
	return m, nil
}
