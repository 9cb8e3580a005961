// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package wire

import "encoding/binary"

// PublishResume says which frames follow. A node numbers all that it sends to a
// peer for topics, Publish, PublishPart, PublishMark, Path and PathLost, and
// what the peer has not acknowledged when their link breaks is sent again on
// the next one. Sent before the first of these frames in each session of the
// link, and where the receiver's incarnation changes.
type PublishResume struct {
	Pipe uint64 // random; the numbers begin with 1 for each
	// Incarnation is that of the receiver that the frames are for; 0 = any. One
	// started later counts them, and takes no other notice.
	Incarnation uint64
	First       uint64 // number of the next frame; at least 1
}

// AppendTo appends the encoded message.
func (m PublishResume) AppendTo(dst []byte) []byte {
	dst = binary.BigEndian.AppendUint64(dst, m.Pipe)
	dst = binary.BigEndian.AppendUint64(dst, m.Incarnation)
	return binary.BigEndian.AppendUint64(dst, m.First)
}

// DecodePublishResume decodes the body of a KindPublishResume frame.
func DecodePublishResume(b []byte) (PublishResume, error) {
	r := reader{b: b}
	m := PublishResume{Pipe: r.uint64(), Incarnation: r.uint64(), First: r.uint64()}
	if r.bad || len(r.b) > 0 || m.First == 0 {
		return PublishResume{}, malformed("publish resume")
	}
	return m, nil
}
