// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package session

import "fmt"

const (
	// MaxChunk is the longest part of a tunnel's message in one frame, bytes.
	MaxChunk = 64 << 10
	// minChunkCost bounds how many short chunks there can be for some credit:
	// each takes memory of its own.
	minChunkCost = 64
	// RelayTunnels is set in the ids of the tunnels that the relay begins, and
	// in no other.
	RelayTunnels uint64 = 1 << 63
)

// ChunkCost is the credit that a chunk of n bytes uses up.
func ChunkCost(n int) int { return max(n, minChunkCost) }

// OpenTunnel opens a tunnel to one member of a cluster. It has the fields of a
// Request, whose ID is that of the tunnel, too, and is answered by one
// TunnelReply.
type OpenTunnel struct {
	Request
	Credit uint32 // for the relay
}

// Kind implements Frame.
func (*OpenTunnel) Kind() Kind { return KindOpenTunnel }

func (m *OpenTunnel) encode(e *encoder) {
	m.encodeCall(e)
	e.u32(m.Credit)
	e.headers(m.Headers)
	e.rest(m.Body)
}

func (m *OpenTunnel) decode(d *decoder) {
	m.decodeCall(d)
	if m.ID&RelayTunnels != 0 {
		d.fail("id of a relay's tunnel")
	}
	m.Credit = d.u32()
	m.Headers = d.headers()
	m.Body = d.rest()
}

// TunnelReply is the one outcome of an OpenTunnel. If that is a reply, the
// tunnel is open.
type TunnelReply struct {
	ID uint64
	Failure
	Attempts uint16 // members tried
	Member   string // id of the member that gave the outcome; "" if none
	Peer     string // peer id of the member's node
	Credit   uint32 // for the client
}

// Kind implements Frame.
func (*TunnelReply) Kind() Kind { return KindTunnelReply }

func (m *TunnelReply) encode(e *encoder) {
	e.u64(m.ID)
	m.Failure.encode(e)
	e.u16(m.Attempts)
	e.str("member", m.Member, MaxName)
	e.str("peer", m.Peer, MaxName)
	e.u32(m.Credit)
}

func (m *TunnelReply) decode(d *decoder) {
	m.ID = d.u64()
	m.Failure.decode(d)
	m.Attempts = d.u16()
	m.Member = d.str("member", MaxName)
	m.Peer = d.str("peer", MaxName)
	m.Credit = d.u32()
}

// DeliverTunnel hands a tunnel to a registration of the client, which gives
// credit when it takes it.
type DeliverTunnel struct {
	ID           uint64 // the relay's name for it, with RelayTunnels
	Registration uint64
	Credit       uint32 // for the client
	From         string // the caller's peer id
	Headers      []Header
	Body         []byte // what it was opened with
}

// Kind implements Frame.
func (*DeliverTunnel) Kind() Kind { return KindDeliverTunnel }

func (m *DeliverTunnel) encode(e *encoder) {
	e.u64(m.ID)
	e.u64(m.Registration)
	e.u32(m.Credit)
	e.str("from", m.From, MaxName)
	e.headers(m.Headers)
	e.rest(m.Body)
}

func (m *DeliverTunnel) decode(d *decoder) {
	m.ID = d.u64()
	if m.ID&RelayTunnels == 0 {
		d.fail("id of a client's tunnel")
	}
	m.Registration = d.u64()
	m.Credit = d.u32()
	m.From = d.str("from", MaxName)
	m.Headers = d.headers()
	m.Body = d.rest()
}

// TunnelData is a part of a message.
type TunnelData struct {
	ID    uint64
	Last  bool // it ends its message
	Chunk []byte
}

// Kind implements Frame.
func (*TunnelData) Kind() Kind { return KindTunnelData }

func (m *TunnelData) encode(e *encoder) {
	if len(m.Chunk) > MaxChunk {
		e.tooLarge("chunk", len(m.Chunk), MaxChunk)
	}
	e.u64(m.ID)
	e.bits(m.Last)
	e.rest(m.Chunk)
}

// tunnelDataHead is what precedes the chunk in a body, bytes.
const tunnelDataHead = 8 + 1

// Decode is what the function Decode does for this kind, into a frame that there
// is already. Chunk aliases body.
func (m *TunnelData) Decode(body []byte) error {
	d := decoder{b: body}
	m.decode(&d)
	if d.err != nil {
		return fmt.Errorf("%s: %w", KindTunnelData, d.err)
	}
	return nil
}

func (m *TunnelData) decode(d *decoder) {
	m.ID = d.u64()
	d.bits("data's flags", &m.Last)
	m.Chunk = d.rest()
	if len(m.Chunk) > MaxChunk || len(m.Chunk) == 0 && !m.Last {
		d.fail("chunk")
	}
}

// TunnelCredit says that more may be sent.
type TunnelCredit struct {
	ID     uint64
	Credit uint32 // so much more, see ChunkCost
	Read   uint32 // bytes that the program has read; a relay says 0
}

// Kind implements Frame.
func (*TunnelCredit) Kind() Kind { return KindTunnelCredit }

func (m *TunnelCredit) encode(e *encoder) {
	e.u64(m.ID)
	e.u32(m.Credit)
	e.u32(m.Read)
}

func (m *TunnelCredit) decode(d *decoder) {
	m.ID = d.u64()
	m.Credit = d.u32()
	m.Read = d.u32()
}

// TunnelEnd ends the sender's direction in good order.
type TunnelEnd struct {
	ID     uint64
	Closed bool // nor does the sender read any more
}

// Kind implements Frame.
func (*TunnelEnd) Kind() Kind { return KindTunnelEnd }

func (m *TunnelEnd) encode(e *encoder) {
	e.u64(m.ID)
	e.bits(m.Closed)
}

func (m *TunnelEnd) decode(d *decoder) {
	m.ID = d.u64()
	d.bits("end's flags", &m.Closed)
}

// TunnelReset ends both directions at once; what is under way is dropped.
type TunnelReset struct {
	ID uint64
	Failure
}

// Kind implements Frame.
func (*TunnelReset) Kind() Kind { return KindTunnelReset }

func (m *TunnelReset) encode(e *encoder) {
	e.u64(m.ID)
	m.Failure.encode(e)
}

func (m *TunnelReset) decode(d *decoder) {
	m.ID = d.u64()
	m.Failure.decode(d)
}
