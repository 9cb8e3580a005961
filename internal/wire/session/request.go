// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package session

const policyCount = 5 // load, round robin, random, weighted, sticky

// Request asks one member of a cluster. It is answered by one Reply.
type Request struct {
	// ID is the client's name for the call. Among its calls (Request,
	// Members, Status) without a reply no other one has it.
	ID            uint64
	Timeout       uint64 // µs; 0 = the default of the relay's node
	Idempotent    bool
	WaitForMember bool
	Policy        uint8
	StickyKey     string
	Cluster       string
	Headers       []Header
	Body          []byte
}

// Kind implements Frame.
func (*Request) Kind() Kind { return KindRequest }

func (m *Request) encode(e *encoder) {
	m.encodeCall(e)
	e.headers(m.Headers)
	e.rest(m.Body)
}

func (m *Request) decode(d *decoder) {
	m.decodeCall(d)
	m.Headers = d.headers()
	m.Body = d.rest()
}

// encodeCall appends what there is before the message: whom it is for, and how
// it is to get there.
func (m *Request) encodeCall(e *encoder) {
	e.u64(m.ID)
	e.u64(m.Timeout)
	e.bits(m.Idempotent, m.WaitForMember)
	e.u8(m.Policy)
	e.str("sticky key", m.StickyKey, MaxSticky)
	e.str("cluster", m.Cluster, MaxCluster)
}

func (m *Request) decodeCall(d *decoder) {
	m.ID = d.u64()
	m.Timeout = d.u64()
	d.bits("options", &m.Idempotent, &m.WaitForMember)
	m.Policy = d.u8()
	if m.Policy >= policyCount {
		d.fail("policy")
	}
	m.StickyKey = d.str("sticky key", MaxSticky)
	m.Cluster = d.str("cluster", MaxCluster)
}

// Reply is the one outcome of a Request.
type Reply struct {
	ID uint64
	Failure
	Attempts uint16 // members tried
	Member   string // id of the member that gave the outcome; "" if none
	Headers  []Header
	Body     []byte // where the outcome is a reply
}

// Kind implements Frame.
func (*Reply) Kind() Kind { return KindReply }

func (m *Reply) encode(e *encoder) {
	e.u64(m.ID)
	m.encodeHead(e)
	e.u16(m.Attempts)
	e.str("member", m.Member, MaxName)
	e.headers(m.Headers)
	m.encodeResult(e, m.Body)
}

func (m *Reply) decode(d *decoder) {
	m.ID = d.u64()
	m.decodeHead(d)
	m.Attempts = d.u16()
	m.Member = d.str("member", MaxName)
	m.Headers = d.headers()
	m.Body = m.decodeResult(d)
}

// Cancel says that the client does not want the outcome of a call any more.
// The call is still answered, soon.
type Cancel struct{ ID uint64 }

// Kind implements Frame.
func (*Cancel) Kind() Kind { return KindCancel }

func (m *Cancel) encode(e *encoder) { e.u64(m.ID) }
func (m *Cancel) decode(d *decoder) { m.ID = d.u64() }
