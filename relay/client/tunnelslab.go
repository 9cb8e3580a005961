// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"sync"

	"github.com/arke-mesh/arke/internal/wire/session"
)

// slab is memory for the chunks that wait for the writer: a long one, or many
// short ones.
type slab struct {
	b     []byte // its length is what is used of it
	users int    // chunks, and the slabs that fill it
}

// slabs are those of one session, so that sending makes no garbage. They go
// round: what is written is sent from again. The garbage collector takes those
// that nobody uses. Methods may be called concurrently.
type slabs struct {
	mu      sync.Mutex
	filling *slab // nil = none
	free    sync.Pool
}

// take returns n bytes, at most session.MaxChunk, and the slab they are in.
func (s *slabs) take(n int) ([]byte, *slab) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.filling != nil && len(s.filling.b)+n > cap(s.filling.b) {
		s.drop(s.filling)
		s.filling = nil
	}
	if s.filling == nil {
		var ok bool
		if s.filling, ok = s.free.Get().(*slab); !ok {
			s.filling = &slab{b: make([]byte, 0, session.MaxChunk)}
		}
		s.filling.users = 1
	}
	at := len(s.filling.b)
	s.filling.b = s.filling.b[:at+n]
	s.filling.users++
	return s.filling.b[at : at+n : at+n], s.filling
}

// giveBack takes what take has returned, once for each.
func (s *slabs) giveBack(used []*slab) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, each := range used {
		s.drop(each)
	}
	if f := s.filling; f != nil && f.users == 1 { // an idle session holds none
		s.drop(f)
		s.filling = nil
	}
}

// drop counts a user out. The caller holds mu.
func (s *slabs) drop(each *slab) {
	if each.users--; each.users == 0 {
		each.b = each.b[:0]
		s.free.Put(each)
	}
}
