// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package session

// Push sends to one member of a cluster, whose handler has no reply. It has the
// fields of a Request, and is answered by one Reply, without a body, when the
// member's queue has it.
type Push struct{ Request }

// Kind implements Frame.
func (*Push) Kind() Kind { return KindPush }

// Broadcast sends to every member of a cluster. It is answered by one
// BroadcastReply.
type Broadcast struct {
	ID      uint64 // as of a Request
	Timeout uint64 // µs; 0 = the default of the relay's node
	Cluster string
	Headers []Header
	Body    []byte
}

// Kind implements Frame.
func (*Broadcast) Kind() Kind { return KindBroadcast }

func (m *Broadcast) encode(e *encoder) {
	e.u64(m.ID)
	e.u64(m.Timeout)
	e.str("cluster", m.Cluster, MaxCluster)
	e.headers(m.Headers)
	e.rest(m.Body)
}

func (m *Broadcast) decode(d *decoder) {
	m.ID = d.u64()
	m.Timeout = d.u64()
	m.Cluster = d.str("cluster", MaxCluster)
	m.Headers = d.headers()
	m.Body = d.rest()
}

// BroadcastReply says how far a Broadcast came.
type BroadcastReply struct {
	ID uint64
	Failure
	Members  uint32 // that have it in their queues
	Nodes    uint32 // on which these are
	Complete bool   // everybody has it, and the list of members was whole
	Missing  []Missing
}

// Kind implements Frame.
func (*BroadcastReply) Kind() Kind { return KindBroadcastReply }

func (m *BroadcastReply) encode(e *encoder) {
	e.u64(m.ID)
	m.Failure.encode(e)
	e.u32(m.Members)
	e.u32(m.Nodes)
	e.flag(m.Complete)
	e.missing(m.Missing)
}

func (m *BroadcastReply) decode(d *decoder) {
	m.ID = d.u64()
	m.Failure.decode(d)
	m.Members = d.u32()
	m.Nodes = d.u32()
	m.Complete = d.flag("complete")
	m.Missing = d.missing()
}
