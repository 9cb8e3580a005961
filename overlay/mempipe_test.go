// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package overlay_test

import (
	"errors"
	"os"
	"sync"
	"time"
)

// pipe is one direction of a stream.
type pipe struct {
	delay time.Duration

	mu       sync.Mutex
	cond     *sync.Cond
	buf      []byte   // arrived
	off      int      // read of it
	pending  int      // written, not read
	flying   []func() // deliveries under way
	frozen   bool     // nothing arrives, until thaw
	held     []func()
	closed   bool  // by the writer
	err      error // what the reader sees after buf
	aborted  error // what both see at once
	readEnd  time.Time
	writeEnd time.Time
}

func newPipe(delay time.Duration) *pipe {
	p := &pipe{delay: delay}
	p.cond = sync.NewCond(&p.mu)
	return p
}

func (p *pipe) write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for p.pending > 0 && p.aborted == nil && !p.closed && !past(p.writeEnd) {
		p.cond.Wait()
	}
	switch {
	case p.aborted != nil:
		return 0, p.aborted
	case p.closed:
		return 0, errors.New("memory: write after CloseWrite")
	case past(p.writeEnd):
		return 0, os.ErrDeadlineExceeded
	}
	p.pending += len(b)
	if p.delay == 0 && !p.frozen {
		p.buf = append(p.buf, b...)
		p.cond.Broadcast()
		return len(b), nil
	}
	c := append([]byte(nil), b...)
	p.arrive(func() { p.buf = append(p.buf, c...) })
	return len(b), nil
}

// arrive has f called, with mu held, when what is sent now arrives. Timers of
// the same instant fire in any order; arrivals keep theirs.
func (p *pipe) arrive(f func()) {
	if p.delay == 0 {
		p.land(f)
		return
	}
	p.flying = append(p.flying, f)
	time.AfterFunc(p.delay, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		first := p.flying[0]
		p.flying = p.flying[1:]
		p.land(first)
	})
}

func (p *pipe) land(f func()) {
	if p.frozen {
		p.held = append(p.held, f)
		return
	}
	f()
	p.cond.Broadcast()
}

func (p *pipe) read(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for p.off == len(p.buf) && p.err == nil && p.aborted == nil && !past(p.readEnd) {
		p.cond.Wait()
	}
	switch {
	case p.aborted != nil:
		return 0, p.aborted
	case p.off < len(p.buf):
		n := copy(b, p.buf[p.off:])
		p.pending -= n
		if p.off += n; p.off == len(p.buf) {
			p.buf, p.off = p.buf[:0], 0
		}
		p.cond.Broadcast()
		return n, nil
	case p.err != nil:
		return 0, p.err
	}
	return 0, os.ErrDeadlineExceeded
}

func (p *pipe) end(err error) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.aborted != nil {
		return p.aborted
	}
	p.closed = true
	p.arrive(func() { p.err = err })
	return nil
}

func (p *pipe) abort(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.aborted == nil && !(p.closed && p.err != nil && p.off == len(p.buf)) {
		p.aborted = err
		p.cond.Broadcast()
	}
}

func (p *pipe) over() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.aborted != nil || p.err != nil
}

// freeze lets nothing arrive any more; thaw lets all that arrive at once.
func (p *pipe) freeze() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.frozen = true
}

func (p *pipe) thaw() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.frozen = false
	for _, f := range p.held {
		f()
	}
	p.held = nil
	p.cond.Broadcast()
}

func (p *pipe) deadline(field *time.Time, t time.Time) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	*field = t
	if !t.IsZero() {
		time.AfterFunc(time.Until(t), func() {
			p.mu.Lock()
			defer p.mu.Unlock()
			p.cond.Broadcast()
		})
	}
	p.cond.Broadcast()
	return nil
}

func past(t time.Time) bool { return !t.IsZero() && !time.Now().Before(t) }
