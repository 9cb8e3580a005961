// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package wire

import "encoding/binary"

// EndCode says why a client and its relay part, or why a client is refused.
// Closed list; do not reorder. Sessions use the same numbers between nodes.
type EndCode uint8

// The codes.
const (
	EndShutdown EndCode = 1  // the sender is going away, in good order
	EndVersion  EndCode = 2  // no version in common
	EndProtocol EndCode = 4  // what came was not due, or can't be understood
	EndTimeout  EndCode = 5  // no Hello in time
	EndSilent   EndCode = 6  // nothing was heard, or nothing is read
	EndFull     EndCode = 7  // the relay has as many clients as it may have
	EndReplaced EndCode = 8  // the client came back in another session
	EndToken    EndCode = 10 // wrong token
	EndUser     EndCode = 11 // the process belongs to another user
	EndOther    EndCode = 12 // something else, which the text says
	// EndCodes is how many numbers there are.
	EndCodes = 13
)

// String returns the code's name as used in logs, counters, and errors.
func (c EndCode) String() string {
	if int(c) >= len(endNames) || endNames[c] == "" {
		return "other"
	}
	return endNames[c]
}

var endNames = [...]string{
	EndShutdown: "shutdown",
	EndVersion:  "version",
	EndProtocol: "protocol",
	EndTimeout:  "timeout",
	EndSilent:   "silent",
	EndFull:     "too_many_clients",
	EndReplaced: "replaced",
	EndToken:    "token",
	EndUser:     "user",
}

// LeafGoodbye is the last frame of a session, or the answer to a Hello that is
// refused.
type LeafGoodbye struct {
	Code EndCode
	// Handled is how many frames of each lane were looked at: what was sent
	// beyond can be asked for elsewhere without harm. nil = nothing is said.
	Handled *Counts
	Text    string // at most MaxLeafText bytes
}

// AppendTo appends the encoded message.
func (m *LeafGoodbye) AppendTo(dst []byte) []byte {
	dst = appendBool(append(dst, byte(m.Code)), m.Handled != nil)
	if m.Handled != nil {
		dst = appendCounts(dst, *m.Handled)
	}
	return append(dst, CutText(m.Text)...)
}

// DecodeLeafGoodbye decodes the body of a KindGoodbye frame between a client
// and its relay.
func DecodeLeafGoodbye(b []byte) (LeafGoodbye, error) {
	r := reader{b: b}
	m := LeafGoodbye{Code: EndCode(r.uint8())}
	if r.bool() {
		handled := readCounts(&r)
		m.Handled = &handled
	}
	m.Text = r.rest(MaxLeafText)
	if r.bad {
		return LeafGoodbye{}, malformed("goodbye")
	}
	return m, nil
}

// NoticeDraining is the code of a LeafNotice: the relay is shutting down. Its
// members leave, nothing new is taken, calls are still answered, and then there
// will be a Goodbye.
const NoticeDraining uint8 = 2

// LeafNotice tells a client something about its relay. One of a code that it
// does not know is ignored.
type LeafNotice struct {
	Code uint8
	Text string // at most MaxLeafText bytes
}

// AppendTo appends the encoded message.
func (m *LeafNotice) AppendTo(dst []byte) []byte {
	return append(append(dst, m.Code), CutText(m.Text)...)
}

// DecodeLeafNotice decodes the body of a KindNotice frame of a relay.
func DecodeLeafNotice(b []byte) (LeafNotice, error) {
	r := reader{b: b}
	m := LeafNotice{Code: r.uint8(), Text: r.rest(MaxLeafText)}
	if r.bad {
		return LeafNotice{}, malformed("notice")
	}
	return m, nil
}

// LeafBeat is a sign of life between a client and its relay.
type LeafBeat struct {
	WantReply bool   // the receiver answers at once, with Echo
	Clock     uint64 // the sender's link clock, ns
	Echo      uint64 // Clock of the Beat that this one answers; 0 = none
	Held      uint64 // ns between receiving that one and sending this
}

// AppendTo appends the encoded message.
func (m *LeafBeat) AppendTo(dst []byte) []byte {
	dst = binary.BigEndian.AppendUint64(appendBool(dst, m.WantReply), m.Clock)
	return binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(dst, m.Echo), m.Held)
}

// DecodeLeafBeat decodes the body of a KindBeat frame between a client and its
// relay.
func DecodeLeafBeat(b []byte) (LeafBeat, error) {
	r := reader{b: b}
	m := LeafBeat{WantReply: r.bool(), Clock: r.uint64(), Echo: r.uint64(), Held: r.uint64()}
	if r.bad || len(r.b) > 0 {
		return LeafBeat{}, malformed("beat: length")
	}
	return m, nil
}
