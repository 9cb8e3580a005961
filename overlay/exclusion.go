// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package overlay

import (
	"sync"
	"sync/atomic"

	"github.com/libp2p/go-libp2p/core/peer"
	"go.uber.org/zap"
)

// exclusion knows the peers that this node has nothing to do with. Methods may be
// called concurrently.
type exclusion struct {
	o     *Overlay
	any   atomic.Bool
	peers sync.Map // of peer.ID
}

func (e *exclusion) excludes(p peer.ID) bool {
	if !e.any.Load() {
		return false
	}
	_, out := e.peers.Load(p)
	return out
}

// Exclude ends the link to p at once, with ErrExcluded, and refuses p from now on:
// it is not dialled, and no stream of its is taken. Nothing happens if p is
// this node. It does not block.
func (e *exclusion) Exclude(p peer.ID) {
	if p == e.o.self {
		return
	}
	e.any.Store(true)
	if _, before := e.peers.Swap(p, struct{}{}); before {
		return
	}
	cutOff(e.o.links.get(p), ErrExcluded, codeExcluded)
	e.o.transport.Disconnect(p)
}

// Readmit takes Exclude back.
func (e *exclusion) Readmit(p peer.ID) { e.peers.Delete(p) }

// bars returns why no session with p may begin, or go on, if so.
func (e *exclusion) bars(p peer.ID) error {
	switch {
	case e.o.leaving():
		return ErrClosed
	case e.excludes(p):
		return ErrExcluded
	}
	return nil
}

// routes says whether p takes part in routing: whether a link to it would be let stand,
// by the certificate that a connection has shown, or by a newer one that came on the link
// since.
func (e *exclusion) routes(p peer.ID, certificate []byte) bool {
	if e.excludes(p) {
		return false
	}
	if _, err := e.o.cfg.Admission.Valid(p, certificate); err == nil {
		return true
	}
	l := e.o.links.known(p)
	if l == nil {
		return false
	}
	l.mu.Lock()
	shown := l.known.certificate
	l.unlock()
	_, err := e.o.cfg.Admission.Valid(p, shown)
	return len(shown) > 0 && err == nil
}

// reviewRoutes has the transport look again at who takes part in routing, and show the
// certificate that this node has now.
func (e *exclusion) reviewRoutes() {
	if below, ok := e.o.transport.(Reviewer); ok {
		if err := below.Review(); err != nil {
			e.o.log.Error("connections can't show the node's certificate", zap.Error(err))
		}
	}
}

// cutOff ends what there is with the peer; without mu.
func cutOff(l *Link, cause error, code uint32) {
	l.mu.Lock()
	defer l.unlock()
	for _, s := range l.callers {
		l.after.Add(func() { s.Reset(code) })
	}
	switch s := l.last.Load(); {
	case !l.up():
		l.do(decision{stop: true})
	case s.Attached():
		l.after.Add(func() { s.Break(cause, code) }) // lost ends the session
	default:
		l.do(giveUp(cause))
	}
}
