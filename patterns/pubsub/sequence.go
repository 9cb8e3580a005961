// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package pubsub

import (
	"slices"
	"sort"
)

// sequence puts what one source addressed to this node into order: a pure
// core. Numbers begin with 1; what comes has one, or several that follow each
// other. What is missing is waited for, then given up as a gap; what comes after
// that is late.
type sequence[T any] struct {
	wait     int64 // ns that a hole is waited for
	maxHeld  int   // arrivals kept behind a hole
	maxBytes int   // bytes of them

	next   uint64 // first number that is neither handed on nor given up; 0 counts as 1
	held   []arrival[T]
	bytes  int
	late   uint64 // numbers that came when they had been handed on or given up
	told   uint64 // everything up to here has been addressed to us
	toldAt int64
}

// arrival is what has come and waits for what is before it.
type arrival[T any] struct {
	number uint64
	count  uint64
	at     int64
	size   int
	item   T
}

// step is one thing that goes on: what has come, or a gap in the place of some.
type step[T any] struct {
	item T
	skip int    // of the item's first messages: they are late
	gap  uint64 // messages; 0 = item is there
}

func (s *sequence[T]) begin() uint64 { return max(s.next, 1) }

// offer takes in what has count numbers from number on. What is late, or was there
// before, is refused, or counted when its turn comes.
func (s *sequence[T]) offer(now int64, number, count uint64, size int, item T) bool {
	if number+count <= s.begin() {
		return false
	}
	i := len(s.held)
	if i > 0 && s.held[i-1].number >= number {
		i = sort.Search(len(s.held), func(i int) bool { return s.held[i].number >= number })
		if s.held[i].number == number {
			return false
		}
	}
	s.held = slices.Insert(s.held, i, arrival[T]{number, count, now, size, item})
	s.bytes += size
	return true
}

// pass takes in what comes when its turn is, while nothing else waits: the way of
// nearly everything. It says whether it can go on at once.
func (s *sequence[T]) pass(number, count uint64) bool {
	if number != s.begin() || len(s.held) > 0 || s.told >= number+count {
		return false
	}
	s.next = number + count
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
		if len(s.held) > 0 && s.held[0].number <= s.next {
			first := s.pop()
			late := min(s.next-first.number, first.count)
			s.late += late
			if late < first.count {
				dst = append(dst, step[T]{item: first.item, skip: int(late)})
				s.next = first.number + first.count
			}
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

// restart forgets what was said of numbers beyond last, of which nothing may be true:
// the next one is expected. What waits is dropped.
func (s *sequence[T]) restart(last uint64) (dropped uint64) {
	for _, a := range s.held {
		dropped += a.count
	}
	s.next, s.told, s.held, s.bytes = last+1, 0, nil, 0
	return dropped
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
