// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

// state is how usable a member is; lower is better.
type state uint8

const (
	stateLive state = iota
	stateEjected
	stateSuspect
	stateUnreachable
	stateGone // no longer in any view
)

// String returns the word that users see.
func (s state) String() string {
	switch s {
	case stateLive:
		return "live"
	case stateEjected:
		return "ejected"
	case stateSuspect:
		return "suspect"
	}
	return "unreachable"
}

// Bits of load.flags; set by the control loop, read by everybody.
const (
	flagSuspect     uint32 = 1 << iota // an anchor says so
	flagLinkSuspect                    // our own link says so
	flagLinkDown                       // our own link is lost
	flagGone                           // removed from the view
)

func (l *load) state() state {
	f := l.flags.Load()
	switch {
	case f&flagGone != 0:
		return stateGone
	case f&flagLinkDown != 0:
		return stateUnreachable
	case f&(flagSuspect|flagLinkSuspect) != 0:
		return stateSuspect
	case l.ejected.Load() != 0:
		return stateEjected
	}
	return stateLive
}

func (l *load) setFlag(f uint32, on bool) {
	if on {
		l.flags.Or(f)
	} else {
		l.flags.And(^f)
	}
}
