// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package session

// deliverPatterns counts what a Deliver can be: request, survey, push,
// broadcast.
const deliverPatterns = 4

// Deliver hands a request to a registration of the client. It is answered by
// one Answer.
type Deliver struct {
	ID           uint64 // the relay's name for it
	Registration uint64
	Pattern      uint8  // 0 request, 1 survey, 2 push, 3 broadcast
	Remaining    uint64 // µs until the caller gives up; 0 = never
	From         string // the caller's peer id
	Headers      []Header
	Body         []byte
}

// Kind implements Frame.
func (*Deliver) Kind() Kind { return KindDeliver }

func (m *Deliver) encode(e *encoder) {
	e.u64(m.ID)
	e.u64(m.Registration)
	e.u8(m.Pattern)
	e.u64(m.Remaining)
	e.str("from", m.From, MaxName)
	e.headers(m.Headers)
	e.rest(m.Body)
}

func (m *Deliver) decode(d *decoder) {
	m.ID = d.u64()
	m.Registration = d.u64()
	m.Pattern = d.u8()
	if m.Pattern >= deliverPatterns {
		d.fail("pattern")
	}
	m.Remaining = d.u64()
	m.From = d.str("from", MaxName)
	m.Headers = d.headers()
	m.Body = d.rest()
}

// Answer is what the client's handler made of a Deliver. Its outcome is a
// reply or a remote error; or, if the handler stands for a program elsewhere,
// overloaded, interrupted, unauthorized, too large, or closed.
type Answer struct {
	ID uint64
	Failure
	Headers []Header
	Body    []byte // where the outcome is a reply
}

// Kind implements Frame.
func (*Answer) Kind() Kind { return KindAnswer }

func (m *Answer) encode(e *encoder) {
	e.u64(m.ID)
	m.encodeHead(e)
	e.headers(m.Headers)
	m.encodeResult(e, m.Body)
}

func (m *Answer) decode(d *decoder) {
	m.ID = d.u64()
	m.decodeHead(d)
	m.Headers = d.headers()
	m.Body = m.decodeResult(d)
}

// DeliverCancel says that nobody waits for an Answer any more; it is due
// nevertheless.
type DeliverCancel struct{ ID uint64 }

// Kind implements Frame.
func (*DeliverCancel) Kind() Kind { return KindDeliverCancel }

func (m *DeliverCancel) encode(e *encoder) { e.u64(m.ID) }
func (m *DeliverCancel) decode(d *decoder) { m.ID = d.u64() }
