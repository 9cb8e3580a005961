// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package session

import (
	"math"
	"net"
	"time"
)

// Run writes what is queued to c until Finish or Close, or until a write of at
// most 144 KiB fails or takes longer than timeout. It then closes the Sender,
// and returns the error of the write if there was one.
func (s *Sender) Run(c net.Conn, timeout time.Duration) error {
	defer s.Close()
	for range s.wake {
		for {
			s.feed()
			segments, last, done := s.take()
			if done {
				return nil
			}
			if len(segments) == 0 && len(last) == 0 {
				break
			}
			if err := s.write(c, timeout, segments, last); err != nil {
				return err
			}
			s.giveBack(last)
		}
	}
	return nil
}

// feed lets the rota add what may go behind all that is queued.
func (s *Sender) feed() {
	if s.rota == nil {
		return
	}
	s.rota.written()
	for fed := 0; fed < feedShare; {
		f := s.rota.next()
		if f == nil {
			return
		}
		n := frameSize(f)
		if s.pushFed(f, n) != nil {
			return // the connection is ending
		}
		fed += n
	}
}

func (s *Sender) pushFed(f Frame, n int) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, err := s.push(f, math.MaxInt, overtakes)
	if err == nil {
		s.fed += n
	}
	return err
}

// take returns all that is queued, or done if Run is to return.
func (s *Sender) take() (segments net.Buffers, last []byte, done bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed != nil || s.finish && s.queued == 0 {
		return nil, nil, true
	}
	if len(s.segments) == 0 && len(s.last) == 0 {
		s.spare = nil // one buffer is enough while nothing happens
		return nil, nil, false
	}
	segments, last = s.segments, s.last
	s.segments, s.last, s.spare = nil, s.spare, nil
	return segments, last, false
}

// write writes the segments and then last.
func (s *Sender) write(c net.Conn, timeout time.Duration, segments net.Buffers, last []byte) error {
	if len(segments) == 0 && len(last) <= maxWrite {
		if err := c.SetWriteDeadline(time.Now().Add(timeout)); err != nil {
			return err
		}
		n, err := c.Write(last)
		s.wrote(n)
		return err
	}
	if len(last) > 0 {
		segments = append(segments, last)
	}
	for len(segments) > 0 {
		var chunk net.Buffers
		chunk, segments = cut(segments, maxWrite)
		if err := c.SetWriteDeadline(time.Now().Add(timeout)); err != nil {
			return err
		}
		n, err := chunk.WriteTo(c)
		s.wrote(int(n))
		if err != nil {
			return err
		}
	}
	return nil
}

// cut returns the first n bytes of b, and the rest. It changes b.
func cut(b net.Buffers, n int) (head, rest net.Buffers) {
	for i := range b {
		if len(b[i]) > n {
			head = append(b[:i:i], b[i][:n])
			b[i] = b[i][n:]
			return head, b[i:]
		}
		n -= len(b[i])
	}
	return b, nil
}

// wrote counts what the kernel has taken and tells who waits for room.
func (s *Sender) wrote(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.written += uint64(n)
	if s.closed != nil {
		return
	}
	s.queued -= n
	if s.room == nil {
		s.serve(s.line.Len())
		return
	}
	s.serve(1) // the others have the rest, or they would wait as long as there is a line
	close(s.room)
	s.room = nil
}

// giveBack ends a write: it takes the buffer whose bytes are written, for those
// to come.
func (s *Sender) giveBack(buffer []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fed = 0
	if s.closed != nil || cap(buffer) > keepBuffer {
		return
	}
	if len(s.last) == 0 && cap(s.last) < cap(buffer) {
		s.last, buffer = buffer[:0], s.last
	}
	if cap(buffer) > cap(s.spare) {
		s.spare = buffer[:0]
	}
}
