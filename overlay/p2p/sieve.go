// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package p2p

import (
	"errors"
	"net"
	"sync"

	"go.uber.org/zap"
)

// errNoSieve is why there is none where the system has none.
var errNoSieve = errors.New("p2p: only on Linux the kernel keeps strangers to itself")

// Sieve says whether the kernel keeps connections to itself that do not greet. Where it
// does not, they cost the process what they can: see security/doc.go.
type Sieve struct {
	On     bool   `json:"on"`               // at all listeners
	Reason string `json:"reason,omitempty"` // why not
}

// sieved is a listener, and why it has no sieve; nil = it has one.
type sieved struct {
	net.Listener
	off error
}

// sieves is what a Host knows of those of its listeners.
type sieves struct {
	mu     sync.Mutex
	status *Sieve // guarded by mu; nil = no listener has said
}

// note takes in a listener, and says whether it is the first one without a sieve.
func (s *sieves) note(off error) (first bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.status == nil {
		s.status = &Sieve{On: true}
	}
	if off == nil || !s.status.On {
		return false
	}
	*s.status = Sieve{Reason: off.Error()}
	return true
}

// get describes them; nil = there are none of this machine.
func (s *sieves) get() *Sieve {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.status == nil {
		return nil
	}
	status := *s.status
	return &status
}

// sifted takes in a listener: one without a sieve is counted, and the first one logged.
func sifted(h *Host, l net.Listener) {
	s, ok := l.(*sieved)
	if !ok {
		return // it is not this machine's
	}
	if s.off != nil {
		h.counters.add(countUnsifted)
	}
	if !h.sieves.note(s.off) {
		return
	}
	log := h.log.Warn
	if errors.Is(s.off, errNoSieve) {
		log = h.log.Debug
	}
	log("the kernel does not keep strangers to itself: many of them cost this node more", zap.Error(s.off))
}
