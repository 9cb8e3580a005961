// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package gate

import "sync"

// Gate counts what runs for one owner. The zero value is open. All methods may be
// called concurrently; it must not be copied.
type Gate struct {
	mu   sync.RWMutex // Enter is called for each message in some places: readers don't wait for each other
	shut bool         // guarded by mu

	running sync.WaitGroup
}

// Enter counts something that begins; Leave must follow if it says true. It says
// false once the gate is shut.
func (g *Gate) Enter() bool {
	g.mu.RLock()
	defer g.mu.RUnlock()
	if !g.shut {
		g.running.Add(1)
	}
	return !g.shut
}

// Leave counts its end.
func (g *Gate) Leave() { g.running.Done() }

// Spawn runs f on a goroutine of its own, unless the gate is shut; it says which.
func (g *Gate) Spawn(f func()) bool {
	g.mu.RLock()
	defer g.mu.RUnlock()
	if !g.shut {
		g.running.Go(f)
	}
	return !g.shut
}

// Shut lets nothing more begin. It does not wait.
func (g *Gate) Shut() {
	g.mu.Lock()
	g.shut = true
	g.mu.Unlock()
}

// Close is Shut, and waits for what has begun: nothing of that may call it.
func (g *Gate) Close() {
	g.Shut()
	g.running.Wait()
}
