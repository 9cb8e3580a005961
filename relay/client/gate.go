// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"sync"
	"sync/atomic"
)

// gate counts who is inside, and can be shut: then nobody enters any more, and
// who waits learns when the last one has left. Methods may be called
// concurrently.
type gate struct {
	count atomic.Int64 // who is inside, + shut
	empty chan struct{}
	once  sync.Once // closes empty
}

const shut = 1 << 62

func newGate() *gate { return &gate{empty: make(chan struct{})} }

// enter says whether the gate is open; who has entered leaves.
func (g *gate) enter() bool {
	if g.count.Add(1) > shut {
		g.leave()
		return false
	}
	return true
}

func (g *gate) leave() {
	if g.count.Add(-1) == shut {
		g.settle()
	}
}

// close shuts the gate and returns what is closed when nobody is inside.
func (g *gate) close() <-chan struct{} {
	for {
		n := g.count.Load()
		switch {
		case n >= shut:
			return g.empty
		case g.count.CompareAndSwap(n, n+shut):
			if n == 0 {
				g.settle()
			}
			return g.empty
		}
	}
}

// settle is called whenever nobody is inside; who tried to enter after close may
// be the last one.
func (g *gate) settle() { g.once.Do(func() { close(g.empty) }) }
