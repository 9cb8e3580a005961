// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package client

import "github.com/arke-mesh/arke/internal/wire/session"

const (
	// firstWindow is what a tunnel gives at first: the largest chunk fits even
	// while some credit is kept back.
	firstWindow = 80 << 10
	// maxWindow is more than a reader on the same machine leaves unread.
	maxWindow = 1 << 20
	// keepBack is how much credit is kept back while there is more to read:
	// one frame for several chunks.
	keepBack = firstWindow / 4
	// keepIdle is how much is kept back when all is read: the other side must
	// not starve on the credit of its node, which may be small.
	keepIdle = 1 << 10
)

// inlet decides when the relay gets credit, and how much. What it has given
// bounds what waits to be received. It decides only; whoever owns it serialises
// the calls.
type inlet struct {
	window int // what may be unread
	given  int // what may still come
	streak int // read by a program that keeps up since the window grew
	owed   int // credit that is kept back
	read   int // bytes of it
	due    int // credit that is to be told
	told   int // bytes of it
}

func newInlet() inlet { return inlet{window: firstWindow, given: firstWindow} }

// open gives the first credit in a frame of its own.
func (i *inlet) open() { i.due = i.window }

// came takes a chunk. False: there was no credit for it.
func (i *inlet) came(n int) bool {
	i.given -= session.ChunkCost(n)
	return i.given >= 0
}

// consumed takes a chunk that the program has read; all says that none waits.
// It says whether there is credit to tell.
func (i *inlet) consumed(n int, all bool) bool {
	cost := session.ChunkCost(n)
	i.owed += cost
	i.read += n
	i.streak += cost
	if !all {
		i.streak = 0
	}
	if i.streak >= i.window && i.window < maxWindow {
		grow := min(i.window, maxWindow-i.window)
		i.window += grow
		i.owed += grow
		i.streak = 0
	}
	if i.owed < keepBack && (!all || i.owed < keepIdle) {
		return false
	}
	i.given += i.owed
	i.due += i.owed
	i.told += i.read
	i.owed, i.read = 0, 0
	return true
}

// take returns what is to be told.
func (i *inlet) take() (credit, read int) {
	credit, read = i.due, i.told
	i.due, i.told = 0, 0
	return credit, read
}
