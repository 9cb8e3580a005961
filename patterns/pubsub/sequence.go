// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package pubsub

import "sort"

// sequence puts what one source addressed to this node into order: a pure
// core. Numbers begin with 1. What is missing is waited for, then given up as a
// gap; what comes after that is late.
type sequence[T any] struct {
	wait     int64 // ns that a hole is waited for
	maxHeld  int   // messages kept behind a hole
	maxBytes int   // bytes of them

	next   uint64 // first number that is neither handed on nor given up; 0 counts as 1
	held   []arrival[T]
	bytes  int
	told   uint64 // everything up to here has been addressed to us
	toldAt int64
}

// arrival is a message that waits for those before it.
type arrival[T any] struct {
	number uint64
	at     int64
	size   int
	item   T
}

// step is one thing that goes on: a message, or a gap in the place of some.
type step[T any] struct {
	item T
	gap  uint64 // messages; 0 = item is there
}

func (s *sequence[T]) begin() uint64 { return max(s.next, 1) }

// offer takes in a message. It refuses what is late or was there before.
func (s *sequence[T]) offer(now int64, number uint64, size int, item T) bool {
	if number < s.begin() {
		return false
	}
	i := len(s.held)
	if i > 0 && s.held[i-1].number >= number {
		i = sort.Search(len(s.held), func(i int) bool { return s.held[i].number >= number })
		if s.held[i].number == number {
			return false
		}
	}
	s.held = append(s.held, arrival[T]{})
	copy(s.held[i+1:], s.held[i:])
	s.held[i] = arrival[T]{number, now, size, item}
	s.bytes += size
	return true
}

// pass takes in a message on whose turn it is while nothing else waits: the way
// of nearly all of them. It says whether the message can go on at once.
func (s *sequence[T]) pass(number uint64) bool {
	if number != s.begin() || len(s.held) > 0 || s.told > number {
		return false
	}
	s.next = number + 1
	return true
}

// tell takes in that so many have been addressed to us.
func (s *sequence[T]) tell(now int64, number uint64) {
	if number > s.told {
		s.told, s.toldAt = number, now
	}
}

// advance appends to dst what can go on now.
func (s *sequence[T]) advance(now int64, dst []step[T]) []step[T] {
	s.next = s.begin()
	for {
		if len(s.held) > 0 && s.held[0].number == s.next {
			first := s.pop()
			dst = append(dst, step[T]{item: first.item})
			s.next++
			continue
		}
		since, ok := s.missingSince()
		full := len(s.held) > s.maxHeld || s.bytes > s.maxBytes
		if !ok || now-since < s.wait && !full {
			return dst
		}
		end := s.told + 1
		if len(s.held) > 0 {
			end = s.held[0].number
		}
		dst = append(dst, step[T]{gap: end - s.next})
		s.next = end
	}
}

// due says when advance has something to do even if nothing comes.
func (s *sequence[T]) due() (at int64, ok bool) {
	since, ok := s.missingSince()
	return since + s.wait, ok
}

// missingSince says since when it is known that next is missing.
func (s *sequence[T]) missingSince() (at int64, ok bool) {
	if s.told >= s.begin() {
		at, ok = s.toldAt, true
	}
	for i := range s.held {
		if !ok || s.held[i].at < at {
			at, ok = s.held[i].at, true
		}
	}
	return at, ok
}

func (s *sequence[T]) pop() arrival[T] {
	first := s.held[0]
	s.bytes -= first.size
	s.held[0] = arrival[T]{}
	s.held = s.held[1:]
	if len(s.held) == 0 {
		s.held = nil
	}
	return first
}
