// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package p2p

import (
	"sync"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"
	ma "github.com/multiformats/go-multiaddr"
)

// Bounds of learned.
const (
	learnedFor = 5 * time.Minute
	maxLearned = 1024
)

// learned remembers for a while which peer a probe has found at an address, so that
// a seed whose node called by itself is not probed each time. It counts only while
// that peer is connected.
type learned struct {
	// Guarded by mu.
	mu sync.Mutex
	at map[string]sighting // by the address's bytes
}

type sighting struct {
	peer peer.ID
	when time.Time
}

func newLearned() *learned { return &learned{at: make(map[string]sighting)} }

// put notes what a probe has found; empty = nothing.
func (l *learned) put(addr ma.Multiaddr, p peer.ID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if p == "" {
		delete(l.at, string(addr.Bytes()))
		return
	}
	if len(l.at) >= maxLearned {
		clear(l.at) // they are only there to save dials
	}
	l.at[string(addr.Bytes())] = sighting{p, time.Now()}
}

func (l *learned) get(addr ma.Multiaddr) peer.ID {
	l.mu.Lock()
	defer l.mu.Unlock()
	s, ok := l.at[string(addr.Bytes())]
	if !ok || time.Since(s.when) > learnedFor {
		return ""
	}
	return s.peer
}
