// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package session

// Members asks who serves a cluster. It is answered by one MembersReply.
type Members struct {
	ID      uint64
	Timeout uint64 // µs; 0 = the default of the relay's node
	Cluster string
}

// Kind implements Frame.
func (*Members) Kind() Kind { return KindMembers }

func (m *Members) encode(e *encoder) {
	e.u64(m.ID)
	e.u64(m.Timeout)
	e.str("cluster", m.Cluster, MaxCluster)
}

func (m *Members) decode(d *decoder) {
	m.ID = d.u64()
	m.Timeout = d.u64()
	m.Cluster = d.str("cluster", MaxCluster)
}

// Member is one live member.
type Member struct {
	ID          string
	Peer        string
	Incarnation uint64
	Zone        string
	Capacity    uint32
	State       string
}

const memberMinSize = 2 + 2 + 8 + 2 + 4 + 2

// MembersReply lists them, in the order of their ids.
type MembersReply struct {
	ID uint64
	Failure
	Members []Member
}

// Kind implements Frame.
func (*MembersReply) Kind() Kind { return KindMembersReply }

func (m *MembersReply) encode(e *encoder) {
	e.u64(m.ID)
	m.Failure.encode(e)
	e.u32(uint32(len(m.Members)))
	for i := range m.Members {
		x := &m.Members[i]
		e.str("member", x.ID, MaxName)
		e.str("peer", x.Peer, MaxName)
		e.u64(x.Incarnation)
		e.str("zone", x.Zone, MaxName)
		e.u32(x.Capacity)
		e.str("state", x.State, MaxName)
	}
}

func (m *MembersReply) decode(d *decoder) {
	m.ID = d.u64()
	m.Failure.decode(d)
	n := int(d.u32())
	if n > len(d.b)/memberMinSize {
		d.fail("count of members")
		return
	}
	if n == 0 {
		return
	}
	m.Members = make([]Member, n)
	for i := range m.Members {
		x := &m.Members[i]
		x.ID = d.str("member", MaxName)
		x.Peer = d.str("peer", MaxName)
		x.Incarnation = d.u64()
		x.Zone = d.str("zone", MaxName)
		x.Capacity = d.u32()
		x.State = d.str("state", MaxName)
	}
}
