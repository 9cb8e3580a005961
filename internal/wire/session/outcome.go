// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package session

// Outcome says how something that was asked for ended. Closed list; do not
// reorder.
type Outcome uint8

// The outcomes.
const (
	OutcomeReply        Outcome = 0  // it was done; there is a reply, where one is due
	OutcomeRemoteError  Outcome = 1  // the handler refused: Code and Text say why
	OutcomeNoMembers    Outcome = 2  // nobody serves the cluster
	OutcomeOverloaded   Outcome = 3  // all members are busy
	OutcomeUnreachable  Outcome = 4  // nobody could be reached
	OutcomeInterrupted  Outcome = 5  // the way was lost before the reply
	OutcomeUnauthorized Outcome = 6  // no right to ask
	OutcomeTooLarge     Outcome = 7  // beyond a limit of size
	OutcomeClosed       Outcome = 8  // the relay's node is closing
	OutcomeDeadline     Outcome = 9  // the time was over
	OutcomeCancelled    Outcome = 10 // it was cancelled
	OutcomeLimit        Outcome = 11 // beyond a limit of this session: Code is a Limit
	OutcomeDraining     Outcome = 12 // the relay is shutting down: ask the next one
	OutcomeFailed       Outcome = 13 // something else, which Text says
	OutcomeTopic        Outcome = 14 // not a topic or pattern
	OutcomeWouldBlock   Outcome = 15 // it would have to wait
	outcomeCount                = 16
)

// String returns the outcome's name as used in logs and errors.
func (o Outcome) String() string {
	switch o {
	case OutcomeReply:
		return "reply"
	case OutcomeRemoteError:
		return "remote_error"
	case OutcomeNoMembers:
		return "no_members"
	case OutcomeOverloaded:
		return "overloaded"
	case OutcomeUnreachable:
		return "unreachable"
	case OutcomeInterrupted:
		return "interrupted"
	case OutcomeUnauthorized:
		return "unauthorized"
	case OutcomeTooLarge:
		return "too_large"
	case OutcomeClosed:
		return "closed"
	case OutcomeDeadline:
		return "deadline"
	case OutcomeCancelled:
		return "cancelled"
	case OutcomeLimit:
		return "limit"
	case OutcomeDraining:
		return "draining"
	case OutcomeFailed:
		return "failed"
	case OutcomeTopic:
		return "topic"
	case OutcomeWouldBlock:
		return "would_block"
	}
	return "unknown"
}

// Limit says which limit of a session was exceeded. Closed list; do not
// reorder.
type Limit uint32

// The limits.
const (
	LimitRegistrations Limit = 1 // registrations of one client
	LimitRequests      Limit = 2 // calls of one client that have no reply yet
	LimitBytes         Limit = 3 // bytes of such calls
	LimitTunnels       Limit = 4 // open tunnels of one client, or their bytes
	LimitSubscriptions Limit = 5 // subscriptions of one client
)

// Failure is how something ended that has no reply; its zero value says that
// it did not fail.
type Failure struct {
	Outcome Outcome
	// MaybeRan is false if no handler can have seen the request.
	MaybeRan bool
	Code     uint32 // of a remote error, or a Limit
	Text     string
}

func (f *Failure) encodeHead(e *encoder) {
	e.u8(uint8(f.Outcome))
	e.bits(f.MaybeRan)
	e.u32(f.Code)
}

func (f *Failure) decodeHead(d *decoder) {
	f.Outcome = Outcome(d.u8())
	if f.Outcome >= outcomeCount {
		d.fail("outcome")
	}
	d.bits("outcome's flags", &f.MaybeRan)
	f.Code = d.u32()
}

func (f *Failure) encode(e *encoder) {
	f.encodeHead(e)
	e.text(f.Text)
}

func (f *Failure) decode(d *decoder) {
	f.decodeHead(d)
	f.Text = d.str("text", MaxText)
}

// encodeResult lets the text, or the body of a reply, be the rest of a frame.
func (f *Failure) encodeResult(e *encoder, body []byte) {
	if f.Outcome == OutcomeReply {
		e.rest(body)
		return
	}
	e.rest([]byte(f.Text))
}

func (f *Failure) decodeResult(d *decoder) (body []byte) {
	if f.Outcome == OutcomeReply {
		return d.rest()
	}
	f.Text = string(d.rest())
	return nil
}
