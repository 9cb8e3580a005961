// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package tunnel

import "slices"

// turnstile lets one goroutine at a time through, in the order they came: those
// that send, or receive, on one tunnel. The owner's mutex guards it. It costs
// nothing while nobody has to wait.
type turnstile struct {
	busy    bool
	waiting []chan struct{} // each closed when it is that goroutine's turn
}

// enter takes the turn, or returns the channel to wait on.
func (s *turnstile) enter() (wait chan struct{}) {
	if !s.busy {
		s.busy = true
		return nil
	}
	wait = make(chan struct{})
	s.waiting = append(s.waiting, wait)
	return wait
}

// try takes the turn if that needs no waiting.
func (s *turnstile) try() bool {
	if s.busy {
		return false
	}
	s.busy = true
	return true
}

// forget takes out who gave up waiting, and says whether it did: otherwise it
// is its turn now.
func (s *turnstile) forget(wait chan struct{}) bool {
	i := slices.Index(s.waiting, wait)
	if i < 0 {
		return false
	}
	s.waiting = slices.Delete(s.waiting, i, i+1)
	return true
}

// leave passes the turn on: the caller closes next, if it is not nil.
func (s *turnstile) leave() (next chan struct{}) {
	if len(s.waiting) == 0 {
		s.busy, s.waiting = false, nil
		return nil
	}
	next = s.waiting[0]
	s.waiting = s.waiting[1:]
	return next
}
