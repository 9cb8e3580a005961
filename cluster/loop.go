// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"time"

	"github.com/libp2p/go-libp2p/core/peer"
	"go.uber.org/zap"

	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/overlay"
)

// A change of the routing table waits for others: when a node finds the
// network, its table changes for every peer it meets. It waits longer the more
// ids have to be looked at, so that looking takes a small part of the time.
const (
	tableDelay     = 20 * time.Millisecond
	tableDelayEach = 200 * time.Microsecond
)

// loop is the goroutine that owns the cores.
type loop struct {
	c       *Clusters
	control *control
	log     *zap.Logger

	// Owned by run.
	holds   map[peer.ID]func()
	later   []event // how sending went
	timer   overlay.Timer
	timerAt time.Time

	ring chan struct{} // has room for one: something waits in the inbox, or it is time
}

// listen has everything that happens put into the inbox. Before Start.
func (l *loop) listen(n Network) {
	in := l.c.inbox
	for _, k := range []wire.Kind{
		wire.KindRegister, wire.KindRegistered, wire.KindUnregister, wire.KindWatch,
		wire.KindUnwatch, wire.KindSnapshot, wire.KindDelta, wire.KindHint,
	} {
		n.Handle(k, func(from peer.ID, body []byte) {
			m, err := decode(k, body)
			if err != nil {
				in.drop("malformed")
				return
			}
			in.put(frameEvent{from, m, len(body)})
		})
	}
	n.Subscribe(func(e PeerEvent) { in.put(linkEvent{e}) })
	n.OnChange(func() { l.c.tableChanged() })
}

// wake makes run look at the inbox.
func (l *loop) wake() {
	l.c.seam.Exec.Wake(overlay.ExecKey{Name: "cluster.loop"}, l.nudge)
}

func (l *loop) nudge() {
	select {
	case l.ring <- struct{}{}:
	default: // it will look anyway
	}
}

// run is the control loop. It ends when quit is closed.
func (l *loop) run(quit <-chan struct{}) {
	defer l.end()
	for {
		select {
		case <-quit:
			return
		case <-l.ring:
		}
		l.turn()
	}
}

// turn takes in all that waits and does what follows from it.
func (l *loop) turn() {
	now := l.c.seam.Clock.Now()
	for _, e := range l.c.inbox.take() {
		l.control.step(now, e)
	}
	for {
		for _, a := range l.control.finish(now) {
			l.perform(a)
		}
		if len(l.later) == 0 {
			break
		}
		events := l.later
		l.later = nil
		for _, e := range events {
			l.control.step(now, e)
		}
	}
	l.c.publishStatus(l.control)
	l.c.rings.Store(int64(len(l.control.finder.rings)))
	l.arm(now)
}

// arm sets the timer for what the cores have planned next. An earlier one that
// is no longer needed may fire: that costs one empty turn.
func (l *loop) arm(now time.Time) {
	next := l.control.next()
	if next.IsZero() || (!l.timerAt.IsZero() && l.timerAt.After(now) && !next.Before(l.timerAt)) {
		return
	}
	if l.timer != nil {
		l.timer.Stop()
	}
	l.timerAt = next
	l.timer = l.c.seam.Clock.AfterFunc("cluster.loop", max(next.Sub(now), 0), l.nudge)
}

// perform does one action.
func (l *loop) perform(a action) {
	switch a := a.(type) {
	case sendAction:
		l.send(a)
	case openAction:
		l.c.cfg.Overlay.Open(a.to, a.addrs)
	case holdAction:
		if a.on {
			l.holds[a.peer] = l.c.cfg.Overlay.Hold(a.peer)
		} else {
			l.holds[a.peer]()
			delete(l.holds, a.peer)
		}
	case lookupAction:
		l.c.lookups.add(a.cid)
	case publishAction:
		l.c.publish(a.name, a.view)
	case registeredAction:
		l.c.registered(a)
	case expireAction:
		l.c.expire(a.name)
	}
}

func (l *loop) send(a sendAction) {
	body, err := encode(a.msg)
	if err != nil {
		l.log.Error("control message can't be encoded", zap.Uint8("kind", uint8(a.msg.kind())), zap.Error(err))
		return
	}
	session, err := l.c.cfg.Overlay.Send(a.to, a.msg.kind(), body)
	switch {
	case err != nil:
		l.later = append(l.later, unsentEvent(a))
	case session != l.control.reach.session(a.to):
		l.later = append(l.later, sentEvent{a.to, a.msg, session})
	}
}

// end lets go of everything.
func (l *loop) end() {
	if l.timer != nil {
		l.timer.Stop()
	}
	for _, release := range l.holds {
		release()
	}
}
