// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package pubsub

import (
	"context"

	"github.com/libp2p/go-libp2p/core/peer"

	"github.com/arke-mesh/arke/overlay"
)

// armSweep has what is kept looked through from time to time while there is
// something.
func (e *Engine) armSweep() {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.sweeping == nil && !e.closed {
		e.sweeping = e.after("pubsub.sweep", sweepTime, e.sweep)
	}
}

// sweep forgets what nobody has used for long.
func (e *Engine) sweep() {
	e.mu.Lock()
	e.sweeping = nil
	e.mu.Unlock()
	now := e.now()
	e.sweepCourses(now)
	e.forgetStreams(int64(streamTime))
	e.sweepLines(now)
	e.sweepLegs(now)
	e.sweepUpward(now)
	e.sweepPipes(now)
	e.acknowledgeAll()
	e.mu.Lock()
	left := len(e.courses)+len(e.streams)+len(e.lines)+len(e.legs)+len(e.pipes)+len(e.inlets) > 0 || e.upward != nil
	e.mu.Unlock()
	if left {
		e.armSweep()
	}
}

func (e *Engine) sweepCourses(now int64) {
	for _, c := range e.allCourses() {
		owing := c.tidy(now)
		e.mu.Lock()
		idle := now - c.last
		out := c.users == 0 && (idle > int64(ghostTime) || idle > int64(idleTime) && !owing)
		if out {
			delete(e.courses, c.name)
		}
		e.mu.Unlock()
		if out {
			c.watch.Release()
		}
	}
}

// forgetStreams forgets the publishers that have been silent for so long.
func (e *Engine) forgetStreams(silent int64) {
	now := e.now()
	e.mu.Lock()
	all := make([]*stream, 0, len(e.streams))
	for _, s := range e.streams {
		all = append(all, s)
	}
	e.mu.Unlock()
	for _, s := range all {
		if s.idle(now, silent) {
			e.mu.Lock()
			delete(e.streams, s.key)
			e.mu.Unlock()
			s.end()
		}
	}
}

func (e *Engine) sweepLegs(now int64) {
	for _, g := range e.allLegs() {
		g.mu.Lock()
		idle := now - g.last
		g.mu.Unlock()
		e.mu.Lock()
		k := legKey{g.source, g.session}
		of := e.legs[k]
		switch {
		case of == nil:
		case of.before == g && idle > int64(idleTime):
			of.before = nil
		case of.newest == g && idle > int64(streamTime):
			delete(e.legs, k)
		}
		e.mu.Unlock()
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	for k, of := range e.legs {
		if of.newest == nil && now-of.told > int64(streamTime) { // the rest of the path never came
			delete(e.legs, k)
		}
	}
}

func (e *Engine) sweepUpward(now int64) {
	e.mu.Lock()
	u := e.upward
	if u == nil || now-u.last < int64(idleTime) {
		e.mu.Unlock()
		return
	}
	e.upward = nil
	e.mu.Unlock()
	u.watch.Release()
}

func (e *Engine) sweepPipes(now int64) {
	e.mu.Lock()
	all := make([]*pipe, 0, len(e.pipes))
	for _, q := range e.pipes {
		all = append(all, q)
	}
	e.mu.Unlock()
	for _, q := range all {
		if q.rest(now) {
			e.mu.Lock()
			if e.pipes[q.peer] == q {
				delete(e.pipes, q.peer)
			}
			e.mu.Unlock()
			q.end()
		}
	}
}

// Drain withdraws this node's leases, waits a moment for what is under way, and
// ends the subscriptions: what they have is delivered until ctx ends.
// Publishing still works, as subscribers may need it.
func (e *Engine) Drain(ctx context.Context) error {
	e.mu.Lock()
	groups := sorted(e.groups, func(g *group) string { return g.name })
	subs := sorted(e.subs, func(s *subscription) uint64 { return s.id })
	e.mu.Unlock()
	for _, g := range groups {
		g.withdraw()
	}
	if len(subs) > 0 {
		overlay.Sleep(ctx, e.cfg.Clock, "pubsub.sleep", lingerTime)
	}
	e.acknowledgeAll() // so that nobody calls to send it again
	var err error
	for _, s := range subs {
		if e := s.Close(ctx); e != nil {
			err = e
		}
	}
	return err
}

// Close ends everything at once and waits. It is idempotent.
func (e *Engine) Close() error {
	e.mu.Lock()
	first := !e.closed
	e.closed = true
	sweeping := e.sweeping
	e.mu.Unlock()
	if !first {
		e.wg.Wait()
		return nil
	}
	if sweeping != nil {
		sweeping.Stop()
	}
	e.cancel()
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	e.mu.Lock()
	subs := sorted(e.subs, func(s *subscription) uint64 { return s.id })
	e.mu.Unlock()
	for _, s := range subs {
		_ = s.inbox.Close(ended)
	}
	e.release()
	e.inboxes.Close()
	e.wg.Wait()
	return nil
}

// release ends timers, holds and watches.
func (e *Engine) release() {
	e.mu.Lock()
	streams, pipes, courses, upward := e.streams, e.pipes, e.courses, e.upward
	root := e.groups[rootGroup]
	e.streams, e.pipes, e.courses, e.upward = map[streamKey]*stream{}, map[peer.ID]*pipe{}, map[string]*course{}, nil
	e.inlets = map[peer.ID]*inlet{}
	e.mu.Unlock()
	for _, s := range streams {
		s.end()
	}
	for _, q := range pipes {
		q.end()
	}
	for _, c := range courses {
		c.watch.Release()
	}
	if upward != nil {
		upward.watch.Release()
	}
	if root != nil {
		root.forward.stop()
	}
}
