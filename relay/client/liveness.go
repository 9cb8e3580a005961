// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package client

import "time"

const (
	// beat is how often the client looks whether it has heard of its relay.
	beat = 4 * time.Second
	// patience is how many looks without a byte it takes to give it up.
	patience = 4
)

// liveness decides when a relay that says nothing is asked, and when it is
// given up. It counts looks and not time: a client that was itself stopped for
// a while must not blame the relay. The zero value is ready.
type liveness struct{ silent int }

// look takes whether anything came since the last look.
func (l *liveness) look(heard bool) (ping, dead bool) {
	if heard {
		l.silent = 0
		return false, false
	}
	l.silent++
	dead = l.silent >= patience
	return !dead, dead
}
