// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package request

import "sync"

// eventType says what happened to a request under way.
type eventType uint8

const (
	eventReply    eventType = iota + 1 // attempt.reply is there
	eventUp                            // the link that the attempt waits for stands
	eventSent                          // the attempt that stood in line for its lane has left it
	eventFailed                        // the attempt ended by event.failure
	eventDoubt                         // its member does not answer heartbeats
	eventTimer                         // the call's timer of that number
	eventDeadline                      // time is over
	eventClosed                        // this node closes
)

// event is one thing a waiting caller has to look at.
type event struct {
	what    eventType
	failure failure
	timer   int32
	attempt *attempt
	call    *call // of the timer
}

// mailbox hands events to the one goroutine that waits for a request, or for
// those to all members. It has no bound of its own: an attempt ends once and is
// doubted once, attempts are few, and timers are one at a time.
type mailbox struct {
	ready chan struct{} // has an element if there may be events

	mu     sync.Mutex
	events []event  // guarded by mu
	next   int      // in events; guarded by mu
	room   [2]event // behind events, enough for most requests
}

func (b *mailbox) init() {
	b.ready = make(chan struct{}, 1)
	b.events = b.room[:0]
}

// put never blocks.
func (b *mailbox) put(e event) {
	b.mu.Lock()
	b.events = append(b.events, e)
	b.mu.Unlock()
	select {
	case b.ready <- struct{}{}:
	default:
	}
}

// take returns the oldest event.
func (b *mailbox) take() (e event, ok bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.next == len(b.events) {
		return event{}, false
	}
	e = b.events[b.next]
	b.events[b.next] = event{}
	if b.next++; b.next == len(b.events) {
		b.events, b.next = b.events[:0], 0
	}
	return e, true
}
