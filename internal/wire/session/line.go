// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package session

import (
	"container/list"
	"context"
	"time"
)

// standing is a frame that stands in line for room. The line is served in its
// order and by whoever makes room, so that neither who comes later nor who wakes
// up sooner is before it, however large it is.
type standing struct {
	frame  Frame
	place  *list.Element // of Sender.line
	placed chan struct{} // closed when what follows is set
	end    uint64
	err    error
}

// stand queues f, or returns its place in the line if there is no room.
func (s *Sender) stand(f Frame) (w *standing, end uint64, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	end, err = s.push(f, s.limit, inLine)
	if err != ErrQueueFull {
		return nil, end, err
	}
	w = &standing{frame: f, placed: make(chan struct{})}
	w.place = s.line.PushBack(w)
	return w, 0, nil
}

// leave gives up w's place and returns why, unless its frame is queued already.
func (s *Sender) leave(w *standing, why error) (end uint64, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case <-w.placed:
		return w.end, w.err
	default:
	}
	s.line.Remove(w.place)
	s.serve(s.line.Len()) // those behind it may need less
	return 0, why
}

// serve queues the frames of up to n who stand in line, as far as there is room.
// The caller holds mu.
func (s *Sender) serve(n int) {
	for ; n > 0 && s.line.Len() > 0; n-- {
		w := s.line.Front().Value.(*standing)
		end, err := s.push(w.frame, s.limit, overtakes)
		if err == ErrQueueFull {
			return
		}
		s.line.Remove(w.place)
		w.end, w.err = end, err
		close(w.placed)
	}
}

// SendWait is Send, but waits for room until ctx ends; who waits longer is
// before who waits less. What it returns is the position of the frame's end in
// the stream: if [Sender.Written] is less after Run has returned, nobody has seen
// the whole frame.
func (s *Sender) SendWait(ctx context.Context, f Frame) (end uint64, err error) {
	w, end, err := s.stand(f)
	if w == nil {
		return end, err
	}
	select {
	case <-w.placed:
		return w.end, w.err
	case <-ctx.Done():
		return s.leave(w, ctx.Err())
	}
}

// looks is how often SendWhileRead looks in its patience. It counts looks, not
// time: while this process doesn't get the processor it says nothing about the
// other side, whose reads it would not notice either.
const looks = 10

// SendWhileRead is SendWait, but waits only as long as the other side reads: it
// returns ErrQueueFull when the connection has taken nothing for patience.
func (s *Sender) SendWhileRead(ctx context.Context, f Frame, patience time.Duration) (end uint64, err error) {
	w, end, err := s.stand(f)
	if w == nil {
		return end, err
	}
	look := time.NewTimer(patience / looks)
	defer look.Stop()
	for before, silent := s.Written(), 0; ; {
		select {
		case <-w.placed:
			return w.end, w.err
		case <-ctx.Done():
			return s.leave(w, ctx.Err())
		case <-look.C:
		}
		silent++
		if now := s.Written(); now != before {
			before, silent = now, 0
		}
		if silent == looks {
			return s.leave(w, ErrQueueFull)
		}
		look.Reset(patience / looks)
	}
}
