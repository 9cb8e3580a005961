// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package wire

// PartFirst and PartLast mark, in PublishPart.Flags, where a publication begins
// and ends.
const (
	PartFirst uint8 = 1 << 0
	PartLast  uint8 = 1 << 1
)

// MaxPart bounds the bytes of one PublishPart.
const MaxPart = MaxPayload - 1

// PublishPart carries a piece of a Publish of more than MaxPayload bytes. Sent
// on the way of all that belongs to topics, one piece after the other, so that
// nothing overtakes a large message.
type PublishPart struct {
	Flags uint8 // PartFirst, PartLast
	Piece []byte
}

// AppendTo appends the encoded message.
func (m PublishPart) AppendTo(dst []byte) []byte {
	return append(append(dst, m.Flags), m.Piece...)
}

// DecodePublishPart decodes the body of a KindPublishPart frame. Piece aliases
// b.
func DecodePublishPart(b []byte) (PublishPart, error) {
	if len(b) < 2 || len(b) > MaxPayload || b[0]&^(PartFirst|PartLast) != 0 {
		return PublishPart{}, malformed("publish part")
	}
	return PublishPart{Flags: b[0], Piece: b[1:]}, nil
}
