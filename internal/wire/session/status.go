// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package session

// Status asks the relay how it is. It is answered by one StatusReply.
type Status struct{ ID uint64 }

// Kind implements Frame.
func (*Status) Kind() Kind { return KindStatus }

func (m *Status) encode(e *encoder) { e.u64(m.ID) }
func (m *Status) decode(d *decoder) { m.ID = d.u64() }

// StatusReply has one JSON object, meant for people and tools.
type StatusReply struct {
	ID uint64
	Failure
	JSON []byte // where the outcome is a reply
}

// Kind implements Frame.
func (*StatusReply) Kind() Kind { return KindStatusReply }

func (m *StatusReply) encode(e *encoder) {
	e.u64(m.ID)
	m.encodeHead(e)
	m.encodeResult(e, m.JSON)
}

func (m *StatusReply) decode(d *decoder) {
	m.ID = d.u64()
	m.decodeHead(d)
	m.JSON = m.decodeResult(d)
}
