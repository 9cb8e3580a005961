// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package overlay

import (
	"errors"
	"fmt"
	"time"

	"github.com/arke-mesh/arke/overlay/session"
)

// reconnect decides when the peer of a link is dialled, and what follows from how
// a dial or a connection ended. Pure core: Link drives it.
type reconnect struct {
	session.Reconnect // the time in which no connection carries the session

	dialing bool // a dial is under way …
	saves   bool // … that is to save a session
	jitter  func(n int) int
}

// linkState is what a decision depends on besides.
type linkState struct {
	up       bool // there is a session …
	attached bool // … that a connection carries
	joining  bool // a connection is about to carry it
	leaving  bool // the overlay shuts down, or closes
}

func (s linkState) connected() bool { return s.joining || s.attached }

// decision is what is to be done, in the order of the fields.
type decision struct {
	end     error         // the session ends, for this reason
	failed  error         // DialFailed is reported
	tell    error         // who waits for a session hears it
	stop    bool          // a dial that is under way ends
	suspect bool          // the peer is suspect: an outage has begun …
	dial    bool          // … and it is dialled at once
	dialIn  time.Duration // it is dialled then; 0 = not
}

// want says whether to begin a dial.
func (r *reconnect) want(s linkState) bool {
	if r.dialing || s.connected() || s.leaving {
		return false
	}
	r.dialing, r.saves = true, s.up
	return true
}

// broke decides what becomes of a session that a connection has carried to its
// end, which came with err. heard is when the peer was heard last.
func (r *reconnect) broke(s linkState, err error, heard time.Time) decision {
	switch over := sessionEnd(err); {
	case s.leaving:
		return decision{end: ErrClosed, tell: ErrClosed}
	case over != nil && r.dialing:
		return decision{end: over}
	case over != nil:
		return decision{end: over, tell: over}
	case s.connected(): // another connection was faster than this news
		return decision{}
	}
	r.Begin(heard)
	return decision{suspect: true, dial: true}
}

// dialled decides what follows from the end of a dial, nil if it led to a
// connection. A failure only counts if the link has not come up by other means.
func (r *reconnect) dialled(now time.Time, s linkState, err error) decision {
	r.dialing = false
	switch {
	case s.connected():
		return decision{} // who waits has a session, or soon will
	case s.leaving:
		return decision{tell: ErrClosed}
	case s.up && err != nil:
		return r.again(now, err)
	case s.up: // it broke again already, and that is being dealt with
		return decision{}
	case err == nil: // again already
		return decision{tell: ErrLost}
	case r.saves: // nobody has asked for more than the session, which ended
		return decision{tell: err}
	}
	return decision{failed: err, tell: err}
}

// again decides after a dial that was to save the session.
func (r *reconnect) again(now time.Time, err error) decision {
	for _, final := range []error{ErrGoodbye, ErrVersion, ErrDuplicate, ErrProtocol, ErrExcluded, ErrNotAdmitted} {
		if errors.Is(err, final) {
			return giveUp(err)
		}
	}
	wait := r.Failed(now, failureOf(err))
	if r.Gone() {
		return giveUp(fmt.Errorf("%w: the process is gone", ErrLost))
	}
	return decision{dialIn: wait + wait/100*time.Duration(r.jitter(26))}
}

func failureOf(err error) session.Failure {
	switch {
	case errors.Is(err, ErrRefused):
		return session.Refused
	case errors.Is(err, errHungUp):
		return session.HungUp
	}
	return session.Unreached
}

// giveUp ends a session that no connection carries.
func giveUp(cause error) decision { return decision{end: cause, tell: cause, stop: true} }

// late is the decision when the outage has lasted for too long.
func (r *reconnect) late(s linkState) decision {
	if !s.up || s.connected() {
		return decision{}
	}
	return giveUp(fmt.Errorf("%w for %v", ErrSilent, session.ReconnectLimit))
}

// sessionEnd is the error that a session ends with whose connection ended with
// err; nil if only the connection ended.
func sessionEnd(err error) error {
	var bye *session.GoodbyeError
	switch {
	case errors.As(err, &bye):
		return goodbyeError(bye.Code, bye.Reason, "")
	case errors.Is(err, ErrProtocol), errors.Is(err, session.ErrPoison), errors.Is(err, ErrExcluded), errors.Is(err, ErrNotAdmitted):
		return err
	case errors.Is(err, session.ErrLeft): // in Shutdown nobody asks
		return ErrSpare
	case errors.Is(err, session.ErrDown):
		return ErrLost
	}
	return nil
}
