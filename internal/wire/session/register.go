// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package session

// Register asks to become a member of a cluster. It is answered by Registered
// or RegisterFailed.
type Register struct {
	// ID is the client's name for the registration, which no other one of its
	// session has.
	ID      uint64
	Timeout uint64 // µs; 0 = the relay's own
	// Limits of the member; 0 = the default.
	Concurrency  uint32 // requests handled at once
	QueueLength  int32  // requests waiting; negative = none
	QueueBytes   uint32 // bytes waiting
	MessageBytes uint32 // largest body + headers
	Capacity     uint32 // weight in balancing
	Tunnels      int32  // open tunnels; negative = none
	// Patterns are those that the member implements.
	Patterns Patterns
	Cluster  string
}

// Patterns is a set of ways to send something to a member, as bits. Who uses
// one that a member does not implement gets a remote error with code 3.
type Patterns uint8

// The bits.
const (
	ServesRequests   Patterns = 1 << 0 // and surveys
	ServesPushes     Patterns = 1 << 1
	ServesBroadcasts Patterns = 1 << 2
	ServesTunnels    Patterns = 1 << 3

	servesBits = ServesRequests | ServesPushes | ServesBroadcasts | ServesTunnels
)

// Kind implements Frame.
func (*Register) Kind() Kind { return KindRegister }

func (m *Register) encode(e *encoder) {
	e.u64(m.ID)
	e.u64(m.Timeout)
	e.u32(m.Concurrency)
	e.u32(uint32(m.QueueLength))
	e.u32(m.QueueBytes)
	e.u32(m.MessageBytes)
	e.u32(m.Capacity)
	e.u32(uint32(m.Tunnels))
	e.u8(uint8(m.Patterns))
	e.str("cluster", m.Cluster, MaxCluster)
}

func (m *Register) decode(d *decoder) {
	m.ID = d.u64()
	m.Timeout = d.u64()
	m.Concurrency = d.u32()
	m.QueueLength = int32(d.u32())
	m.QueueBytes = d.u32()
	m.MessageBytes = d.u32()
	m.Capacity = d.u32()
	m.Tunnels = int32(d.u32())
	m.Patterns = Patterns(d.u8())
	if m.Patterns&^servesBits != 0 {
		d.fail("patterns")
	}
	m.Cluster = d.str("cluster", MaxCluster)
}

// Registered acknowledges a Register: the member is known to the cluster.
type Registered struct {
	ID     uint64
	Member string
}

// Kind implements Frame.
func (*Registered) Kind() Kind { return KindRegistered }

func (m *Registered) encode(e *encoder) {
	e.u64(m.ID)
	e.str("member", m.Member, MaxName)
}

func (m *Registered) decode(d *decoder) {
	m.ID = d.u64()
	m.Member = d.str("member", MaxName)
}

// RegisterFailed refuses a Register; the id is free again.
type RegisterFailed struct {
	ID uint64
	Failure
}

// Kind implements Frame.
func (*RegisterFailed) Kind() Kind { return KindRegisterFailed }

func (m *RegisterFailed) encode(e *encoder) {
	e.u64(m.ID)
	m.Failure.encode(e)
}

func (m *RegisterFailed) decode(d *decoder) {
	m.ID = d.u64()
	m.Failure.decode(d)
}

// Unregister ends a registration, or one that is not acknowledged yet. It is
// answered by Unregistered. A second one ends the drain at once.
type Unregister struct {
	ID      uint64
	Timeout uint64 // µs that accepted work may take; 0 = as long as it needs
}

// Kind implements Frame.
func (*Unregister) Kind() Kind { return KindUnregister }

func (m *Unregister) encode(e *encoder) {
	e.u64(m.ID)
	e.u64(m.Timeout)
}

func (m *Unregister) decode(d *decoder) {
	m.ID = d.u64()
	m.Timeout = d.u64()
}

// Unregistered says that the member is gone and its accepted work is finished,
// unless the Failure says otherwise. The id is free again.
type Unregistered struct {
	ID uint64
	Failure
}

// Kind implements Frame.
func (*Unregistered) Kind() Kind { return KindUnregistered }

func (m *Unregistered) encode(e *encoder) {
	e.u64(m.ID)
	m.Failure.encode(e)
}

func (m *Unregistered) decode(d *decoder) {
	m.ID = d.u64()
	m.Failure.decode(d)
}
