// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package request

import (
	"slices"
	"sync"
)

const pendingShards = 64 // a power of two

// pending holds the attempts that have not ended, by request id. Whoever takes
// one out decides how it ended: that is what makes the end of an attempt
// happen once.
type pending struct{ shards [pendingShards]pendingShard }

type pendingShard struct {
	mu       sync.Mutex
	attempts map[uint64]*attempt // guarded by mu, like the attempts' own state
}

func (p *pending) shard(id uint64) *pendingShard { return &p.shards[id%pendingShards] }

func (p *pending) add(a *attempt) {
	s := p.shard(a.id)
	s.mu.Lock()
	if s.attempts == nil {
		s.attempts = make(map[uint64]*attempt)
	}
	s.attempts[a.id] = a
	s.mu.Unlock()
}

// take removes the attempt and returns it; nil if it has ended.
func (p *pending) take(id uint64) *attempt {
	return p.takeIf(id, func(*attempt) bool { return true })
}

// takeIf is take for an attempt that f, called with the lock held, agrees to.
func (p *pending) takeIf(id uint64, f func(*attempt) bool) *attempt {
	s := p.shard(id)
	s.mu.Lock()
	defer s.mu.Unlock()
	a := s.attempts[id]
	if a == nil || !f(a) {
		return nil
	}
	delete(s.attempts, id)
	return a
}

// update calls f with the attempt, under the lock, if it has not ended.
func (p *pending) update(id uint64, f func(*attempt)) bool {
	s := p.shard(id)
	s.mu.Lock()
	defer s.mu.Unlock()
	a := s.attempts[id]
	if a != nil {
		f(a)
	}
	return a != nil
}

// collect returns the attempts that f agrees to, in the order of their ids;
// with remove it takes them out.
func (p *pending) collect(remove bool, f func(*attempt) bool) []*attempt {
	var out []*attempt
	for i := range p.shards {
		s := &p.shards[i]
		s.mu.Lock()
		for id, a := range s.attempts {
			if !f(a) {
				continue
			}
			out = append(out, a)
			if remove {
				delete(s.attempts, id)
			}
		}
		s.mu.Unlock()
	}
	slices.SortFunc(out, func(a, b *attempt) int {
		if a.id < b.id {
			return -1
		}
		return 1
	})
	return out
}

// size is the number of attempts that have not ended.
func (p *pending) size() (n int) {
	for i := range p.shards {
		s := &p.shards[i]
		s.mu.Lock()
		n += len(s.attempts)
		s.mu.Unlock()
	}
	return n
}
