// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package mux

import (
	"net"
	"sync"

	pool "github.com/libp2p/go-buffer-pool"

	"github.com/arke-mesh/arke/internal/nowait"
)

// TLS 1.3 adds this much to each record of at most maxRecord bytes.
const (
	maxRecord      = 16 << 10
	recordOverhead = 5 + 1 + 16 // header, inner type, tag
)

// QueuedConn stands between TLS and the connection below: it keeps the records that
// TLS writes until the kernel takes them, so that encrypting never blocks, and
// nothing that ends a wait tears a record. Until New it only passes on.
type QueuedConn struct {
	net.Conn // below; TLS reads from it

	now   *nowait.Writer // held by who is busy
	in    *nowait.Reader // nil = Conn itself
	taken *gauge

	// Guarded by mu, which is never held during a write below.
	mu      sync.Mutex
	lost    func(error) // told of the first error; nil = the handshake is under way
	held    bool        // more is coming, and then a push
	hint    int         // bytes of what is held
	pending []byte
	put     uint64 // bytes that were ever pending
	busy    bool   // somebody writes below
	ended   bool   // the stream ends when nothing is pending
	err     error

	// Lifecycle.
	wg sync.WaitGroup // of drain
}

// NewQueuedConn returns the queue of c, which TLS is to write to and read from, by calls
// if they are not nil.
func NewQueuedConn(c net.Conn, calls *nowait.Calls) *QueuedConn {
	return &QueuedConn{Conn: c, now: nowait.New(c, calls), in: nowait.NewReader(c, calls), taken: newGauge()}
}

// Read implements net.Conn.
func (o *QueuedConn) Read(p []byte) (int, error) {
	if o.in == nil {
		return o.Conn.Read(p)
	}
	return o.in.Read(p)
}

// begin has everything that is written from here on kept until push.
func (o *QueuedConn) begin(lost func(error)) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.lost = lost
}

// hold announces so many bytes of plaintext, which push follows.
func (o *QueuedConn) hold(n int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.held, o.hint = true, n+(n/maxRecord+1)*recordOverhead
}

// release ends hold. It returns what taken will be when all of it has left.
func (o *QueuedConn) release() (mark uint64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.held = false
	return o.put
}

// Write implements net.Conn for TLS. TLS also writes on its own account, an alert
// or a key update, at any time.
func (o *QueuedConn) Write(p []byte) (int, error) {
	o.mu.Lock()
	if o.lost == nil {
		o.mu.Unlock()
		return o.Conn.Write(p)
	}
	if o.err != nil || o.ended {
		err := o.err
		o.mu.Unlock()
		return len(p), err
	}
	if o.pending == nil {
		o.pending = pool.Get(max(len(p), o.hint))[:0]
	}
	o.pending = append(o.pending, p...)
	o.put += uint64(len(p))
	held := o.held
	o.mu.Unlock()
	if !held {
		o.push()
	}
	return len(p), nil
}

// load is how many bytes the kernel has not taken.
func (o *QueuedConn) load() uint64 {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.put - o.taken.taken.Load()
}

// mark is what taken will be when everything that is pending has left.
func (o *QueuedConn) mark() uint64 {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.put
}

// push offers to the kernel what is pending. What it does not take at once is
// written as soon as it does. push does not wait.
func (o *QueuedConn) push() {
	b := o.next(false)
	for b != nil {
		n, err := o.now.Write(b)
		if err == nil && n < len(b) {
			o.taken.add(n)
			o.later(b, n)
			return
		}
		b = o.wrote(b, n, err)
	}
}

// Apart has what is written from here on stay apart in the kernel's buffers: see nowait.
func (o *QueuedConn) Apart(on bool) { o.now.Apart(on) }

// later has b written from n on, by a goroutine of its own.
func (o *QueuedConn) later(b []byte, n int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.err == nil {
		o.wg.Go(func() { o.drain(b, n) })
	}
}

// wait returns when nobody writes any more, after Close.
func (o *QueuedConn) wait() { o.wg.Wait() }

// drain writes b from n on, and what is pending then, until nothing is.
func (o *QueuedConn) drain(b []byte, n int) {
	for b != nil {
		m, err := o.writeAll(b[n:])
		b, n = o.wrote(b, m, err), 0
	}
}

// writeAll waits until the kernel has taken b.
func (o *QueuedConn) writeAll(b []byte) (int, error) {
	if o.now == nil {
		return o.Conn.Write(b)
	}
	return o.now.WriteAll(b)
}

// wrote notes that n more bytes of b, and so all of it if there is no error, have
// left, and returns what to write next.
func (o *QueuedConn) wrote(b []byte, n int, err error) (next []byte) {
	o.taken.add(n)
	if err != nil {
		o.fail(err)
		return nil
	}
	pool.Put(b)
	return o.next(true)
}

// next takes what is pending, to be written by the caller; mine says that it is
// the one who writes already.
func (o *QueuedConn) next(mine bool) (b []byte) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.busy && !mine || o.err != nil {
		return nil
	}
	b, o.pending = o.pending, nil
	o.busy = b != nil
	if b == nil && o.ended {
		o.closeWrite()
	}
	return b
}

// fail notes why nothing can be written any more.
func (o *QueuedConn) fail(err error) {
	o.mu.Lock()
	first := o.err == nil
	if first {
		o.err = err
	}
	o.busy, o.pending = false, nil
	lost := o.lost
	o.mu.Unlock()
	o.taken.close()
	if first && lost != nil {
		lost(err)
	}
}

// end ends the byte stream after what is pending; the peer reads EOF. What is
// written after it disappears: an error would close the connection, with a reset,
// although the peer is still reading.
func (o *QueuedConn) end() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.ended = true; !o.busy && o.pending == nil {
		o.closeWrite()
	}
}

func (o *QueuedConn) closeWrite() {
	if half, ok := o.Conn.(interface{ CloseWrite() error }); ok {
		_ = half.CloseWrite()
	}
}

// Close implements net.Conn.
func (o *QueuedConn) Close() error {
	o.mu.Lock()
	if o.err == nil {
		o.err = net.ErrClosed
	}
	o.mu.Unlock()
	o.taken.close()
	return o.Conn.Close()
}

// Err is why nothing can be written any more; nil = it can. It is known before Gone is
// closed.
func (o *QueuedConn) Err() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.err
}

// Gone is closed once the connection is.
func (o *QueuedConn) Gone() <-chan struct{} { return o.taken.closed }

// Taken is how many bytes, encrypted, the kernel has taken.
func (o *QueuedConn) Taken() uint64 { return o.taken.taken.Load() }
