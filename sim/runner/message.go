// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package runner

import (
	"encoding/gob"
	"io"
	"sync"
	"time"
)

// request is what a parent sends to its child. Two jobs are to be compared.
type request struct {
	Jobs []Job
}

// message is what a child sends: either how far it is, or, as the last thing,
// how it ended.
type message struct {
	Virtual, Whole time.Duration
	Events         uint64
	End            *ending
}

// ending is the last message of a child.
type ending struct {
	Outcome    *Findings
	Difference string // of the two jobs of a comparison
	Error      string // why there is no outcome
	Level      bool   // the error is that the level can't do it
	Crashed    bool   // the error is that the run hung
}

// sender writes messages, from any goroutine; nothing follows an ending.
type sender struct {
	mu    sync.Mutex
	enc   *gob.Encoder // guarded by mu, like all below
	ended bool
}

func newSender(w io.Writer) *sender { return &sender{enc: gob.NewEncoder(w)} }

func (s *sender) send(m message) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return
	}
	s.ended = m.End != nil
	// A parent that does not read any more is gone, and the end of standard
	// input says so better.
	_ = s.enc.Encode(m)
}
