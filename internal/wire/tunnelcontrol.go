// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package wire

import "encoding/binary"

const creditSize = 8

// TunnelCredit lets the other side send more, on lane ctl.
type TunnelCredit struct {
	ID    uint64
	Flags uint8 // FlagOpener, FlagReturned
	// Total is all the credit that the sender of the frame has given since the
	// tunnel began, the first included. One that is not larger than the last
	// says nothing but that the sender knows the tunnel, which the opener tells
	// the member once it has the answer. With FlagReturned it is all the credit that
	// the sender of the frame was given since then, and will not use: its direction
	// is idle. The same again asks for more.
	Total uint64
	Seal  []byte // of the total, if the tunnel is sealed; else empty
}

// AppendTo appends the encoded message.
func (m TunnelCredit) AppendTo(dst []byte) []byte {
	return append(binary.BigEndian.AppendUint64(appendTunnelHead(dst, m.ID, m.Flags), m.Total), m.Seal...)
}

// DecodeTunnelCredit decodes the body of a KindTunnelCredit frame. Seal aliases
// b.
func DecodeTunnelCredit(b []byte) (TunnelCredit, error) {
	id, flags, rest, err := decodeTunnelHead(b, FlagOpener|FlagReturned)
	if err != nil {
		return TunnelCredit{}, err
	}
	if len(rest) < creditSize || len(rest) > creditSize+maxStreamHead {
		return TunnelCredit{}, malformed("tunnel credit: length")
	}
	return TunnelCredit{ID: id, Flags: flags, Total: binary.BigEndian.Uint64(rest), Seal: rest[creditSize:]}, nil
}

// TunnelEnd ends the sender's direction in good order, behind all its data on
// lane bulk.
type TunnelEnd struct {
	ID    uint64
	Flags uint8 // FlagOpener, FlagClosed
	// Payload is empty, or with FlagClosed what AppendTunnelRead makes. It is sealed
	// if the tunnel is.
	Payload []byte
}

// AppendTunnelRead appends the payload of a TunnelEnd with FlagClosed: the credit
// of all chunks that its sender has read.
func AppendTunnelRead(dst []byte, read uint64) []byte {
	return binary.BigEndian.AppendUint64(dst, read)
}

// DecodeTunnelRead decodes the payload of a TunnelEnd with these flags, opened if
// the tunnel is sealed.
func DecodeTunnelRead(b []byte, flags uint8) (read uint64, err error) {
	switch closed := flags&FlagClosed != 0; {
	case closed && len(b) == creditSize:
		return binary.BigEndian.Uint64(b), nil
	case closed || len(b) > 0:
		return 0, malformed("tunnel end: payload")
	}
	return 0, nil
}

// AppendTo appends the encoded message.
func (m TunnelEnd) AppendTo(dst []byte) []byte {
	return append(appendTunnelHead(dst, m.ID, m.Flags), m.Payload...)
}

// DecodeTunnelEnd decodes the body of a KindTunnelEnd frame. Payload aliases b.
func DecodeTunnelEnd(b []byte) (TunnelEnd, error) {
	id, flags, rest, err := decodeTunnelHead(b, FlagOpener|FlagClosed)
	if err != nil {
		return TunnelEnd{}, err
	}
	if len(rest) > maxStreamHead {
		return TunnelEnd{}, malformed("tunnel end: length")
	}
	return TunnelEnd{ID: id, Flags: flags, Payload: rest}, nil
}

// TunnelCause says why a tunnel was reset.
type TunnelCause uint8

// The causes. Closed list; do not reorder.
const (
	CauseProgram     TunnelCause = 0 // the program did it, with a code and a text
	CauseInterrupted TunnelCause = 1 // the program behind it was lost
	CauseOverloaded  TunnelCause = 2 // the member has no room after all
	CauseLeaving     TunnelCause = 3 // the member leaves
	CauseViolation   TunnelCause = 4 // the receiver of the reset broke the protocol
	CauseForged      TunnelCause = 5 // to a client: its relay got a frame that the other end has not sealed
)

const (
	tunnelCauses   = 6
	tunnelWhySize  = 1 + 4
	maxTunnelWhy   = tunnelWhySize + MaxTunnelText
	maxSealedReset = maxTunnelWhy + maxStreamHead
)

// TunnelReset ends both directions at once, on lane ctl. Why is in the clear, or
// sealed.
type TunnelReset struct {
	ID     uint64
	Flags  uint8 // FlagOpener, FlagSealedReset
	Cause  TunnelCause
	Code   uint32 // of CauseProgram, else 0
	Text   string // at most MaxTunnelText bytes
	Sealed []byte // with FlagSealedReset: what AppendWhy made, sealed; Cause, Code and Text do not travel
}

// AppendTo appends the encoded message.
func (m TunnelReset) AppendTo(dst []byte) []byte {
	dst = appendTunnelHead(dst, m.ID, m.Flags)
	if m.Flags&FlagSealedReset != 0 {
		return append(dst, m.Sealed...)
	}
	return m.AppendWhy(dst)
}

// AppendWhy appends Cause, Code and Text.
func (m TunnelReset) AppendWhy(dst []byte) []byte {
	dst = binary.BigEndian.AppendUint32(append(dst, byte(m.Cause)), m.Code)
	return append(dst, m.Text...)
}

// DecodeTunnelReset decodes the body of a KindTunnelReset frame. Sealed aliases
// b.
func DecodeTunnelReset(b []byte) (TunnelReset, error) {
	id, flags, rest, err := decodeTunnelHead(b, FlagOpener|FlagSealedReset)
	m := TunnelReset{ID: id, Flags: flags}
	switch {
	case err != nil:
	case flags&FlagSealedReset == 0:
		err = m.DecodeWhy(rest)
	case len(rest) > maxSealedReset:
		err = malformed("tunnel reset: length")
	default:
		m.Sealed = rest
	}
	if err != nil {
		return TunnelReset{}, err
	}
	return m, nil
}

// DecodeWhy takes Cause, Code and Text from what AppendWhy made.
func (m *TunnelReset) DecodeWhy(b []byte) error {
	if len(b) < tunnelWhySize || len(b) > maxTunnelWhy || b[0] >= tunnelCauses {
		return malformed("tunnel reset")
	}
	m.Cause, m.Code, m.Text = TunnelCause(b[0]), binary.BigEndian.Uint32(b[1:]), string(b[tunnelWhySize:])
	return nil
}
