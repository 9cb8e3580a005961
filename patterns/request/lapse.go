// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package request

import (
	"container/heap"
	"context"
	"sync"
	"time"

	"github.com/arke-mesh/arke/overlay"
)

// lapses ends calls at their deadlines, all of them with one timer. It is armed
// for the earliest, and stays so when that one has ended: most calls end long
// before their deadline, and none of them touches the timer.
type lapses struct {
	*env

	mu    sync.Mutex
	line  deadlines     // guarded by mu
	timer overlay.Timer // guarded by mu; nil while none runs
	due   int64         // guarded by mu: when it fires
}

// add has the call end at its deadline.
func (s *lapses) add(c *call) {
	l := &c.lapse
	l.call, l.number, l.at = c, c.first.id, int64(c.deadline.Sub(c.start))
	s.mu.Lock()
	defer s.mu.Unlock()
	s.line.push(l)
	s.arm()
}

// remove takes out a call that has ended.
func (s *lapses) remove(l *lapse) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.line.remove(l)
}

// arm has the timer run for the earliest; mu is held.
func (s *lapses) arm() {
	if len(s.line) == 0 || s.timer != nil && s.due <= s.line[0].at || s.closed.Load() {
		return
	}
	if s.timer != nil {
		s.timer.Stop()
	}
	s.due = s.line[0].at
	due := s.due
	s.timer = s.cfg.Clock.AfterFunc("request.deadline", time.Duration(due-s.now()), func() { s.fire(due) })
}

// fire ends what is due, in the order of deadlines, then of numbers.
func (s *lapses) fire(due int64) {
	type over struct {
		call   *call
		number uint64
	}
	var out []over
	s.mu.Lock()
	if s.timer == nil || s.due != due { // one that was stopped too late
		s.mu.Unlock()
		return
	}
	now := max(s.now(), due)
	for len(s.line) > 0 && s.line[0].at <= now {
		l := s.line[0]
		s.line.remove(l)
		out = append(out, over{l.call, l.number})
	}
	s.timer = nil
	s.arm()
	s.mu.Unlock()
	for _, o := range out {
		o.call.post(event{of: o.number, what: eventStop, err: context.DeadlineExceeded})
	}
}

// close stops the timer; what is under way has been ended.
func (s *lapses) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.timer != nil {
		s.timer.Stop()
		s.timer = nil
	}
}

// lapse is a call's place among the deadlines.
type lapse struct {
	at     int64 // ns on the engine's clock
	number uint64
	place  int // in deadlines, from 1; 0 = it is not there
	call   *call
}

func (l *lapse) before(m *lapse) bool {
	return l.at < m.at || l.at == m.at && l.number < m.number
}

// deadlines is a heap of container/heap, the earliest first, then the lowest
// number: a pure core.
type deadlines []*lapse

func (d *deadlines) push(l *lapse) { heap.Push(d, l) }

// remove takes l out if it is there.
func (d *deadlines) remove(l *lapse) {
	if l.place > 0 {
		heap.Remove(d, l.place-1)
	}
}

// Len implements heap.Interface.
func (d *deadlines) Len() int { return len(*d) }

// Less implements heap.Interface.
func (d *deadlines) Less(i, j int) bool {
	return (*d)[i].before((*d)[j])
}

// Swap implements heap.Interface.
func (d *deadlines) Swap(i, j int) {
	(*d)[i], (*d)[j] = (*d)[j], (*d)[i]
	(*d)[i].place, (*d)[j].place = i+1, j+1
}

// Push implements heap.Interface.
func (d *deadlines) Push(x any) {
	l := x.(*lapse)
	*d = append(*d, l)
	l.place = len(*d)
}

// Pop implements heap.Interface.
func (d *deadlines) Pop() any {
	last := len(*d) - 1
	l := (*d)[last]
	(*d)[last] = nil
	*d = (*d)[:last]
	l.place = 0
	return l
}
