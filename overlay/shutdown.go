// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package overlay

import "context"

// leaving says whether Shutdown or Close has begun.
func (o *Overlay) leaving() bool { return o.departed.Load() }

// Shutdown ends all links politely: what is queued is sent, then a goodbye, and
// the peer's end is waited for, at most until ctx ends and at most five
// seconds; peers that hang already are not waited for. Then it closes. The
// error is ctx's, if it ended first, or Close's.
func (o *Overlay) Shutdown(ctx context.Context) error {
	o.departed.Store(true)
	o.search.stop()
	limited, cancel := WithTimeout(ctx, o.clock, "overlay/shutdown", shutdownLimit)
	defer cancel()
	var ended []<-chan struct{}
	for _, l := range o.allLinks() {
		if c := l.leave(); c != nil {
			ended = append(ended, c)
		}
	}
	for _, c := range ended {
		select {
		case <-c:
		case <-limited.Done():
		}
	}
	err := ctx.Err()
	if closeErr := o.Close(); err == nil {
		err = closeErr
	}
	return err
}

// leave has the link say goodbye when its queue is empty. The channel is
// closed when it is down; nil means that it is already, or may as well be.
func (l *Link) leave() <-chan struct{} {
	l.mu.Lock()
	defer l.unlock()
	if l.dialing.stop != nil {
		l.after.Add(l.dialing.stop)
	}
	if !l.up() || l.suspected.Load() {
		return nil // there is no telling whether a peer that hangs would ever answer
	}
	s := l.last.Load()
	l.after.Add(func() { s.Leave(codeShutdown, "shutting down") })
	return l.ended
}

// Close ends everything at once and waits for all goroutines. It may be
// called more than once.
func (o *Overlay) Close() error {
	o.departed.Store(true)
	o.closing.Do(func() {
		o.search.stop()
		for _, l := range append(o.allLinks(), o.loopback) {
			l.abandon()
		}
		o.cancel(ErrClosed)
		if o.started.Load() {
			o.closeErr = o.transport.Close()
		}
		o.gate.close()
		o.gate.wait()
		o.search.save()
	})
	return o.closeErr
}

// abandon ends the link at once.
func (l *Link) abandon() {
	l.mu.Lock()
	defer l.unlock()
	if l.dialing.stop != nil {
		l.after.Add(l.dialing.stop)
	}
	l.disappoint(ErrClosed)
	for _, s := range l.known.callers {
		l.after.Add(func() { s.Reset(codeShutdown) })
	}
	s := l.last.Load()
	switch {
	case !l.up():
	case s.Attached():
		l.after.Add(func() { s.Break(ErrClosed, codeShutdown) }) // lost ends the session
	case l == l.o.loopback:
		l.after.Add(s.End)
	default:
		l.endSession(ErrClosed)
	}
}
