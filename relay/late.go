// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package relay

import "sync"

// late bounds the answers to one client that stand in line for room in a lane.
// The zero value is ready.
type late struct {
	mu    sync.Mutex
	count int
	bytes int
}

// What becomes of an answer that finds no room.
type lateFate uint8

const (
	lateWaits lateFate = iota
	lateLost           // its place is counted, but its bytes are too many
	lateFlood          // so many wait already that the client can't be reading
)

// take takes a place for an answer of size bytes.
func (l *late) take(size int, limits *Limits) lateFate {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.count >= 2*limits.Requests {
		return lateFlood
	}
	fate := lateWaits
	if size > smallAnswer && (l.count >= limits.Requests || l.bytes > 0 && l.bytes+size > limits.RequestBytes) {
		fate, size = lateLost, 0
	}
	l.count++
	l.bytes += size
	return fate
}

// smallAnswer is what is not worth replacing, in bytes.
const smallAnswer = 1 << 10

func (l *late) done(size int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.count--
	l.bytes -= size
}
