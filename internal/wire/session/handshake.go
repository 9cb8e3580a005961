// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package session

// Hello is the first frame of a client.
type Hello struct {
	MinVersion uint16
	MaxVersion uint16
	Features   uint64 // what the client can do beyond the version; none yet
	// Resume names the client's previous session, if it had one. The relay
	// ends that session before it welcomes the new one.
	Resume ID
	Token  string // required over TCP, ignored on a unix socket
	Client string // what the client calls itself, for logs and status
}

// Kind implements Frame.
func (*Hello) Kind() Kind { return KindHello }

func (m *Hello) encode(e *encoder) {
	e.bytes([]byte(Magic))
	e.u16(m.MinVersion)
	e.u16(m.MaxVersion)
	e.u64(m.Features)
	e.bytes(m.Resume[:])
	e.str("token", m.Token, MaxToken)
	e.str("client", m.Client, MaxName)
}

func (m *Hello) decode(d *decoder) {
	if string(d.take(len(Magic))) != Magic {
		d.fail("magic")
	}
	m.MinVersion = d.u16()
	m.MaxVersion = d.u16()
	m.Features = d.u64()
	copy(m.Resume[:], d.take(len(m.Resume)))
	m.Token = d.str("token", MaxToken)
	m.Client = d.str("client", MaxName)
}

// Welcome accepts a client.
type Welcome struct {
	Version  uint16 // the highest that both sides speak
	Features uint64 // what both sides can do
	Session  ID
	Limits   Limits
	Peer     string // the peer id of the relay's node
	Relay    string // what the relay calls itself
}

// Limits are what a relay allows one session.
type Limits struct {
	Frame         uint32 // kind and body of one frame, bytes
	Message       uint32 // body and headers of one message, bytes
	Registrations uint32
	Subscriptions uint32
	Requests      uint32 // calls without a reply
	RequestBytes  uint64 // frames of such calls, bytes
}

// Kind implements Frame.
func (*Welcome) Kind() Kind { return KindWelcome }

func (m *Welcome) encode(e *encoder) {
	e.u16(m.Version)
	e.u64(m.Features)
	e.bytes(m.Session[:])
	e.u32(m.Limits.Frame)
	e.u32(m.Limits.Message)
	e.u32(m.Limits.Registrations)
	e.u32(m.Limits.Subscriptions)
	e.u32(m.Limits.Requests)
	e.u64(m.Limits.RequestBytes)
	e.str("peer", m.Peer, MaxName)
	e.str("relay", m.Relay, MaxName)
}

func (m *Welcome) decode(d *decoder) {
	m.Version = d.u16()
	m.Features = d.u64()
	copy(m.Session[:], d.take(len(m.Session)))
	m.Limits.Frame = d.u32()
	m.Limits.Message = d.u32()
	m.Limits.Registrations = d.u32()
	m.Limits.Subscriptions = d.u32()
	m.Limits.Requests = d.u32()
	m.Limits.RequestBytes = d.u64()
	m.Peer = d.str("peer", MaxName)
	m.Relay = d.str("relay", MaxName)
}

// Refused turns a client away; the connection ends.
type Refused struct {
	Reason Reason
	Text   string
}

// Kind implements Frame.
func (*Refused) Kind() Kind { return KindRefused }

func (m *Refused) encode(e *encoder) {
	e.u16(uint16(m.Reason))
	e.text(m.Text)
}

func (m *Refused) decode(d *decoder) {
	m.Reason = Reason(d.u16())
	m.Text = d.str("text", MaxText)
}
