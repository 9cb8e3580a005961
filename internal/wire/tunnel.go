// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package wire

import "encoding/binary"

// Bits of the flags of tunnel frames. A bit that this version does not know, or
// that a frame has no use for, is malformed.
const (
	// FlagOpener: the sender of the frame opened the tunnel. Two nodes may use
	// the same id for a tunnel in each direction.
	FlagOpener uint8 = 1 << 0
	// FlagLast, in TunnelData: the chunk is the last one of its message.
	FlagLast uint8 = 1 << 1
	// FlagClosed, in TunnelEnd: the sender does not receive any more either.
	FlagClosed uint8 = 1 << 2
	// FlagSealedReset, in TunnelReset: why is sealed.
	FlagSealedReset uint8 = 1 << 3
	// FlagReturned, in TunnelCredit: the total is what the sender of the frame gives
	// back of what it was given.
	FlagReturned uint8 = 1 << 6
	// FlagSeveral, in TunnelData with FlagLast: the chunk is whole messages, one
	// behind the other, each behind its length.
	FlagSeveral uint8 = 1 << 5
)

const (
	tunnelHeadSize = 8 + 1

	// MaxChunk is the longest payload of a TunnelData, in bytes: 64 KiB and
	// what sealing adds.
	MaxChunk = MaxPayload + 16
	// TunnelHeadSize is what TunnelData.AppendHead appends, in bytes.
	TunnelHeadSize = tunnelHeadSize
	// TunnelCreditSize is the length of a TunnelCredit that is not sealed.
	TunnelCreditSize = tunnelHeadSize + creditSize
	// TunnelLength is what AppendTunnelLength appends, in bytes.
	TunnelLength = 2
	// MaxTunnelText bounds the text of a TunnelReset, in bytes.
	MaxTunnelText = 1 << 10
	// maxStreamHead bounds what a TunnelOpen says of its sealing.
	maxStreamHead = 255
)

// TunnelOpen is the body of a Request that opens a tunnel, before the first
// message.
type TunnelOpen struct {
	ID     uint64 // unique among the tunnels that the sender's instance opened
	Credit uint32 // what the member may send at first, see the package's doc
	Stream []byte // of security.NewStreamHead if the tunnel is sealed, else empty
	Body   []byte // of the first message
}

// AppendTo appends the encoded opening. Stream has at most 255 bytes.
func (m TunnelOpen) AppendTo(dst []byte) []byte {
	if len(m.Stream) > maxStreamHead {
		panic("BUG: stream head of more than 255 bytes")
	}
	dst = binary.BigEndian.AppendUint64(dst, m.ID)
	dst = binary.BigEndian.AppendUint32(dst, m.Credit)
	dst = append(dst, byte(len(m.Stream)))
	dst = append(dst, m.Stream...)
	return append(dst, m.Body...)
}

// DecodeTunnelOpen decodes the body of a Request of pattern tunnel. Stream and
// Body alias b.
func DecodeTunnelOpen(b []byte) (TunnelOpen, error) {
	r := reader{b: b}
	m := TunnelOpen{ID: r.uint64(), Credit: r.uint32(), Stream: r.bytes(int(r.uint8()))}
	if r.bad {
		return TunnelOpen{}, malformed("tunnel open: short")
	}
	m.Body = r.b
	return m, nil
}

// TunnelAccept is the body of the Reply to a TunnelOpen.
type TunnelAccept struct {
	Credit uint32 // what the opener may send at first
	Salt   []byte // of security.NewStreamSalt if the tunnel is sealed, else empty
}

// AppendTo appends the encoded message.
func (m TunnelAccept) AppendTo(dst []byte) []byte {
	return append(binary.BigEndian.AppendUint32(dst, m.Credit), m.Salt...)
}

// DecodeTunnelAccept decodes the body of a Reply to a TunnelOpen. Salt aliases
// b.
func DecodeTunnelAccept(b []byte) (TunnelAccept, error) {
	if len(b) < 4 || len(b) > 4+maxStreamHead {
		return TunnelAccept{}, malformed("tunnel accept: length")
	}
	return TunnelAccept{Credit: binary.BigEndian.Uint32(b), Salt: b[4:]}, nil
}

// TunnelData is a chunk of a message, on lane bulk.
type TunnelData struct {
	ID      uint64
	Flags   uint8  // FlagOpener, FlagLast, FlagSeveral
	Payload []byte // at most MaxChunk bytes; empty only with FlagLast
}

// AppendHead appends everything but the payload.
func (m TunnelData) AppendHead(dst []byte) []byte { return appendTunnelHead(dst, m.ID, m.Flags) }

// AppendTo appends the encoded message.
func (m TunnelData) AppendTo(dst []byte) []byte { return append(m.AppendHead(dst), m.Payload...) }

// DecodeTunnelData decodes the body of a KindTunnelData frame. Payload aliases
// b.
func DecodeTunnelData(b []byte) (TunnelData, error) {
	id, flags, rest, err := decodeTunnelHead(b, FlagOpener|FlagLast|FlagSeveral)
	if err != nil {
		return TunnelData{}, err
	}
	if len(rest) > MaxChunk || len(rest) == 0 && flags&FlagLast == 0 || flags&(FlagLast|FlagSeveral) == FlagSeveral {
		return TunnelData{}, malformed("tunnel data: length")
	}
	return TunnelData{ID: id, Flags: flags, Payload: rest}, nil
}

// AppendTunnelLength appends what a message of n bytes, at most 65,535, has before
// it in a chunk of several.
func AppendTunnelLength(dst []byte, n int) []byte {
	return binary.BigEndian.AppendUint16(dst, uint16(n))
}

// CheckTunnelMessages judges the chunk of a TunnelData with FlagSeveral, opened if
// the tunnel is sealed.
func CheckTunnelMessages(chunk []byte) error {
	if len(chunk) == 0 {
		return malformed("tunnel data: no message")
	}
	for len(chunk) > 0 {
		if len(chunk) < TunnelLength || len(chunk) < TunnelLength+int(binary.BigEndian.Uint16(chunk)) {
			return malformed("tunnel data: a message is not whole")
		}
		_, chunk = FirstTunnelMessage(chunk)
	}
	return nil
}

// FirstTunnelMessage splits off the first message of a chunk of several, which was
// checked.
func FirstTunnelMessage(chunk []byte) (body, rest []byte) {
	n := TunnelLength + int(binary.BigEndian.Uint16(chunk))
	return chunk[TunnelLength:n:n], chunk[n:]
}

func appendTunnelHead(dst []byte, id uint64, flags uint8) []byte {
	return append(binary.BigEndian.AppendUint64(dst, id), flags)
}

// TunnelOf returns what the body of each frame of a tunnel begins with, whatever
// its kind, and judges nothing else.
func TunnelOf(b []byte) (id uint64, flags uint8, err error) {
	id, flags, _, err = decodeTunnelHead(b, 0xff)
	return id, flags, err
}

// decodeTunnelHead splits off what all frames of tunnels begin with.
func decodeTunnelHead(b []byte, known uint8) (id uint64, flags uint8, rest []byte, err error) {
	if len(b) < tunnelHeadSize {
		return 0, 0, nil, malformed("tunnel: short")
	}
	id, flags = binary.BigEndian.Uint64(b), b[8]
	if flags&^known != 0 {
		return 0, 0, nil, malformed("tunnel: unknown flag")
	}
	return id, flags, b[tunnelHeadSize:], nil
}
