// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package history

import "time"

// Tunnel is one tunnel, from both its sides.
type Tunnel struct {
	ID       uint64 // unique in the run; the first 8 bytes of what it was opened with
	Work     string
	Caller   string // node
	Cluster  string
	Size     int           // bytes of a message
	Messages int           // that the caller wanted to send
	Sent     time.Duration // OpenTunnel was called
	Opened   time.Duration // it returned a tunnel; -1 = it did not
	Deadline time.Duration // when the caller gives it up
	Ended    time.Duration // the caller had nothing more to do with it; -1 = never
	// Outcome is done if both directions ended in good order; otherwise how
	// the caller's side ended: reset, interrupted, deadline, closed, other; or
	// why it could not be opened, in the words of requests.
	Outcome string
	Detail  string // text of an outcome "other"
	Member  string // to which it was opened
	Lost    bool   // the caller's own node was stopped, killed, lost or paused meanwhile
	Own     bool   // the handler is the program's own: what it sent and received is not recorded

	Served []Serving // handlers that had it; one is right

	Forth, Back Flow // to the member, and back to the caller
}

// Serving is one run of the handler of a tunnel.
type Serving struct {
	Tenure int // index into History.Tenures
	Began  time.Duration
	Ended  time.Duration // -1 = it did not return
	Clean  bool          // it read to the end and closed in good order
	Peer   string        // who it was told has opened it
}

// Carried is what the tunnels of one work delivered in a tenth of a second, in
// bytes of whole messages.
type Carried struct {
	At          time.Duration // when it began
	Work        string
	Forth, Back int64 // to members, and to callers
}

// CarriedEvery is the length of what one Carried sums up.
const CarriedEvery = 100 * time.Millisecond

// Flow is one direction of a tunnel. Message n of a tunnel's direction is known
// by its content.
type Flow struct {
	Tried    int  // messages whose sending was begun
	Sent     int  // messages whose sending succeeded
	Closed   bool // after them the sender ended the direction in good order
	Received int  // messages that the receiver got
	Wrong    int  // how many of them were not the next one that had been sent
	End      bool // the receiver was told of the good end
	// Ahead is by how many bytes the sender was ahead of the receiver at most:
	// handed on and not yet received.
	Ahead int64
}
