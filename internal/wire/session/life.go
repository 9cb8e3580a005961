// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package session

// Ping asks for a Pong with the same Token.
type Ping struct{ Token uint64 }

// Kind implements Frame.
func (*Ping) Kind() Kind { return KindPing }

func (m *Ping) encode(e *encoder) { e.u64(m.Token) }
func (m *Ping) decode(d *decoder) { m.Token = d.u64() }

// Pong answers a Ping.
type Pong struct{ Token uint64 }

// Kind implements Frame.
func (*Pong) Kind() Kind { return KindPong }

func (m *Pong) encode(e *encoder) { e.u64(m.Token) }
func (m *Pong) decode(d *decoder) { m.Token = d.u64() }

// Drain says that the relay is shutting down: its members are leaving, no new
// registration is accepted, and a Goodbye will follow.
type Drain struct {
	Remaining uint64 // µs until the relay ends in any case; 0 = not known
	Text      string
}

// Kind implements Frame.
func (*Drain) Kind() Kind { return KindDrain }

func (m *Drain) encode(e *encoder) {
	e.u64(m.Remaining)
	e.text(m.Text)
}

func (m *Drain) decode(d *decoder) {
	m.Remaining = d.u64()
	m.Text = d.str("text", MaxText)
}

// Goodbye is the relay's last frame. A call that has no reply by now has not
// been, and will not be, looked at.
type Goodbye struct{}

// Kind implements Frame.
func (*Goodbye) Kind() Kind { return KindGoodbye }

func (*Goodbye) encode(*encoder) {}
func (*Goodbye) decode(*decoder) {}

// Error ends the session: the other side broke the protocol or a limit.
type Error struct {
	Reason Reason
	Text   string
}

// Kind implements Frame.
func (*Error) Kind() Kind { return KindError }

func (m *Error) encode(e *encoder) {
	e.u16(uint16(m.Reason))
	e.text(m.Text)
}

func (m *Error) decode(d *decoder) {
	m.Reason = Reason(d.u16())
	m.Text = d.str("text", MaxText)
}
