// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package p2p

import (
	"context"
	"math/rand/v2"
	"net"
	"runtime"
	"sync"
	"time"
)

// doorkeeper runs a door: the one of all listeners of a Host.
type doorkeeper struct {
	timeout  time.Duration
	counters *counters

	// Guarded by mu.
	mu     sync.Mutex
	core   *door
	closed bool
	guests map[uint64]*guest
	lastID uint64
	timer  *time.Timer // set while the core wants a tick
}

// guest is an accepted connection. It belongs to one goroutine; the channels are
// the doorkeeper's to write.
type guest struct {
	door *doorkeeper
	id   uint64
	conn net.Conn
	turn chan struct{} // has room for one: it may work
	away chan struct{} // closed when it is sent away
	by   time.Time     // when it must be through
}

func newDoorkeeper(cfg Config, c *counters) *doorkeeper {
	return &doorkeeper{
		timeout: cfg.HandshakeTimeout, counters: c, guests: make(map[uint64]*guest),
		core: newDoor(min(cfg.MaxWaiting, waitingLimit()), cfg.MaxHandshakes, runtime.GOMAXPROCS(0), rand.IntN),
	}
}

// enter takes in an accepted connection, which may be sent away from here on: it is
// closed then. It returns nil when the door is closed.
func (k *doorkeeper) enter(c net.Conn) *guest {
	k.mu.Lock()
	if k.closed {
		k.mu.Unlock()
		return nil
	}
	k.lastID++
	g := &guest{
		door: k, id: k.lastID, conn: c, by: time.Now().Add(k.timeout),
		turn: make(chan struct{}, 1), away: make(chan struct{}),
	}
	k.guests[g.id] = g
	sent := k.step(doorEvent{kind: doorArrived, id: g.id, source: sourceOf(c.RemoteAddr())})
	k.mu.Unlock()
	sendAway(sent)
	return g
}

// tell passes an event on to the core.
func (k *doorkeeper) tell(e doorEvent) {
	k.mu.Lock()
	sent := k.step(e)
	k.mu.Unlock()
	sendAway(sent)
}

// step needs mu. The caller closes the connections that it returns, without mu.
func (k *doorkeeper) step(e doorEvent) (sent []*guest) {
	if k.closed {
		return nil
	}
	now := time.Now()
	for _, a := range k.core.step(now, e) {
		g := k.guests[a.id]
		if !a.away {
			g.turn <- struct{}{}
			continue
		}
		k.counters.add(a.why)
		delete(k.guests, a.id)
		sent = append(sent, g)
	}
	if e.kind == doorGone {
		delete(k.guests, e.id)
	}
	k.wind(now)
	return sent
}

// wind has the core ticked when it wants it.
func (k *doorkeeper) wind(now time.Time) {
	if k.timer != nil {
		k.timer.Stop()
		k.timer = nil
	}
	if wake := k.core.wake(); !wake.IsZero() {
		k.timer = time.AfterFunc(wake.Sub(now), func() { k.tell(doorEvent{kind: doorTick}) })
	}
}

func sendAway(guests []*guest) {
	for _, g := range guests {
		close(g.away)
		_ = g.conn.Close()
	}
}

// close sends everybody away; nobody gets in any more.
func (k *doorkeeper) close() {
	k.mu.Lock()
	k.closed = true
	var sent []*guest
	for id, g := range k.guests {
		delete(k.guests, id)
		sent = append(sent, g)
	}
	if k.timer != nil {
		k.timer.Stop()
	}
	k.mu.Unlock()
	sendAway(sent)
}

// greeted notes that the greeting was good, and waits for a turn.
func (g *guest) greeted(ctx context.Context, mark uint64) error {
	g.door.tell(doorEvent{kind: doorGreeted, id: g.id, mark: mark})
	return g.wait(ctx)
}

// rest gives the turn back, and resume waits for another one.
func (g *guest) rest() { g.door.tell(doorEvent{kind: doorRests, id: g.id}) }

func (g *guest) resume(ctx context.Context) error {
	g.door.tell(doorEvent{kind: doorResumes, id: g.id})
	return g.wait(ctx)
}

func (g *guest) wait(ctx context.Context) error {
	select {
	case <-g.turn:
		return nil
	case <-g.away:
		return errSentAway
	case <-ctx.Done():
		return ctx.Err()
	}
}

// leave gives the place back: the connection is through, or closed.
func (g *guest) leave() { g.door.tell(doorEvent{kind: doorGone, id: g.id}) }
