// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package wire

import "encoding/binary"

// PublishAsk asks for a PublishTook once all is handled that came before it on the lane.
// PublishTook has the same body.
type PublishAsk struct{ ID uint64 }

// AppendTo appends the encoded message.
func (m PublishAsk) AppendTo(dst []byte) []byte { return binary.BigEndian.AppendUint64(dst, m.ID) }

// DecodePublishAsk decodes the body of a KindPublishAsk or KindPublishTook frame.
func DecodePublishAsk(b []byte) (PublishAsk, error) {
	r := reader{b: b}
	m := PublishAsk{ID: r.uint64()}
	if r.bad || len(r.b) > 0 {
		return PublishAsk{}, malformed("publish ask")
	}
	return m, nil
}
