// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package adversary

import (
	"github.com/libp2p/go-libp2p/core/peer"

	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/overlay"
)

// tactic is one way to do harm: it decides what becomes of frames, and which ones
// are invented. It has no goroutine, no lock and no stream; Adversary.mu is held
// during each call. What it is given is only valid meanwhile.
type tactic interface {
	// out is what goes out in the place of a numbered frame of the node's: the
	// first one in its lane, or nothing.
	out(to peer.ID, f frame) []frame
	// in says whether the node hears a frame.
	in(from peer.ID, f frame) bool
	// beat is what the tactic does of its own accord.
	beat() plan
	// gone says that a session with a peer is over.
	gone(p peer.ID)
}

// plan is what a tactic wants to do now.
type plan struct {
	letters []letter
	opens   []peer.ID // to whom a stream is opened, and nothing said
}

// letter is a frame that is invented.
type letter struct {
	to peer.ID
	frame
}

func (p *plan) send(to peer.ID, f frame) { p.letters = append(p.letters, letter{to, f}) }

// wits are what a tactic knows of the world. Adversary.mu is held during each call.
type wits struct {
	Config
	self  peer.ID
	rand  overlay.RandStream
	order func(mode string) (Order, bool)
	peers func() []peer.ID
}

// onlooker does nothing.
type onlooker struct{}

func (onlooker) out(_ peer.ID, f frame) []frame { return []frame{f} }
func (onlooker) in(peer.ID, frame) bool         { return true }
func (onlooker) beat() plan                     { return plan{} }
func (onlooker) gone(peer.ID)                   {}

func newTactics(w *wits) []tactic {
	return []tactic{
		&lyingAnchor{wits: w, told: make(map[watch]*account)},
		&forger{wits: w, voices: make(map[voice]*heard)},
		&tamperer{wits: w, passed: make(map[passage]wire.Messages)},
		&hoarder{wits: w, hoards: make(map[peer.ID]*hoard)},
		&smuggler{wits: w, asked: make(map[asked]*question)},
	}
}
