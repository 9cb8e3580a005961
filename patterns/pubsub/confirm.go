// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package pubsub

import (
	"context"
	"maps"
	"slices"
	"sync"

	"github.com/libp2p/go-libp2p/core/peer"

	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/overlay"
	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/patterns/pubsub/env"
	"github.com/arke-mesh/arke/patterns/pubsub/fanout"
)

// confirmations are the publications whose callers wait until other nodes have
// acknowledged them. Such a publication goes to each node directly, and a question
// (wire.PublishAsk) behind it on the same lane.
type confirmations struct {
	*env.Base

	mu  sync.Mutex
	all map[uint64]*confirmation // guarded by mu; by id
}

// confirmation is one of them.
type confirmation struct {
	asked []peer.ID     // guarded by confirmations.mu; have not answered
	took  int           // guarded by confirmations.mu; have answered
	lost  bool          // guarded by confirmations.mu; some may never answer
	done  chan struct{} // closed when nobody is asked any more
}

// confirm asks those that were sent the publication, and says how many took it. The error
// says that others may have it.
func (p *publication) confirm(ctx context.Context) (nodes int, err error) {
	t := p.e.confirms
	here := p.out.Took - len(p.out.Asked)
	if len(p.out.Asked) == 0 {
		return here, nil
	}
	ctx, cancel := overlay.WithTimeout(ctx, t.Cfg.Clock, "pubsub.confirm", env.DefaultTimeout)
	defer cancel()
	id, c := t.IDs.Add(1), &confirmation{done: make(chan struct{})}
	for _, r := range p.out.Asked {
		c.asked = append(c.asked, r.Peer)
	}
	t.mu.Lock()
	t.all[id] = c
	t.mu.Unlock()
	for _, r := range p.out.Asked {
		if !p.to.ask(r, wire.PublishAsk{ID: id}.AppendTo(nil)) {
			t.answered(id, r.Peer, false)
		}
	}
	select {
	case <-c.done:
	case <-ctx.Done():
	case <-t.Ctx.Done():
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.all, id)
	switch nodes = here + c.took; {
	case len(c.asked) == 0 && !c.lost:
		return nodes, nil
	case t.Ctx.Err() != nil:
		return nodes, patterns.ErrClosed
	case len(c.asked) > 0:
		return nodes, &patterns.DeadlineError{Cause: ctx.Err(), MaybeRan: true}
	}
	return nodes, patterns.ErrInterrupted
}

// ask has r asked behind what it was sent. It is false if r can't be reached.
func (p *publisher) ask(r *fanout.Receiver, question []byte) bool {
	p.lock()
	defer p.Unlock()
	return p.subscribers.Receivers[r.Peer] == r && p.Ask(r, question)
}

// answered takes in that a node took all, or can't be reached.
func (t *confirmations) answered(id uint64, p peer.ID, took bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if c := t.all[id]; c != nil {
		t.answerLocked(id, c, p, took)
	}
}

func (t *confirmations) answerLocked(id uint64, c *confirmation, p peer.ID, took bool) {
	i := slices.Index(c.asked, p)
	if i < 0 {
		return
	}
	c.asked = slices.Delete(c.asked, i, i+1)
	if took {
		c.took++
	} else {
		c.lost = true
	}
	if len(c.asked) == 0 {
		t.Cfg.Exec.Wake(overlay.ExecKey{Name: "pubsub.confirm", N: id}, func() { close(c.done) })
	}
}

// event takes in what happened to a link: nobody waits for a node that can't be reached.
func (t *confirmations) event(ev overlay.PeerEvent) {
	switch ev.Type {
	case overlay.LinkDown, overlay.LinkSuspect, overlay.DialFailed:
	default:
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, id := range slices.Sorted(maps.Keys(t.all)) {
		t.answerLocked(id, t.all[id], ev.Peer, false)
	}
}

// handleAsk answers that all is handled that came before.
func (e *Engine) handleAsk(l env.Link, m wire.PublishAsk, _ int) (kept bool) {
	_, _ = l.Send(overlay.LanePub, wire.KindPublishTook, m.AppendTo(nil)) // without room: the publisher does not know
	return false
}

func (e *Engine) handleTook(l env.Link, m wire.PublishAsk, _ int) (kept bool) {
	e.confirms.answered(m.ID, l.Peer(), true)
	return false
}
