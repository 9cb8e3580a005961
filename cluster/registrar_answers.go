// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"fmt"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"

	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/security"
)

// farewell is an Unregister that found the lane full.
type farewell struct {
	to      peer.ID
	session uint64
	msg     *unregisterMsg
	at      time.Time
}

const farewellRetry = 250 * time.Millisecond

// registered takes in an anchor's answer.
func (r *registrar) registered(now time.Time, from peer.ID, m *registeredMsg) {
	e := r.enrolled[enrolmentKey{m.cid, m.member}]
	if e == nil {
		return
	}
	a := e.at(from)
	if a == nil || m.seq != a.seq || a.state == attachIdle {
		return
	}
	if m.refusal != wire.Refusal_NONE {
		r.refused.add("register_" + refusalName(m.refusal))
	}
	a.answered(now, m.refusal, r.dice)
	r.advance(now, e)
	r.settle(now, e.member)
}

// attached says whether the lease is, or is to be, at p.
func (r *registrar) attached(cid security.ClusterID, m MemberID, p peer.ID) bool {
	e := r.enrolled[enrolmentKey{cid, m}]
	return e != nil && e.at(p) != nil
}

// settle ends the Register call once a majority of the anchors has
// acknowledged under every valid id, or all have refused. Of a node that may be
// joining its own word is not enough: those who are asked by others do not know
// of the member yet.
func (r *registrar) settle(now time.Time, g *registration) {
	if g.acknowledged {
		return
	}
	done := true
	for _, e := range g.enrolments {
		held, refused, asked, reason := e.tally(r.reach)
		if asked > 0 && refused == asked {
			g.acknowledged = true
			err := fmt.Errorf("%w: %s", ErrRefused, refusalName(reason))
			r.out.add(registeredAction{g.name, g.record.member, err})
			r.remove(now, g.name, g.record.member)
			return
		}
		done = done && asked > 0 && held >= majority(asked)
		if done && now.Before(r.alone) && !e.heldElsewhere(r.self) {
			done = false
			r.alarm.plan(r.alone)
		}
	}
	if done {
		g.acknowledged = true
		r.out.add(registeredAction{g.name, g.record.member, nil})
	}
}

// sendFailed takes in that a message never left. Register is sent again
// anyway; an Unregister that found the lane full must not be forgotten, or the
// lease would live as long as the link.
func (r *registrar) sendFailed(now time.Time, to peer.ID, m message) {
	u, ok := m.(*unregisterMsg)
	session := r.reach.session(to)
	if !ok || session == 0 {
		return
	}
	f := farewell{to, session, u, now.Add(farewellRetry)}
	r.farewells = append(r.farewells, f)
	r.alarm.plan(f.at)
}
