// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package worker

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"golang.org/x/sys/unix"

	"github.com/arke-mesh/arke/bench/system"
)

// Role is what a worker does.
type Role string

// The roles.
const (
	Publish   Role = "publish"
	Subscribe Role = "subscribe"
	Request   Role = "request"
	Respond   Role = "respond"
)

// Job says what a worker does in a run.
type Job struct {
	System string
	Role   Role
	Setup  system.Setup

	// Publishers is how many publishers there are in all; those of this worker
	// have the numbers from First on.
	Publishers, First int
	// Streams is how many publishers this worker has, Idle how many more it
	// opens that publish nothing.
	Streams, Idle int
	// Credits are the addresses of the publishers' credit windows.
	Credits []string

	// Seats is how many connections a requester has, InFlight how many requests
	// are under way on each.
	Seats, InFlight int
	// Rate is the requests a second that begin whether or not others have
	// ended; 0 = each begins when one ends.
	Rate float64
	// Responders is how many there are; Index of Setup says which one this is.
	Responders int
	// Handlers is how many requests a responder has at once, 0 = the default;
	// Delay is how long each takes.
	Handlers int
	Delay    time.Duration
}

// Order is what the driver says.
type Order struct {
	Do     string // job, go, expect
	Job    *Job   `json:",omitempty"`
	Span   Span
	Expect []uint64 `json:",omitempty"` // messages of each publisher
}

// Span is when a worker measures, in nanoseconds of CLOCK_MONOTONIC. Work
// begins at Start; what counts is what happens from From until To.
type Span struct{ Start, From, To int64 }

// Word is what a worker says.
type Word struct {
	Is     string // ready, seen, done, failed
	Addr   string `json:",omitempty"` // of the seat
	Credit string `json:",omitempty"` // of the publishers' credit window
	Result Result
	Error  string `json:",omitempty"`
}

// Result is what a worker has counted.
type Result struct {
	// Count is the messages published or received, or the requests that ended
	// well, between From and To.
	Count uint64
	// Sent is how many messages each publisher of this worker has published.
	Sent []uint64 `json:",omitempty"`
	// Stalls is how often a credit window did not move for half a second and
	// was opened again.
	Stalls int `json:",omitempty"`

	// Of a subscriber, over the whole run. Told is the part of Lost that the
	// system said.
	Received, Lost, Duplicated, Disordered, Damaged, Told uint64 `json:",omitempty"`

	// Of a requester. Latency is an encoded histogram of nanoseconds, Errors
	// are counts by text, By how many replies came from each responder. Behind
	// is how many requests of the schedule were not begun when the span ended.
	Latency []byte            `json:",omitempty"`
	Errors  map[string]uint64 `json:",omitempty"`
	By      []uint64          `json:",omitempty"`
	Behind  uint64            `json:",omitempty"`
}

// Now is the time of CLOCK_MONOTONIC in nanoseconds.
func Now() int64 {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &t); err != nil {
		panic("BUG: no CLOCK_MONOTONIC: " + err.Error())
	}
	return t.Nano()
}

func sleepUntil(at int64) {
	if d := at - Now(); d > 0 {
		time.Sleep(time.Duration(d))
	}
}

// talk is the worker's end of the conversation.
type talk struct {
	in  *json.Decoder
	out *json.Encoder
}

func (t *talk) say(w Word) error { return t.out.Encode(w) }

func (t *talk) hear(do string) (Order, error) {
	var o Order
	if err := t.in.Decode(&o); err != nil {
		return o, err
	}
	if o.Do != do {
		return o, fmt.Errorf("worker: ordered to %q instead of %q", o.Do, do)
	}
	return o, nil
}

// Run does what the driver orders until in ends.
func Run(in io.Reader, out io.Writer) error {
	t := &talk{in: json.NewDecoder(bufio.NewReader(in)), out: json.NewEncoder(out)}
	err := t.work()
	if errors.Is(err, io.EOF) {
		return nil
	}
	if err != nil {
		return t.say(Word{Is: "failed", Error: err.Error()})
	}
	return nil
}

func (t *talk) work() error {
	order, err := t.hear("job")
	if err != nil {
		return err
	}
	job := *order.Job
	sys, err := system.Find(job.System)
	if err != nil {
		return err
	}
	switch job.Role {
	case Publish:
		err = publish(t, sys, job)
	case Subscribe:
		err = subscribe(t, sys, job)
	case Request:
		err = request(t, sys, job)
	case Respond:
		err = respond(t, sys, job)
	default:
		err = fmt.Errorf("worker: no role is called %q", job.Role)
	}
	return err
}

// rest waits for the end of the input, with everything still open: others may
// need it.
func (t *talk) rest() error {
	var o Order
	return t.in.Decode(&o)
}

// done says the result and rests.
func (t *talk) done(r Result) error {
	if err := t.say(Word{Is: "done", Result: r}); err != nil {
		return err
	}
	return t.rest()
}
