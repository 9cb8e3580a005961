// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package mux

import (
	"io"

	pool "github.com/libp2p/go-buffer-pool"
)

// receiver reads a connection: frame by frame, whoever leads. Its fields are owned by
// that goroutine but for away.
type receiver struct {
	c    *Conn
	back chan struct{} // has room for one: the lead is given back

	head   [headSize]byte
	have   int     // bytes of head
	left   int     // bytes of data that follow
	target *Stream // whose they are; nil = nobody's

	away bool // the lead was given away; owned by who gave it
}

// lead makes one step, or gives the lead away and gets it back. While it is away lead
// returns a stream that comes from accepted.
func (in *receiver) lead(accepted <-chan *Stream) (*Stream, error) {
	if !in.away && in.left > 0 {
		in.away = in.c.yield()
	}
	if !in.away {
		return nil, in.step()
	}
	select {
	case s := <-accepted:
		return s, nil
	case <-in.back:
		in.away = false
		return nil, nil
	case <-in.c.done:
		return nil, in.c.cause()
	}
}

// fail ends the connection because of err, and waits for who writes.
func (in *receiver) fail(err error) {
	in.c.fail(err)
	in.c.out.wait()
}

// step reads one head and does what it asks for, or the data that follow it.
func (in *receiver) step() error {
	if in.left > 0 {
		return in.body()
	}
	h, err := in.next()
	if err != nil {
		return err
	}
	return in.c.dispatch(h)
}

// next reads a head. It may be called again after a deadline.
func (in *receiver) next() (head, error) {
	for in.have < headSize {
		n, err := in.read(in.head[in.have:])
		in.have += n
		if err != nil {
			if err == io.EOF && in.have > 0 {
				err = io.ErrUnexpectedEOF
			}
			return head{}, err
		}
	}
	in.have = 0
	return parseHead(in.head[:])
}

// read returns bytes or an error.
func (in *receiver) read(p []byte) (int, error) {
	n, err := in.c.secure.Read(p)
	switch {
	case n > 0:
		in.c.heard()
		return n, nil
	case err == nil:
		err = io.ErrNoProgress
	}
	return 0, err
}

// body reads the data that follow into the buffer of their stream, if there is one.
func (in *receiver) body() error {
	b := pool.Get(min(in.left, maxRecord))
	defer pool.Put(b)
	for in.left > 0 {
		n, err := in.read(b[:min(in.left, len(b))])
		if err != nil {
			return err
		}
		in.left -= n
		if in.target != nil {
			in.target.store(b[:n])
		}
	}
	return nil
}
