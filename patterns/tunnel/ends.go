// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package tunnel

// ending is how far a side has ended a tunnel in good order.
type ending uint8

const (
	endingNone   ending = iota
	endingSend          // it sends no more
	endingClosed        // nor does it receive
)

// ends is the life of a tunnel as one side sees it: a pure core.
type ends struct {
	wanted ending // what the program here has asked for
	told   ending // what of it the other side was told
	heard  ending // what the other side has said
	err    error  // how it ended, if not in good order
}

// want notes that the program here ends its part; less than before changes
// nothing.
func (e *ends) want(w ending) { e.wanted = max(e.wanted, w) }

// hear notes that the other side has ended its part.
func (e *ends) hear(h ending) { e.heard = max(e.heard, h) }

// due says what the other side has yet to be told; endingNone = nothing. If it does
// not receive any more, this direction ends, too.
func (e *ends) due() ending {
	w := e.wanted
	if e.heard == endingClosed {
		w = max(w, endingSend)
	}
	if e.over() || w <= e.told {
		return endingNone
	}
	return w
}

// over says whether both directions have ended.
func (e *ends) over() bool {
	return e.err != nil || e.told > endingNone && e.heard > endingNone
}

// maySend says whether something may be sent.
func (e *ends) maySend() bool {
	return e.err == nil && e.wanted == endingNone && e.heard < endingClosed
}
