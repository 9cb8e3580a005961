// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package overlay

import (
	"sync"

	"github.com/libp2p/go-libp2p/core/peer"
)

// PeerEventType says what happened to a link.
type PeerEventType uint8

// The types of PeerEvent.
const (
	LinkUp        PeerEventType = iota + 1 // a session began
	LinkDown                               // a session ended; Err is the cause
	LinkSuspect                            // the connection broke, or the peer does not answer heartbeats
	LinkRecovered                          // the session goes on, the peer was heard again
	DialFailed                             // an Open did not lead to a session; Err is the cause
)

// String returns the type's name as used in logs.
func (t PeerEventType) String() string {
	if int(t) >= len(eventNames) {
		t = 0
	}
	return eventNames[t]
}

var eventNames = [...]string{"unknown", "up", "down", "suspect", "recovered", "dial failed"}

// PeerEvent is a change of one link. For each link LinkUp and LinkDown
// alternate, and no frame of a session is handled before its LinkUp or after
// its LinkDown has been delivered.
type PeerEvent struct {
	Type PeerEventType
	Peer peer.ID
	Link *Link
	// Session is the session that began, ended, or is in doubt; 0 for
	// DialFailed.
	Session uint64
	// Addr is the multiaddr of the peer that the last connection shows, whatever the
	// peer says; empty before the first.
	Addr string
	// Err is the cause of LinkDown and DialFailed, otherwise nil.
	Err error
}

// announcer hands the events of one link to the subscribers, in order.
type announcer struct {
	mu     sync.Mutex
	events []PeerEvent // guarded by mu

	delivering sync.Mutex // held while events are delivered, so that their order stays
}

func (a *announcer) add(e PeerEvent) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.events = append(a.events, e)
}

func (a *announcer) waiting() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.events) > 0
}

// deliver hands on what is queued. When it returns, those events that were queued
// before the call have been delivered.
func (a *announcer) deliver(publish func(PeerEvent)) {
	a.delivering.Lock()
	defer a.delivering.Unlock()
	for a.waiting() {
		a.mu.Lock()
		e := a.events[0]
		a.events = a.events[1:]
		a.mu.Unlock()
		publish(e)
	}
}
