// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package worker

import (
	"encoding/binary"
	"errors"
	"io"
	"net"
	"sync"
	"time"
)

// patience is how long a window may stand still before what is under way counts
// as lost.
const patience = 500 * time.Millisecond

// window holds a process's publishers back: each may be so many messages ahead
// of the slowest subscriber.
type window struct {
	size     uint64 // 0 = no window
	listener net.Listener

	mu      sync.Mutex
	moved   sync.Cond
	heard   map[int][]*uint64 // by publisher: how far each subscriber is
	forgive map[int]uint64    // by publisher: what is not waited for any more
	stalled int
	closed  bool
}

func newWindow(size int) (*window, error) {
	w := &window{size: uint64(size), heard: map[int][]*uint64{}, forgive: map[int]uint64{}}
	w.moved.L = &w.mu
	if size == 0 {
		return w, nil
	}
	var err error
	if w.listener, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
		return nil, err
	}
	go func() {
		for {
			conn, err := w.listener.Accept()
			if err != nil {
				return
			}
			go w.hear(conn)
		}
	}()
	return w, nil
}

func (w *window) addr() string {
	if w.size == 0 {
		return ""
	}
	return w.listener.Addr().String()
}

// hear reads how far one subscriber is: a publisher and a number at a time.
func (w *window) hear(conn net.Conn) {
	defer conn.Close()
	far := map[int]*uint64{}
	var note [8]byte
	for {
		if _, err := io.ReadFull(conn, note[:]); err != nil {
			return
		}
		head := binary.BigEndian.Uint64(note[:])
		publisher, number := int(head>>48), head&numbers
		w.mu.Lock()
		if far[publisher] == nil {
			far[publisher] = new(uint64)
			w.heard[publisher] = append(w.heard[publisher], far[publisher])
		}
		*far[publisher] = number
		w.moved.Broadcast()
		w.mu.Unlock()
	}
}

// take waits until the publisher may publish number n; false if the window was
// closed first. The lock is taken for every sixteenth of a window only.
func (w *window) take(publisher int, n uint64) bool {
	step := max(w.size/16, 1)
	if w.size == 0 || n%step != 0 {
		return true
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	since := time.Now()
	for !w.closed && n+step > w.slowest(publisher)+w.size {
		if time.Since(since) > patience {
			w.forgive[publisher] = n
			w.stalled++
			break
		}
		wake := time.AfterFunc(patience, w.moved.Broadcast)
		w.moved.Wait()
		wake.Stop()
	}
	return !w.closed
}

func (w *window) slowest(publisher int) uint64 {
	slowest := uint64(numbers)
	for _, n := range w.heard[publisher] {
		slowest = min(slowest, *n)
	}
	if len(w.heard[publisher]) == 0 {
		slowest = 0
	}
	return max(slowest, w.forgive[publisher])
}

func (w *window) stalls() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.stalled
}

// close lets everybody go. It may be called more than once.
func (w *window) close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.closed = true
	w.moved.Broadcast()
	if w.listener != nil {
		_ = w.listener.Close()
	}
}

// progress tells the publishers how far a subscriber is.
type progress struct {
	every uint64
	conns []net.Conn // by worker of publishers
}

func newProgress(size, publishers int, addrs []string) (*progress, error) {
	p := &progress{every: uint64(max(size/8, 1))}
	for _, addr := range addrs {
		if addr == "" {
			continue
		}
		conn, err := net.Dial("tcp", addr)
		if err != nil {
			return nil, err
		}
		p.conns = append(p.conns, conn)
	}
	for i := range publishers { // they wait for nobody they have not heard of
		p.note(i, 0)
	}
	return p, nil
}

// note says that everything of a publisher before number was seen, or will not
// be.
func (p *progress) note(publisher int, number uint64) {
	var note [8]byte
	binary.BigEndian.PutUint64(note[:], uint64(publisher)<<48|number)
	for _, conn := range p.conns {
		_, _ = conn.Write(note[:])
	}
}

func (p *progress) close() error {
	var errs []error
	for _, conn := range p.conns {
		errs = append(errs, conn.Close())
	}
	return errors.Join(errs...)
}
