// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package session

// Missing is a member that a Survey or Broadcast did not reach, or that did
// not answer in time.
type Missing struct {
	Member string
	Peer   string
	Failure
}

const missingMinSize = 2 + 2 + 1 + 1 + 4 + 2

func (e *encoder) missing(list []Missing) {
	e.u32(uint32(len(list)))
	for i := range list {
		e.str("member", list[i].Member, MaxName)
		e.str("peer", list[i].Peer, MaxName)
		list[i].Failure.encode(e)
	}
}

func (d *decoder) missing() []Missing {
	n := int(d.u32())
	if n > len(d.b)/missingMinSize {
		d.fail("count of missing members")
		return nil
	}
	if n == 0 {
		return nil
	}
	list := make([]Missing, n)
	for i := range list {
		list[i].Member = d.str("member", MaxName)
		list[i].Peer = d.str("peer", MaxName)
		list[i].Failure.decode(d)
	}
	return list
}
