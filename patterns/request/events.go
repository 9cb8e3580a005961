// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package request

import (
	"github.com/libp2p/go-libp2p/core/peer"

	"github.com/arke-mesh/arke/overlay"
)

// handlePeerEvent takes in what happened to a link. It looks at every attempt
// under way, which is cheap beside what such an event means.
func (e *Engine) handlePeerEvent(ev overlay.PeerEvent) {
	switch ev.Type {
	case overlay.LinkUp:
		for _, a := range e.pending.collect(false, func(a *attempt) bool { return a.connectingTo(ev.Peer) }) {
			e.up(a)
		}
	case overlay.DialFailed:
		e.failAll(failedUnreached, func(a *attempt) bool { return a.connectingTo(ev.Peer) })
	case overlay.LinkDown:
		e.failAll(failedLink, func(a *attempt) bool {
			return a.session == ev.Session && a.remote.id == ev.Peer
		})
		if r, ok := e.remotes.find(ev.Peer); ok {
			e.orphan(r)
			e.putRemote(r, e.now())
		}
	case overlay.LinkSuspect:
		for _, a := range e.pending.collect(false, func(a *attempt) bool {
			return a.call.idempotent && a.session != 0 && a.remote.id == ev.Peer
		}) {
			e.doubt(a)
		}
	case overlay.LinkRecovered: // whoever replies first gives the outcome anyway
	}
}

func (a *attempt) connectingTo(p peer.ID) bool { return a.connecting && a.remote.id == p }

// failAll ends the attempts that f agrees to.
func (e *Engine) failAll(f failure, match func(*attempt) bool) {
	for _, a := range e.pending.collect(true, match) {
		e.post(a, event{what: eventFailed, failure: f, attempt: a})
	}
}
