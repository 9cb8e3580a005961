// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"github.com/libp2p/go-libp2p/core/peer"
)

// stray is a Register or Watch that left in a later session of its link than
// the cores know of: they will hear that the link went down and came up again,
// and forget that they sent it.
type stray struct {
	to      peer.ID
	session uint64
	msg     message
}

// sent takes in which session a message left in.
func (c *control) sent(to peer.ID, m message, session uint64) {
	if session == c.reach.session(to) {
		return
	}
	switch m.(type) {
	case *registerMsg, *watchMsg:
		c.strays = append(c.strays, stray{to, session, m})
	}
}

// recall takes back the strays of the session that began, as far as the cores
// want them no longer.
func (c *control) recall(p peer.ID, session uint64) {
	strays := c.strays
	c.strays = nil
	for _, s := range strays {
		if s.to != p {
			c.strays = append(c.strays, s)
			continue
		}
		if s.session != session {
			continue // ended with its session
		}
		switch m := s.msg.(type) {
		case *registerMsg:
			if !c.registrar.attached(m.cid, m.member, p) {
				c.out.send(p, &unregisterMsg{m.cid, m.member})
			}
		case *watchMsg:
			if !c.lookout.attached(m.cid, p) {
				c.out.send(p, &unwatchMsg{m.cid})
			}
		}
	}
}
