// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package wire

import "encoding/binary"

// Bits of Request.Flags and Reply.Flags. A bit that this version does not know
// is malformed: bits are added with a new link version only.
const (
	FlagIdempotent uint8 = 1 << 0 // Request: running it twice does no harm
	FlagSealed     uint8 = 1 << 1 // both: the body is sealed under the cluster key
)

const requestSize = 8 + 8 + 8 + 8 + 1 + 1 + 1

// patternCount is how many patterns there are; package patterns numbers them.
const patternCount = 5

// Request asks one member, or has a message for it. Sent by the caller's node,
// answered by one Reply.
type Request struct {
	// ID is unique among the requests of the sender's instance.
	ID uint64
	// Member and Incarnation name the member that was picked; a member that
	// is gone, or has restarted, answers OutcomeNoSuchMember.
	Member      uint64
	Incarnation uint64
	// Deadline is in nanoseconds of the sender's link clock; 0 = none.
	Deadline uint64
	Flags    uint8 // FlagIdempotent, FlagSealed
	Attempt  uint8 // 0 for the first member tried
	Pattern  uint8 // 0 request, 1 survey, 2 push, 3 broadcast, 4 tunnel
	Headers  []Header
	Body     []byte
}

// HeadSize is the length of what AppendHead appends, in bytes.
func (m Request) HeadSize() int { return requestSize + HeadersSize(m.Headers) }

// AppendHead appends everything but Body, for senders that put the body behind
// it as a part of its own. Headers must pass CheckHeaders.
func (m Request) AppendHead(dst []byte) []byte {
	dst = binary.BigEndian.AppendUint64(dst, m.ID)
	dst = binary.BigEndian.AppendUint64(dst, m.Member)
	dst = binary.BigEndian.AppendUint64(dst, m.Incarnation)
	dst = binary.BigEndian.AppendUint64(dst, m.Deadline)
	dst = append(dst, m.Flags, m.Attempt, m.Pattern)
	return AppendHeaders(dst, m.Headers)
}

// AppendTo appends the encoded request. Headers must pass CheckHeaders.
func (m Request) AppendTo(dst []byte) []byte {
	return append(m.AppendHead(dst), m.Body...)
}

// DecodeRequest decodes the body of a KindRequest frame. Body aliases b; the
// headers do not.
func DecodeRequest(b []byte) (Request, error) {
	if len(b) < requestSize {
		return Request{}, malformed("request: short")
	}
	m := Request{
		ID:          binary.BigEndian.Uint64(b),
		Member:      binary.BigEndian.Uint64(b[8:]),
		Incarnation: binary.BigEndian.Uint64(b[16:]),
		Deadline:    binary.BigEndian.Uint64(b[24:]),
		Flags:       b[32],
		Attempt:     b[33],
		Pattern:     b[34],
	}
	switch {
	case m.Flags&^(FlagIdempotent|FlagSealed) != 0:
		return Request{}, malformed("request: unknown flag")
	case m.Pattern >= patternCount:
		return Request{}, malformed("request: unknown pattern")
	}
	var err error
	if m.Headers, m.Body, err = DecodeHeaders(b[requestSize:]); err != nil {
		return Request{}, err
	}
	return m, nil
}
