// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package overlay

import (
	"errors"
	"fmt"
)

// write feeds the stream until it is over: a batch of whatever has the
// highest priority, as soon as the stream has taken the previous one. What is
// queued during a write leaves together in the next.
func (st *stream) write() {
	defer close(st.written)
	for {
		batch, last, over := st.l.next(st)
		switch {
		case over:
			st.l.writeEnded(st, nil)
			return
		case last != nil:
			st.l.writeEnded(st, st.leave(last))
			return
		case batch == nil:
			st.await()
			continue
		}
		if err := st.send(batch); err != nil {
			st.l.writeEnded(st, writeError(err))
			return
		}
	}
}

func (st *stream) await() {
	select {
	case <-st.kick:
	case <-st.l.o.ctx.Done(): // not even Exec wakes anybody any more
	}
}

// send writes a list of chunks at once, and returns them to the pool.
func (st *stream) send(batch *chunk) error {
	pool := &st.l.o.chunks
	var bytes ByLane
	if batch.next == nil {
		bytes[batch.lane] = uint64(len(batch.b))
		_, err := st.s.Write(batch.b)
		pool.put(batch)
		return st.sent(bytes, err)
	}
	joined := st.l.o.batches.get()
	for c := batch; c != nil; c = c.next {
		bytes[c.lane] += uint64(len(c.b))
		joined.b = append(joined.b, c.b...)
	}
	pool.putAll(batch)
	_, err := st.s.Write(joined.b)
	st.l.o.batches.put(joined)
	return st.sent(bytes, err)
}

func (st *stream) sent(bytes ByLane, err error) error {
	if err == nil {
		st.l.wrote(bytes)
	}
	return err
}

// leave says the last words of this direction.
func (st *stream) leave(f *farewell) error {
	if !f.silent {
		if err := st.say(encodeGoodbye(f.code, f.reason)); err != nil {
			return err
		}
	}
	if err := st.s.CloseWrite(); err != nil && !f.silent {
		return writeError(err)
	}
	return nil
}

func writeError(err error) error {
	if errors.Is(err, ErrLost) {
		return err
	}
	return fmt.Errorf("%w: write: %w", ErrLost, err)
}

// next is what the writer of st does next: send a batch, leave, stop, or, if
// all are zero, wait for a kick.
func (l *Link) next(st *stream) (batch *chunk, last *farewell, over bool) {
	l.mu.Lock()
	defer l.unlock()
	if st.failed != nil || l.o.ctx.Err() != nil {
		return nil, nil, true
	}
	if f := st.farewell; f != nil && !(f.flush && l.up() && !l.sess.queue.empty()) {
		return nil, f, false
	}
	if l.sender == st && l.up() {
		batch = l.sess.queue.take(batchLimit)
		l.wakeGranted(l.sess)
		if batch == nil { // what waited for room may be there now
			batch = l.sess.queue.take(batchLimit)
		}
	}
	st.idle = batch == nil
	return batch, nil, false
}
