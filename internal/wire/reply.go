// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package wire

import "encoding/binary"

// Bits of Reply.Flags beside FlagSealed.
const (
	// FlagMaybeRan, in Reply, Done and what a survey missed: a handler may have
	// seen the message although nobody says so.
	FlagMaybeRan    uint8 = 1 << 0
	FlagMoreReplies uint8 = 1 << 2 // another reply to the same request follows
	FlagFrom        uint8 = 1 << 3 // it says who answered

	replyFlags = FlagMaybeRan | FlagSealed | FlagMoreReplies | FlagFrom
)

const replySize = 8 + 1 + 1 + 4 + 4 + 4 + 4

// Reply is the one answer to a Request. A survey or broadcast of a client has
// one for each member, with FlagMoreReplies, and a last one.
type Reply struct {
	ID      uint64 // of the request
	Outcome Outcome
	Flags   uint8 // FlagMaybeRan, FlagSealed, FlagMoreReplies; the fourth follows from From
	// Queue and Running are the requests that wait and run at the member
	// now: callers balance by them.
	Queue   uint32
	Running uint32
	// ServiceMicros is how long the handler ran, in microseconds; capped.
	ServiceMicros uint32
	// Code classifies OutcomeRemoteError and OutcomeTooMany, else 0.
	Code uint32
	// From is who answered, from a relay to its client, else nil.
	From *From
	// Tail is the encoded headers and behind them the body, or the text of the
	// error; or what was sealed. It can be passed on without being looked at;
	// SplitTail takes it apart.
	Tail []byte
}

// From says who gave the outcome, and how many were asked.
type From struct {
	Attempts uint8
	Member   uint64 // 0 = nobody
	Peer     string // peer id of its node, at most MaxPeerID bytes
}

// AppendHead appends everything but Tail, for senders that put it behind as
// parts of its own.
func (m *Reply) AppendHead(dst []byte) []byte {
	flags := m.Flags &^ FlagFrom
	if m.From != nil {
		flags |= FlagFrom
	}
	dst = binary.BigEndian.AppendUint64(dst, m.ID)
	dst = append(dst, byte(m.Outcome), flags)
	dst = binary.BigEndian.AppendUint32(dst, m.Queue)
	dst = binary.BigEndian.AppendUint32(dst, m.Running)
	dst = binary.BigEndian.AppendUint32(dst, m.ServiceMicros)
	dst = binary.BigEndian.AppendUint32(dst, m.Code)
	if f := m.From; f != nil {
		dst = binary.BigEndian.AppendUint64(append(dst, f.Attempts), f.Member)
		dst = appendShort(dst, f.Peer)
	}
	return dst
}

// AppendTo appends the encoded reply.
func (m *Reply) AppendTo(dst []byte) []byte { return append(m.AppendHead(dst), m.Tail...) }

// DecodeReply decodes the body of a KindReply frame. Tail aliases b, and is not
// looked into.
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
		Tail:          b[replySize:],
	}
	switch {
	case m.Outcome >= OutcomeCount:
		return Reply{}, malformed("reply: unknown outcome")
	case m.Flags&^replyFlags != 0:
		return Reply{}, malformed("reply: unknown flag")
	case m.Flags&FlagFrom == 0:
		return m, nil
	}
	return m.decodeFrom()
}

func (m Reply) decodeFrom() (Reply, error) {
	r := reader{b: m.Tail}
	m.From = &From{Attempts: r.uint8(), Member: r.uint64(), Peer: r.short()}
	if r.bad || len(m.From.Peer) > MaxPeerID {
		return Reply{}, malformed("reply: from")
	}
	m.Flags &^= FlagFrom
	m.Tail = r.b
	return m, nil
}
