// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package sim

import "time"

// Tap hears what nodes send. It is called for each direction of each stream,
// and what it returns is called with each piece that goes out, in the order of
// events; nil = that direction is of no interest. What is lost on the way was
// sent. Neither may block, call the network, or keep data.
type Tap func(from, to string) func(at time.Duration, data []byte)

// Tap has streams that are opened from now on heard. It changes nothing in the
// run and does not show in the trace. nil = no longer.
func (n *Network) Tap(t Tap) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.tap = t
}

// listen begins to hear what s sends.
func (s *stream) listen() {
	if t := s.c.n.tap; t != nil && !s.c.local() {
		s.heard = t(s.c.ends[s.end].host.name, s.c.ends[1-s.end].host.name)
	}
}
