// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package wire

import "encoding/binary"

// Serve asks to become a member of a cluster. It is answered by one Done, whose
// value is the member's id. Requests to the member have the registration's id
// in place of the member's.
type Serve struct {
	// ID is the client's name for the registration, which no other registration
	// or subscription of its session has.
	ID      uint64
	Timeout uint64 // µs; 0 = 30 s
	// Limits of the member; 0 = the default.
	Concurrency  uint32 // requests handled at once
	QueueLength  int32  // requests waiting; negative = none
	QueueBytes   uint32 // bytes waiting
	MessageBytes uint32 // largest body + headers
	Capacity     uint32 // weight in balancing
	Tunnels      int32  // open tunnels; negative = none
	Patterns     Patterns
	Cluster      string // at most 255 bytes
}

// Patterns is a set of ways to send something to a member, as bits. Who uses
// one that the member does not implement gets a remote error with code 3.
type Patterns uint8

// The bits.
const (
	ServesRequests   Patterns = 1 << 0 // and surveys
	ServesPushes     Patterns = 1 << 1
	ServesBroadcasts Patterns = 1 << 2
	ServesTunnels    Patterns = 1 << 3

	servesAll = ServesRequests | ServesPushes | ServesBroadcasts | ServesTunnels
)

// AppendTo appends the encoded message.
func (m *Serve) AppendTo(dst []byte) []byte {
	dst = binary.BigEndian.AppendUint64(dst, m.ID)
	dst = binary.BigEndian.AppendUint64(dst, m.Timeout)
	dst = binary.BigEndian.AppendUint32(dst, m.Concurrency)
	dst = binary.BigEndian.AppendUint32(dst, uint32(m.QueueLength))
	dst = binary.BigEndian.AppendUint32(dst, m.QueueBytes)
	dst = binary.BigEndian.AppendUint32(dst, m.MessageBytes)
	dst = binary.BigEndian.AppendUint32(dst, m.Capacity)
	dst = binary.BigEndian.AppendUint32(dst, uint32(m.Tunnels))
	dst = append(dst, byte(m.Patterns))
	return appendShort(dst, m.Cluster)
}

// DecodeServe decodes the body of a KindServe frame.
func DecodeServe(b []byte) (Serve, error) {
	r := reader{b: b}
	m := Serve{
		ID: r.uint64(), Timeout: r.uint64(),
		Concurrency: r.uint32(), QueueLength: int32(r.uint32()), QueueBytes: r.uint32(),
		MessageBytes: r.uint32(), Capacity: r.uint32(), Tunnels: int32(r.uint32()),
		Patterns: Patterns(r.uint8()), Cluster: r.short(),
	}
	switch {
	case r.bad || len(r.b) > 0:
		return Serve{}, malformed("serve: length")
	case m.Patterns&^servesAll != 0:
		return Serve{}, malformed("serve: unknown pattern")
	}
	return m, nil
}

// Leave ends a registration or a subscription, or one that is not acknowledged
// yet. It is answered by one Done when that is over: accepted requests are
// answered, and what came for a subscription is sent. A second Leave of the same
// id has no answer of its own, and ends it at once.
type Leave struct {
	ID      uint64
	Timeout uint64 // µs that it may take; 0 = as long as it needs
}

// AppendTo appends the encoded message.
func (m Leave) AppendTo(dst []byte) []byte {
	return binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(dst, m.ID), m.Timeout)
}

// DecodeLeave decodes the body of a KindLeave frame.
func DecodeLeave(b []byte) (Leave, error) {
	r := reader{b: b}
	m := Leave{ID: r.uint64(), Timeout: r.uint64()}
	if r.bad || len(r.b) > 0 {
		return Leave{}, malformed("leave: length")
	}
	return m, nil
}

// Limits of a client, as the code of an outcome that says that it is beyond one:
// too many, or, of calls, overloaded. Closed list; do not reorder. LimitShare is
// beyond its share of what all clients of the relay may have.
const (
	LimitRegistrations uint32 = 1
	LimitCalls         uint32 = 2 // that have no reply yet
	LimitBytes         uint32 = 3 // of such calls
	LimitTunnels       uint32 = 4
	LimitSubscriptions uint32 = 5
	LimitShare         uint32 = 6
	LimitBuffer        uint32 = 7 // of a subscription
	LimitDeliveries    uint32 = 8 // requests of the client's members
)

// Done answers a Serve, a Subscribe, a Leave, or a LeafPublish.
type Done struct {
	ID      uint64 // of what is answered
	Outcome Outcome
	Flags   uint8  // FlagMaybeRan
	Code    uint32 // of a remote error, or which limit
	Value   uint64 // of Serve the member's id, of LeafPublish how many nodes took it
	Text    string // at most MaxLeafText bytes
}

// AppendTo appends the encoded message.
func (m *Done) AppendTo(dst []byte) []byte {
	dst = binary.BigEndian.AppendUint64(dst, m.ID)
	dst = append(dst, byte(m.Outcome), m.Flags)
	dst = binary.BigEndian.AppendUint32(dst, m.Code)
	dst = binary.BigEndian.AppendUint64(dst, m.Value)
	return appendText(dst, CutText(m.Text), MaxLeafText)
}

// DecodeDone decodes the body of a KindDone frame.
func DecodeDone(b []byte) (Done, error) {
	r := reader{b: b}
	m := Done{
		ID: r.uint64(), Outcome: Outcome(r.uint8()), Flags: r.uint8(), Code: r.uint32(),
		Value: r.uint64(), Text: r.text(MaxLeafText),
	}
	switch {
	case r.bad || len(r.b) > 0:
		return Done{}, malformed("done: length")
	case m.Outcome >= OutcomeCount:
		return Done{}, malformed("done: unknown outcome")
	case m.Flags&^FlagMaybeRan != 0:
		return Done{}, malformed("done: unknown flag")
	}
	return m, nil
}

// Summary is the body of the last Reply to a survey or broadcast of a client.
type Summary struct {
	// Members is how many answered the survey, or have the broadcast in their
	// queues; Nodes, of a broadcast, on how many nodes these are.
	Members, Nodes uint32
	// Complete says that nobody is missing, and that all members are known.
	Complete bool
	Missing  []Missing
}

// Missing is a member that did not answer, or was not reached.
type Missing struct {
	Member  uint64
	Peer    string // of its node, at most 255 bytes
	Outcome Outcome
	Flags   uint8 // FlagMaybeRan
	Code    uint32
	Text    string // at most MaxLeafText bytes
}

const missingMinSize = 8 + 1 + 1 + 1 + 4 + 2

// AppendTo appends the encoded message.
func (m *Summary) AppendTo(dst []byte) []byte {
	dst = binary.BigEndian.AppendUint32(dst, m.Members)
	dst = binary.BigEndian.AppendUint32(dst, m.Nodes)
	dst = appendBool(dst, m.Complete)
	dst = binary.BigEndian.AppendUint32(dst, uint32(len(m.Missing)))
	for i := range m.Missing {
		x := &m.Missing[i]
		dst = binary.BigEndian.AppendUint64(dst, x.Member)
		dst = appendShort(dst, x.Peer)
		dst = append(dst, byte(x.Outcome), x.Flags)
		dst = binary.BigEndian.AppendUint32(dst, x.Code)
		dst = appendText(dst, CutText(x.Text), MaxLeafText)
	}
	return dst
}

// DecodeSummary decodes the body of such a Reply.
func DecodeSummary(b []byte) (Summary, error) {
	r := reader{b: b}
	m := Summary{Members: r.uint32(), Nodes: r.uint32(), Complete: r.bool()}
	n := int(r.uint32())
	if n > len(r.b)/missingMinSize {
		return Summary{}, malformed("summary: count")
	}
	if n > 0 {
		m.Missing = make([]Missing, n)
	}
	for i := range m.Missing {
		x := &m.Missing[i]
		*x = Missing{
			Member: r.uint64(), Peer: r.short(), Outcome: Outcome(r.uint8()), Flags: r.uint8(),
			Code: r.uint32(), Text: r.text(MaxLeafText),
		}
		r.bad = r.bad || x.Outcome >= OutcomeCount || x.Flags&^FlagMaybeRan != 0
	}
	if r.bad || len(r.b) > 0 {
		return Summary{}, malformed("summary")
	}
	return m, nil
}
