// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package wire

import "encoding/binary"

// FlagMore in Path.Flags says that another part of the same path follows.
const FlagMore uint8 = 1 << 5

// Path makes the receiver a forwarder: it passes the session's messages of
// that epoch on to the nodes named here. Sent by the publisher's node, or by a
// forwarder for a part of what it got, before the first message that goes that
// way; by forwarders to everybody to whom they pass messages on, so that those know
// that the publisher wants it. Number tells the receiver what PublishMark would.
type Path struct {
	Session uint64
	Run     uint32
	Number  uint64
	Epoch   uint32 // no two paths of a session have the same; at least 1
	Flags   uint8  // FlagRoot, FlagMore
	Source  string // as in PublishMark
	Group   string // the first word of the topics; "*" in the root group
	Stops   []Stop // none = the receiver passes nothing on
	// Proof is with the last part of a path.
	Proof PathProof
}

// Stop is one node behind a forwarder.
type Stop struct {
	Peer        string
	Incarnation uint64 // of its lease
	Run         uint32
	Number      uint64 // what had been addressed to it when the path was signed
	// Ahead is what has been addressed to it since, before the first message that
	// goes this way. SkipLeft: the path leads there no longer.
	Ahead     uint32
	Addrs     []string
	Interests []Interest
}

const (
	stopMin = 1 + 8 + 4 + 8 + 4 + 1 + 2
	// MaxStopAddrs bounds the addresses of one Stop.
	MaxStopAddrs = 4
)

// AppendTo appends the encoded message.
func (m *Path) AppendTo(dst []byte) []byte {
	dst = binary.BigEndian.AppendUint64(dst, m.Session)
	dst = binary.BigEndian.AppendUint32(dst, m.Run)
	dst = binary.BigEndian.AppendUint64(dst, m.Number)
	dst = binary.BigEndian.AppendUint32(dst, m.Epoch)
	dst = append(dst, m.Flags)
	dst = appendShort(dst, m.Source)
	dst = appendShort(dst, m.Group)
	dst = binary.BigEndian.AppendUint16(dst, uint16(len(m.Stops)))
	for i := range m.Stops {
		dst = m.Stops[i].appendTo(dst)
	}
	if m.Flags&FlagMore == 0 {
		dst = m.Proof.appendTo(dst)
	}
	return dst
}

func (s *Stop) appendTo(dst []byte) []byte {
	dst = appendShort(dst, s.Peer)
	dst = binary.BigEndian.AppendUint64(dst, s.Incarnation)
	dst = binary.BigEndian.AppendUint32(dst, s.Run)
	dst = binary.BigEndian.AppendUint64(dst, s.Number)
	dst = binary.BigEndian.AppendUint32(dst, s.Ahead)
	dst = append(dst, byte(len(s.Addrs)))
	for _, a := range s.Addrs {
		dst = appendShort(dst, a)
	}
	return AppendInterests(dst, s.Interests)
}

// Size is the length of the encoded stop in bytes.
func (s *Stop) Size() int {
	n := stopMin - 2 + len(s.Peer) + InterestsSize(s.Interests)
	for _, a := range s.Addrs {
		n += 1 + len(a)
	}
	return n
}

// DecodePath decodes the body of a KindPath frame. It does not alias b.
func DecodePath(b []byte) (Path, error) {
	r := reader{b: b}
	m := Path{Session: r.uint64(), Run: r.uint32(), Number: r.number(), Epoch: r.uint32(), Flags: r.uint8()}
	m.Source, m.Group = r.short(), r.short()
	n := int(r.uint16())
	switch {
	case r.bad || n*stopMin > len(r.b):
		return Path{}, malformed("path: short")
	case m.Flags&^(FlagRoot|FlagMore) != 0:
		return Path{}, malformed("path: unknown flag")
	case m.Epoch == 0:
		return Path{}, malformed("path: epoch")
	case len(m.Source) > MaxPeerID:
		return Path{}, malformed("path: peer")
	}
	for range n {
		s, err := decodeStop(&r)
		if err != nil {
			return Path{}, err
		}
		m.Stops = append(m.Stops, s)
	}
	if m.Flags&FlagMore == 0 {
		m.Proof = readPathProof(&r)
	}
	if r.bad || len(r.b) > 0 {
		return Path{}, malformed("path: proof")
	}
	return m, nil
}

func decodeStop(r *reader) (Stop, error) {
	s := Stop{Peer: r.short(), Incarnation: r.uint64(), Run: r.uint32(), Number: r.number(), Ahead: r.uint32()}
	addrs := int(r.uint8())
	if addrs > MaxStopAddrs {
		return Stop{}, malformed("path: addresses")
	}
	for range addrs {
		s.Addrs = append(s.Addrs, r.short())
	}
	if r.bad || len(s.Peer) == 0 || len(s.Peer) > MaxPeerID {
		return Stop{}, malformed("path: stop")
	}
	var err error
	s.Interests, r.b, err = DecodeInterests(r.b)
	return s, err
}
