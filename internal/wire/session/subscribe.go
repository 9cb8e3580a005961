// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package session

const overflowCount = 3 // oldest, newest, block

// Subscribe asks for what is published on topics that match the pattern. It is
// answered by Subscribed or SubscribeFailed.
type Subscribe struct {
	// ID is the client's name for the subscription, which no other one of its
	// session has.
	ID      uint64
	Timeout uint64 // µs; 0 = the relay's own
	NoEcho  bool   // not what this client publishes
	// Resumed says that an earlier session of the client had this subscription,
	// under the same id, and that the client saw it up to Number.
	Resumed  bool
	Overflow uint8 // what a full queue does: 0 drops the oldest, 1 the newest, 2 blocks
	// What may wait at the relay, and what may be with the client that it has
	// not said to have taken; in messages, and in bytes of topics, headers and
	// bodies. 0 = the default.
	QueueLength  uint32
	QueueBytes   uint32
	WindowLength uint32
	WindowBytes  uint32
	Number       uint64
	Queue        string // the group of subscriptions that share the messages
	Pattern      string
}

// Kind implements Frame.
func (*Subscribe) Kind() Kind { return KindSubscribe }

func (m *Subscribe) encode(e *encoder) {
	e.u64(m.ID)
	e.u64(m.Timeout)
	e.bits(m.NoEcho, m.Resumed)
	e.u8(m.Overflow)
	e.u32(m.QueueLength)
	e.u32(m.QueueBytes)
	e.u32(m.WindowLength)
	e.u32(m.WindowBytes)
	e.u64(m.Number)
	e.str("queue", m.Queue, MaxName)
	e.str("pattern", m.Pattern, MaxTopic)
}

func (m *Subscribe) decode(d *decoder) {
	m.ID = d.u64()
	m.Timeout = d.u64()
	d.bits("options", &m.NoEcho, &m.Resumed)
	m.Overflow = d.u8()
	if m.Overflow >= overflowCount {
		d.fail("overflow")
	}
	m.QueueLength = d.u32()
	m.QueueBytes = d.u32()
	m.WindowLength = d.u32()
	m.WindowBytes = d.u32()
	m.Number = d.u64()
	m.Queue = d.str("queue", MaxName)
	m.Pattern = d.str("pattern", MaxTopic)
}

// Subscribed acknowledges a Subscribe: what is published from now on is for it.
type Subscribed struct {
	ID uint64
	// Continued says that the relay has counted since the client's previous
	// session: a Gap tells how much that was.
	Continued bool
	Number    uint64 // of the last message before those that follow
}

// Kind implements Frame.
func (*Subscribed) Kind() Kind { return KindSubscribed }

func (m *Subscribed) encode(e *encoder) {
	e.u64(m.ID)
	e.flag(m.Continued)
	e.u64(m.Number)
}

func (m *Subscribed) decode(d *decoder) {
	m.ID = d.u64()
	m.Continued = d.flag("continued")
	m.Number = d.u64()
}

// SubscribeFailed refuses a Subscribe; the id is free again.
type SubscribeFailed struct {
	ID uint64
	Failure
}

// Kind implements Frame.
func (*SubscribeFailed) Kind() Kind { return KindSubscribeFailed }

func (m *SubscribeFailed) encode(e *encoder) {
	e.u64(m.ID)
	m.Failure.encode(e)
}

func (m *SubscribeFailed) decode(d *decoder) {
	m.ID = d.u64()
	m.Failure.decode(d)
}

// Unsubscribe ends a subscription, or one that is not acknowledged yet. It is
// answered by Unsubscribed. A second one ends what is left at once.
type Unsubscribe struct {
	ID      uint64
	Timeout uint64 // µs that delivering what waits may take; 0 = as long as it needs
}

// Kind implements Frame.
func (*Unsubscribe) Kind() Kind { return KindUnsubscribe }

func (m *Unsubscribe) encode(e *encoder) {
	e.u64(m.ID)
	e.u64(m.Timeout)
}

func (m *Unsubscribe) decode(d *decoder) {
	m.ID = d.u64()
	m.Timeout = d.u64()
}

// Unsubscribed follows the last Publication of a subscription. The id is free
// again.
type Unsubscribed struct {
	ID uint64
	Failure
}

// Kind implements Frame.
func (*Unsubscribed) Kind() Kind { return KindUnsubscribed }

func (m *Unsubscribed) encode(e *encoder) {
	e.u64(m.ID)
	m.Failure.encode(e)
}

func (m *Unsubscribed) decode(d *decoder) {
	m.ID = d.u64()
	m.Failure.decode(d)
}
