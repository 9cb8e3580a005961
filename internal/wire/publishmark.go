// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package wire

import "encoding/binary"

// FlagGone in PublishMark.Flags says that the source is lost: how much it had
// published nobody knows.
const FlagGone uint8 = 1 << 0

// PublishMark tells a receiver how much has been addressed to it, so that it
// knows of a loss even if nothing follows. Sent on the way of the messages,
// after something was lost.
type PublishMark struct {
	Session uint64
	Run     uint32
	Number  uint64 // of the last message
	Flags   uint8  // FlagGone
	Source  string // peer id of the node whose session it is; "" = the sender
	Group   string // the first word of the topics; "*" in the root group
}

// AppendTo appends the encoded message.
func (m PublishMark) AppendTo(dst []byte) []byte {
	dst = binary.BigEndian.AppendUint64(dst, m.Session)
	dst = binary.BigEndian.AppendUint32(dst, m.Run)
	dst = binary.BigEndian.AppendUint64(dst, m.Number)
	dst = append(dst, m.Flags)
	return appendShort(appendShort(dst, m.Source), m.Group)
}

// DecodePublishMark decodes the body of a KindPublishMark frame.
func DecodePublishMark(b []byte) (PublishMark, error) {
	r := reader{b: b}
	m := PublishMark{
		Session: r.uint64(), Run: r.uint32(), Number: r.number(), Flags: r.uint8(), Source: r.short(), Group: r.short(),
	}
	if r.bad || len(r.b) > 0 || len(m.Source) > MaxPeerID || m.Flags&^FlagGone != 0 {
		return PublishMark{}, malformed("publish mark")
	}
	return m, nil
}
