// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package overlay

import (
	"time"

	"github.com/libp2p/go-libp2p/core/peer"
)

// Native is a node that this one has a session with, and that is no gateway's.
type Native struct {
	Peer peer.ID
	// Heard is when the last byte came from it.
	Heard time.Time
	// Suspect says that its connection is broken, or that it leaves heartbeats unanswered.
	// Only a link that somebody holds has any.
	Suspect bool

	link *Link
}

// Hold is described at Link.
func (n Native) Hold() (release func()) { return n.link.Hold() }

// Natives lists them, by peer id. A gateway that is cut off from a network may still hear
// the other gateways: they are where it is, and not in the network.
func Natives(o *Overlay) []Native {
	var all []Native
	for _, l := range o.links.sorted() {
		if n, ok := asNative(l); ok {
			all = append(all, n)
		}
	}
	return all
}

func asNative(l *Link) (Native, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.last.Load()
	if s == nil || !l.up() || l.known.gateway {
		return Native{}, false
	}
	return Native{Peer: l.peer, Heard: s.Heard(), Suspect: l.suspected.Load(), link: l}, true
}
