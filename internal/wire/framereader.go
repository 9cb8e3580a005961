// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"encoding/binary"
	"fmt"
	"io"
)

// A reader begins with little memory, takes more while reads fill it, and goes back
// when most of it has not been used for many reads.
const (
	smallBuffer = 4 << 10
	readBuffer  = 64 << 10
	frameBuffer = 2 * readBuffer // where large frames lie in it
	shrinkAfter = 64
)

// keepsFor is how many frames of a kind, one of which was kept, must not be kept before
// it is read in place again. So of what kept frames hold on to, next to nothing holds a
// buffer.
const keepsFor = 255

// FrameReader cuts a byte stream into frames. It reads ahead, so nobody else
// may read from the stream. Not for concurrent use.
type FrameReader struct {
	r      io.Reader
	bodies *Bodies // see Share; nil = nothing is shared
	limit  uint32  // see Limit
	err    error   // the first error; it is final

	buf      []byte
	from, to int  // what of it was read and not returned
	pinned   bool // somebody keeps a part of it: it must not be written over
	full     bool // the last read has filled it
	unused   int  // reads in a row that used little of it

	last  Kind                // of the frame that was returned last …
	lies  bool                // … which lies in buf, and was not given back …
	own   bool                // … or in memory of its own …
	lent  []byte              // … or is of bodies
	keeps [kindMask + 1]uint8 // by kind: frames that are to be copied
	row   row
}

// row is frames of bodies that have come one behind the other, all equally long: most
// likely the next one is, too.
type row struct{ length, count int }

// came notes a frame of n bytes, and whether it was of bodies.
func (w *row) came(n int, shared bool) {
	switch {
	case !shared:
		w.count = 0
	case n != w.length:
		*w = row{n, 1}
	default:
		w.count++
	}
}

// expects is what the body of the next frame is expected to have; 0 = nobody knows.
func (w *row) expects() int {
	if w.count < 2 {
		return 0
	}
	return w.length
}

// NewFrameReader returns a reader of the frames of r.
func NewFrameReader(r io.Reader) *FrameReader { return &FrameReader{r: r, limit: MaxFrame} }

// Limit has Next refuse frames whose length is larger than n, from the next one on,
// before memory is there for them. It is MaxFrame, at most and at first.
func (r *FrameReader) Limit(n int) { r.limit = uint32(min(n, MaxFrame)) }

// Share lets Next take the bodies of long frames from b: those of TunnelData callers may
// put back; what they keep of others comes back by itself.
func (r *FrameReader) Share(b *Bodies) { r.bodies = b }

// Recycle says that nobody uses the body that Next has returned last any more. Who
// does not call it keeps the body.
func (r *FrameReader) Recycle() {
	if r.own {
		r.own = false
		r.keeps[r.last]--
	}
	if r.lies = false; r.lent != nil {
		r.bodies.Put(r.lent)
		r.lent = nil
	}
}

// Next returns the next frame. The body belongs to the caller, until Recycle; it is
// never nil, but may be empty.
//
// The error is io.EOF if the stream ended between two frames,
// io.ErrUnexpectedEOF if it ended within one, ErrFrameTooLarge or ErrMalformed
// if it is no stream of frames, else the reader's. Every error is final: the
// position in the stream is lost, and Next returns the error again.
func (r *FrameReader) Next() (Lane, Kind, []byte, error) {
	if r.err != nil {
		return 0, 0, nil, r.err
	}
	if r.lies {
		r.lies, r.pinned, r.keeps[r.last] = false, true, keepsFor
	}
	lane, k, body, err := r.next()
	if err != nil {
		r.err, r.buf = err, nil
		return 0, 0, nil, err
	}
	return lane, k, body, nil
}

// Buffered says whether the next frame was read already, all of it: then Next does not
// wait.
func (r *FrameReader) Buffered() bool {
	have := r.to - r.from
	return r.err == nil && have >= FrameOverhead && have-lengthSize >= int(binary.BigEndian.Uint32(r.buf[r.from:]))
}

func (r *FrameReader) next() (Lane, Kind, []byte, error) {
	if n := r.row.expects(); n > 0 && n < int(r.limit) && r.from == r.to {
		if lane, body, err := r.foreseen(n); body != nil || err != nil {
			return lane, KindTunnelData, body, err
		}
	}
	if err := r.head(); err != nil {
		return 0, 0, nil, err
	}
	n := int(binary.BigEndian.Uint32(r.buf[r.from:])) - 1
	head := r.buf[r.from+lengthSize]
	lane, k := Lane(head>>kindBits), Kind(head)&kindMask
	r.from += FrameOverhead
	r.last, r.lent, r.own = k, nil, false
	shared := k == KindTunnelData && n >= sharedFrom && r.bodies != nil
	r.row.came(n, shared)
	if !shared && r.keeps[k] == 0 {
		err := r.fill(n)
		if err != nil {
			return 0, 0, nil, within(err)
		}
		body := r.buf[r.from : r.from+n : r.from+n]
		r.from += n
		r.lies = n > 0
		return lane, k, body, nil
	}
	var body []byte
	if shared {
		body = r.bodies.get(n)
		r.lent = body
	} else {
		r.own = true
		body = r.bodies.Kept(n)
	}
	m := copy(body, r.buf[r.from:r.to])
	r.from += m
	if _, err := io.ReadFull(r.r, body[m:]); err != nil {
		return 0, 0, nil, within(err)
	}
	return lane, k, body, nil
}

// foreseen reads what comes next, if it is a TunnelData of n bytes as those before it,
// into the memory of its body: so nothing of it has to be copied. If it is something
// else, body is nil, and it lies in the buffer.
func (r *FrameReader) foreseen(n int) (lane Lane, body []byte, err error) {
	frame := r.bodies.get(FrameOverhead + n)
	m, err := io.ReadAtLeast(r.r, frame, FrameOverhead)
	if m == 0 && err != nil {
		return 0, nil, err
	}
	if m >= FrameOverhead && int(binary.BigEndian.Uint32(frame)) == n+1 && KindOf(frame[lengthSize]) == KindTunnelData {
		if _, err = io.ReadFull(r.r, frame[m:]); err != nil {
			return 0, nil, within(err)
		}
		r.last, r.lent, r.own = KindTunnelData, frame[FrameOverhead:], false
		return Lane(frame[lengthSize] >> kindBits), r.lent, nil
	}
	r.row = row{}
	r.room(m)
	r.to += copy(r.buf[r.to:], frame[:m])
	r.bodies.Put(frame)
	return 0, nil, nil // what is wrong with less than a head is found again
}

// within is what an error means within a frame.
func within(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}

// head reads until the length and the head of a frame are there, and judges the
// length even if nothing follows it.
func (r *FrameReader) head() error {
	err := r.fill(FrameOverhead)
	have := r.to - r.from
	if have >= lengthSize {
		switch n := binary.BigEndian.Uint32(r.buf[r.from:]); {
		case n > r.limit:
			return fmt.Errorf("%w: %d bytes, at most %d", ErrFrameTooLarge, n, r.limit)
		case n == 0:
			return malformed("frame without a kind")
		}
	}
	if have > 0 && err != nil {
		return within(err)
	}
	return err
}

// fill reads until n bytes are there.
func (r *FrameReader) fill(n int) error {
	for r.to-r.from < n {
		r.room(n)
		m, err := io.ReadAtLeast(r.r, r.buf[r.to:], 1)
		r.to += m
		r.full = r.to == len(r.buf)
		if err != nil && r.to-r.from < n {
			return err
		}
	}
	return nil
}

// room sees to it that n bytes from r.from on fit into the buffer, and that it is
// worth while to read into what is free of it.
func (r *FrameReader) room(n int) {
	have := r.to - r.from
	size := max(len(r.buf), smallBuffer)
	switch {
	case r.full && size < readBuffer:
		size *= 2
	case r.to <= size/16:
		if r.unused++; r.unused >= shrinkAfter && have == 0 {
			size, r.unused = smallBuffer, 0
		}
	default:
		r.unused = 0
	}
	if n > size {
		size = min(max(2*n, size), max(n, frameBuffer))
	}
	free := len(r.buf) - r.to
	switch {
	case size != len(r.buf), r.pinned && (r.from+n > len(r.buf) || free < size/8):
		grown := make([]byte, size)
		copy(grown, r.buf[r.from:r.to])
		r.buf, r.pinned = grown, false
	case r.pinned || have > 0 && r.from+n <= len(r.buf) && free >= size/8:
		return // there is room behind what was read
	default:
		copy(r.buf, r.buf[r.from:r.to])
	}
	r.from, r.to, r.full = 0, have, false
}
