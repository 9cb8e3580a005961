// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package wire

import "encoding/binary"

// TunnelCredit lets the other side send more, on lane ctl.
type TunnelCredit struct {
	ID    uint64
	Flags uint8 // FlagOpener
	// Credit is added to what the receiver of the frame may send. 0 says
	// nothing but that the sender knows the tunnel, which the opener tells the
	// member once it has the answer.
	Credit uint32
}

// AppendTo appends the encoded message.
func (m TunnelCredit) AppendTo(dst []byte) []byte {
	return binary.BigEndian.AppendUint32(appendTunnelHead(dst, m.ID, m.Flags), m.Credit)
}

// DecodeTunnelCredit decodes the body of a KindTunnelCredit frame.
func DecodeTunnelCredit(b []byte) (TunnelCredit, error) {
	id, flags, rest, err := decodeTunnelHead(b, FlagOpener)
	if err != nil {
		return TunnelCredit{}, err
	}
	if len(rest) != 4 {
		return TunnelCredit{}, malformed("tunnel credit: length")
	}
	return TunnelCredit{ID: id, Flags: flags, Credit: binary.BigEndian.Uint32(rest)}, nil
}

// TunnelEnd ends the sender's direction in good order, behind all its data on
// lane bulk.
type TunnelEnd struct {
	ID    uint64
	Flags uint8  // FlagOpener, FlagClosed
	Seal  []byte // an empty chunk, sealed, if the tunnel is; else empty
}

// AppendTo appends the encoded message.
func (m TunnelEnd) AppendTo(dst []byte) []byte {
	return append(appendTunnelHead(dst, m.ID, m.Flags), m.Seal...)
}

// DecodeTunnelEnd decodes the body of a KindTunnelEnd frame. Seal aliases b.
func DecodeTunnelEnd(b []byte) (TunnelEnd, error) {
	id, flags, rest, err := decodeTunnelHead(b, FlagOpener|FlagClosed)
	if err != nil {
		return TunnelEnd{}, err
	}
	if len(rest) > maxStreamHead {
		return TunnelEnd{}, malformed("tunnel end: length")
	}
	return TunnelEnd{ID: id, Flags: flags, Seal: rest}, nil
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
)

const (
	tunnelCauses        = 5
	tunnelResetTailSize = 1 + 4
)

// TunnelReset ends both directions at once, on lane ctl.
type TunnelReset struct {
	ID    uint64
	Flags uint8 // FlagOpener
	Cause TunnelCause
	Code  uint32 // of CauseProgram, else 0
	Text  string // at most MaxTunnelText bytes
}

// AppendTo appends the encoded message.
func (m TunnelReset) AppendTo(dst []byte) []byte {
	dst = append(appendTunnelHead(dst, m.ID, m.Flags), byte(m.Cause))
	dst = binary.BigEndian.AppendUint32(dst, m.Code)
	return append(dst, m.Text...)
}

// DecodeTunnelReset decodes the body of a KindTunnelReset frame.
func DecodeTunnelReset(b []byte) (TunnelReset, error) {
	id, flags, rest, err := decodeTunnelHead(b, FlagOpener)
	if err != nil {
		return TunnelReset{}, err
	}
	if len(rest) < tunnelResetTailSize || len(rest) > tunnelResetTailSize+MaxTunnelText || rest[0] >= tunnelCauses {
		return TunnelReset{}, malformed("tunnel reset")
	}
	return TunnelReset{
		ID: id, Flags: flags, Cause: TunnelCause(rest[0]),
		Code: binary.BigEndian.Uint32(rest[1:]), Text: string(rest[tunnelResetTailSize:]),
	}, nil
}
