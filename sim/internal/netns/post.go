// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package netns

import (
	"container/heap"
	"runtime"
	"sync"
	"time"
)

// maxLetters is how many packets may be under way at once.
const maxLetters = 1 << 16

// letter is a packet that is under way.
type letter struct {
	due    time.Duration
	number uint64 // of all letters; orders those that are due at once
	to     address
	packet []byte
}

// post delivers letters when they are due. One goroutine does it, on a thread
// of its own that the kernel wakes to the microsecond: the runtime's timers
// may be a millisecond late.
type post struct {
	// Immutable after newPost.
	now     func() time.Duration
	deliver func(letter)
	alarm   *alarm

	// Guarded by mu.
	mu      sync.Mutex
	letters letters
	number  uint64
	closed  bool

	wg sync.WaitGroup
}

// newPost starts delivering. The caller closes it.
func newPost(now func() time.Duration, deliver func(letter)) (*post, error) {
	a, err := newAlarm()
	if err != nil {
		return nil, err
	}
	p := &post{now: now, deliver: deliver, alarm: a}
	p.wg.Go(p.run)
	return p, nil
}

// send has the packet delivered when it is due. It owns the packet. It returns
// false if too many are under way.
func (p *post) send(due time.Duration, to address, packet []byte) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed || len(p.letters) >= maxLetters {
		return false
	}
	p.number++
	heap.Push(&p.letters, letter{due, p.number, to, packet})
	if p.letters[0].number == p.number {
		p.alarm.ring()
	}
	return true
}

func (p *post) run() {
	runtime.LockOSThread() // and never unlocked: the thread is not like others any more
	p.alarm.tune()
	for {
		l, wait, ok := p.next()
		switch {
		case !ok:
			return
		case wait != 0:
			p.alarm.wait(wait)
		default:
			p.deliver(l)
		}
	}
}

// next takes the letter that is due, or says how long there is none; negative
// means until the alarm rings. It returns false after close.
func (p *post) next() (l letter, wait time.Duration, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.closed:
		return letter{}, 0, false
	case len(p.letters) == 0:
		return letter{}, -1, true
	}
	if wait := p.letters[0].due - p.now(); wait > 0 {
		return letter{}, wait, true
	}
	return heap.Pop(&p.letters).(letter), 0, true
}

// close ends the deliveries; what is under way is dropped.
func (p *post) close() {
	p.mu.Lock()
	closed := p.closed
	p.closed = true
	p.mu.Unlock()
	if closed {
		return
	}
	p.alarm.ring()
	p.wg.Wait()
	p.alarm.close()
}

// letters is a heap, by time and number.
type letters []letter

func (l letters) Len() int      { return len(l) }
func (l letters) Swap(i, j int) { l[i], l[j] = l[j], l[i] }
func (l letters) Less(i, j int) bool {
	return l[i].due < l[j].due || l[i].due == l[j].due && l[i].number < l[j].number
}
func (l *letters) Push(x any) { *l = append(*l, x.(letter)) }
func (l *letters) Pop() any {
	last := len(*l) - 1
	x := (*l)[last]
	(*l)[last] = letter{}
	*l = (*l)[:last]
	return x
}
