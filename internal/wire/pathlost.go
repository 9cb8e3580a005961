// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package wire

import "encoding/binary"

// PathLost tells the source of a session that a forwarder has lost its link to
// a node behind it. Sent by the forwarder, when that node has others behind it.
type PathLost struct {
	Session uint64
	Epoch   uint32
	Peer    string // of the node
}

// AppendTo appends the encoded message.
func (m PathLost) AppendTo(dst []byte) []byte {
	dst = binary.BigEndian.AppendUint64(dst, m.Session)
	dst = binary.BigEndian.AppendUint32(dst, m.Epoch)
	return appendShort(dst, m.Peer)
}

// DecodePathLost decodes the body of a KindPathLost frame.
func DecodePathLost(b []byte) (PathLost, error) {
	r := reader{b: b}
	m := PathLost{Session: r.uint64(), Epoch: r.uint32(), Peer: r.short()}
	if r.bad || len(r.b) > 0 || len(m.Peer) == 0 || len(m.Peer) > MaxPeerID {
		return PathLost{}, malformed("path lost")
	}
	return m, nil
}
