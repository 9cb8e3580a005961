// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package tunnel

// Status describes the tunnels of one node.
type Status struct {
	Opened int `json:"opened"` // from here, those that are being opened included
	Served int `json:"served"` // by members here
	// BufferBytes is how much of Config.BufferBytes is given away: what may
	// come and wait to be received.
	BufferBytes int `json:"buffer_bytes"`
	// UnsentBytes waits for room in the links' lanes.
	UnsentBytes int `json:"unsent_bytes"`
}

// Status describes the tunnels there are now.
func (e *Engine) Status() Status {
	e.mu.RLock()
	defer e.mu.RUnlock()
	s := Status{Opened: e.mine, BufferBytes: e.purse.used}
	for _, m := range e.members {
		s.Served += m.open
	}
	for _, r := range e.remotes {
		s.UnsentBytes += r.outlet.parkedBytes()
	}
	return s
}

// Drops counts what went no further, by reason; reasons that never occurred are
// left out.
func (e *Engine) Drops() map[string]uint64 { return e.drops.ByName() }
