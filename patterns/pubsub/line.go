// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package pubsub

import (
	"cmp"
	"sync"

	"github.com/libp2p/go-libp2p/core/peer"
)

// rank is the place of a message among all that its publisher sent to the root
// group. Each forwarder numbers what it passes on, but only this tells which of
// two messages was published first that came through different forwarders.
type rank struct {
	life   uint64 // incarnation of the publisher's node
	serial uint64 // counts its messages, from 1
}

func (r rank) after(o rank) bool {
	return cmp.Or(cmp.Compare(r.life, o.life), cmp.Compare(r.serial, o.serial)) > 0
}

// line is the order in which the root group's messages of one publisher are
// delivered here. What an earlier forwarder has kept for too long is late.
type line struct {
	mu     sync.Mutex
	newest rank  // guarded by mu; delivered
	last   int64 // guarded by mu
}

// line returns the publisher's, or nil if there are too many.
func (e *Engine) line(publisher peer.ID) *line {
	e.mu.Lock()
	defer e.mu.Unlock()
	l := e.lines[publisher]
	if l == nil && len(e.lines) < maxStreams && !e.closed {
		l = &line{last: e.now()}
		e.lines[publisher] = l
	}
	return l
}

// deliverRoot is deliver for the root group: never an older message after a
// newer one. The older one is among those that the later forwarder was told may
// be missing.
func (e *Engine) deliverRoot(in *incoming, subs []*subscription) []*subscription {
	l := e.line(in.publisher)
	if l == nil {
		e.drops.Inc(dropStreams)
		return subs
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.last = e.now()
	if !in.rank.after(l.newest) {
		e.drops.Inc(dropLate)
		return subs
	}
	l.newest = in.rank
	return e.deliver(&in.pub, true, in.echo, in.picks, subs)
}

// sweepLines forgets the publishers that have been silent for long.
func (e *Engine) sweepLines(now int64) {
	e.mu.Lock()
	all := make(map[peer.ID]*line, len(e.lines))
	for p, l := range e.lines {
		all[p] = l
	}
	e.mu.Unlock()
	for p, l := range all {
		l.mu.Lock()
		idle := now - l.last
		l.mu.Unlock()
		if idle > int64(streamTime) {
			e.mu.Lock()
			delete(e.lines, p)
			e.mu.Unlock()
		}
	}
}
