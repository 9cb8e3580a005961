// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"time"

	"github.com/libp2p/go-libp2p/core/peer"

	"github.com/arke-mesh/arke/security"
)

// event is something that happened; control takes them in one at a time.
type event interface {
	apply(c *control, now time.Time)
}

type (
	// frameEvent: a control message came.
	frameEvent struct {
		from peer.ID
		msg  message
		size int // of its body, in bytes
	}
	// linkEvent: a link changed.
	linkEvent struct{ PeerEvent }
	// tableEvent: the routing table changed.
	tableEvent struct{}
	// lookedUpEvent: a lookup ended.
	lookedUpEvent struct {
		cid   security.ClusterID
		peers []peer.ID
	}
	// unsentEvent: a message never left.
	unsentEvent struct {
		to  peer.ID
		msg message
	}
	// sentEvent: a message left in that session of the link.
	sentEvent struct {
		to      peer.ID
		msg     message
		session uint64
	}
	// registerEvent and unregisterEvent: a local member comes or goes.
	registerEvent struct {
		name string
		what Registration
	}
	doubtEvent struct {
		name   string
		member MemberID
		on     bool
	}
	unregisterEvent struct {
		name   string
		member MemberID
	}
	// watchEvent, idleEvent and forgetEvent: a cluster is watched, nobody is
	// interested until then unless it is heard otherwise, it is forgotten.
	watchEvent struct {
		name string
		pool *pool
	}
	idleEvent struct {
		name  string
		until time.Time
	}
	forgetEvent struct{ name string }
)

func (e frameEvent) apply(c *control, now time.Time) { c.receive(now, e.from, e.msg) }

func (e linkEvent) apply(c *control, now time.Time) { c.link(now, e.PeerEvent) }

func (e tableEvent) apply(c *control, now time.Time) { c.finder.tableChanged(now) }

func (e lookedUpEvent) apply(c *control, now time.Time) { c.finder.lookedUp(now, e.cid, e.peers) }

func (e unsentEvent) apply(c *control, now time.Time) {
	c.anchor.sendFailed(now, e.to, e.msg)
	c.registrar.sendFailed(now, e.to, e.msg)
}

func (e sentEvent) apply(c *control, _ time.Time) { c.sent(e.to, e.msg, e.session) }

func (e registerEvent) apply(c *control, now time.Time) {
	if err := c.registrar.add(now, e.name, e.what); err != nil {
		c.out.add(registeredAction{e.name, e.what.Member, err})
	}
}

func (e doubtEvent) apply(c *control, now time.Time) {
	c.registrar.doubt(now, e.name, e.member, e.on)
}

func (e unregisterEvent) apply(c *control, now time.Time) {
	c.registrar.remove(now, e.name, e.member)
}

func (e watchEvent) apply(c *control, now time.Time) { c.lookout.start(now, e.name, e.pool) }

func (e idleEvent) apply(c *control, _ time.Time) { c.lookout.idle(e.name, e.until) }

func (e forgetEvent) apply(c *control, now time.Time) { c.lookout.stop(now, e.name) }
