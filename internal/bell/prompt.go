// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package bell

import "time"

// After a ring that was heard late a Bell is left alone for a while: so many waits, twice
// as many after each further one, and half as many after each that was heard in time.
const (
	late       = 500 * time.Microsecond // more than waking a thread takes on a busy host
	firstPause = 16
	mostPause  = 4096
)

// promptness knows whether a bell is heard in time. It is a pure core.
type promptness struct {
	pause int // the last one, or what is left of it
	skip  int // waits that are still to be made elsewhere
}

// trusts says whether to wait at the bell, this time.
func (p *promptness) trusts() bool {
	if p.skip == 0 {
		return true
	}
	p.skip--
	return false
}

// heard notes how long after the ring that was.
func (p *promptness) heard(took time.Duration) {
	if took <= late {
		p.pause /= 2
		return
	}
	p.pause = min(max(2*p.pause, firstPause), mostPause)
	p.skip = p.pause
}
