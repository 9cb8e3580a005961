// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package wire

import "encoding/binary"

const replySize = 8 + 1 + 1 + 4 + 4 + 4 + 4

// Reply is the one answer to a Request.
type Reply struct {
	ID      uint64 // of the request
	Outcome Outcome
	Flags   uint8 // FlagSealed
	// Queue and Running are the requests that wait and run at the member
	// now: callers balance by them.
	Queue   uint32
	Running uint32
	// ServiceMicros is how long the handler ran, in microseconds; capped.
	ServiceMicros uint32
	// Code classifies OutcomeRemoteError, else 0.
	Code    uint32
	Headers []Header
	// Body is the reply's body, or the text of the error.
	Body []byte
}

// HeadSize is the length of what AppendHead appends, in bytes.
func (m Reply) HeadSize() int { return replySize + HeadersSize(m.Headers) }

// AppendHead appends everything but Body, for senders that put the body behind
// it as a part of its own. Headers must pass CheckHeaders.
func (m Reply) AppendHead(dst []byte) []byte {
	dst = binary.BigEndian.AppendUint64(dst, m.ID)
	dst = append(dst, byte(m.Outcome), m.Flags)
	dst = binary.BigEndian.AppendUint32(dst, m.Queue)
	dst = binary.BigEndian.AppendUint32(dst, m.Running)
	dst = binary.BigEndian.AppendUint32(dst, m.ServiceMicros)
	dst = binary.BigEndian.AppendUint32(dst, m.Code)
	return AppendHeaders(dst, m.Headers)
}

// AppendTo appends the encoded reply. Headers must pass CheckHeaders.
func (m Reply) AppendTo(dst []byte) []byte {
	return append(m.AppendHead(dst), m.Body...)
}

// DecodeReply decodes the body of a KindReply frame. Body aliases b; the
// headers do not.
func DecodeReply(b []byte) (Reply, error) {
	if len(b) < replySize {
		return Reply{}, malformed("reply: short")
	}
	m := Reply{
		ID:            binary.BigEndian.Uint64(b),
		Outcome:       Outcome(b[8]),
		Flags:         b[9],
		Queue:         binary.BigEndian.Uint32(b[10:]),
		Running:       binary.BigEndian.Uint32(b[14:]),
		ServiceMicros: binary.BigEndian.Uint32(b[18:]),
		Code:          binary.BigEndian.Uint32(b[22:]),
	}
	switch {
	case m.Outcome >= outcomeCount:
		return Reply{}, malformed("reply: unknown outcome")
	case m.Flags&^FlagSealed != 0:
		return Reply{}, malformed("reply: unknown flag")
	}
	var err error
	if m.Headers, m.Body, err = DecodeHeaders(b[replySize:]); err != nil {
		return Reply{}, err
	}
	return m, nil
}
