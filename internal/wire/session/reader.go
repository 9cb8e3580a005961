// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package session

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"sync"
)

const (
	lengthSize = 4
	frameHead  = lengthSize + 1 // and the kind

	readBuffer = 32 << 10
	// firstRead bounds what is allocated for a frame before its bytes come.
	firstRead = 256 << 10
	// longChunk is from which length on the body of a TunnelData is read into
	// memory that Reuse gives back; chunkSize is the capacity of that. Chunks lack
	// the head of their body, which makes them shorter each time.
	longChunk = 48 << 10
	chunkSize = 72 << 10
)

// Reader cuts a byte stream into frames. It reads ahead, so nobody else may
// read from the stream. Not for concurrent use.
type Reader struct {
	r     *bufio.Reader
	limit int
	spare []byte // see Recycle
	err   error  // the first error; it is final

	// Used concurrently.
	chunks sync.Pool // of *[]byte, see Reuse
}

// NewReader returns a reader of the frames of r, which may have limit bytes of
// kind and body.
func NewReader(r io.Reader, limit int) *Reader {
	return &Reader{r: bufio.NewReaderSize(r, readBuffer), limit: limit}
}

// SetLimit changes the limit for the frames that follow.
func (r *Reader) SetLimit(limit int) { r.limit = limit }

// Reuse is Recycle for the chunk of a TunnelData, and may be called concurrently
// with everything. Nobody else may use the chunk any more.
func (r *Reader) Reuse(chunk []byte) {
	if cap(chunk) > MaxChunk+tunnelDataHead && cap(chunk) <= chunkSize {
		r.chunks.Put(&chunk)
	}
}

// Recycle lets Next use a body that it has returned again, for one of about the
// same length. Nobody else may use it any more.
func (r *Reader) Recycle(body []byte) {
	if cap(body) <= chunkSize { // which bounds what is kept
		r.spare = body
	}
}

// Next returns the next frame. The body is freshly allocated and belongs to
// the caller.
//
// The error is io.EOF if the stream ended between two frames,
// io.ErrUnexpectedEOF if it ended within one, ErrFrameTooLarge or ErrMalformed
// if it is no stream of frames, else the stream's. Every error is final: the
// position in the stream is lost, and Next returns the error again.
func (r *Reader) Next() (Kind, []byte, error) {
	if r.err != nil {
		return 0, nil, r.err
	}
	k, body, err := r.next()
	if err != nil {
		r.err = err
		return 0, nil, err
	}
	return k, body, nil
}

func (r *Reader) next() (Kind, []byte, error) {
	head, err := r.r.Peek(lengthSize)
	if err == nil {
		// The length is judged before anything else is waited for.
		switch n := binary.BigEndian.Uint32(head); {
		case uint64(n) > uint64(r.limit):
			return 0, nil, fmt.Errorf("%w: %d bytes, at most %d", ErrFrameTooLarge, n, r.limit)
		case n == 0:
			return 0, nil, malformed("frame without a kind")
		}
		head, err = r.r.Peek(frameHead)
	}
	if err != nil {
		if err == io.EOF && len(head) > 0 {
			err = io.ErrUnexpectedEOF
		}
		return 0, nil, err
	}
	n := int(binary.BigEndian.Uint32(head)) - 1
	k := Kind(head[lengthSize])
	if _, err := r.r.Discard(frameHead); err != nil {
		return 0, nil, err
	}
	body, err := r.body(k, n)
	if err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	return k, body, err
}

// body reads n bytes. What it allocates grows with what has come, so that a
// claim alone costs nothing.
func (r *Reader) body(k Kind, n int) ([]byte, error) {
	var body []byte
	if k == KindTunnelData && n >= longChunk && n <= chunkSize {
		body = r.freshChunk(n)
	} else {
		body = r.fresh(min(n, firstRead))
	}
	_, err := io.ReadFull(r.r, body)
	for err == nil && len(body) < n {
		have := len(body)
		grown := make([]byte, min(n, 4*have))
		copy(grown, body)
		body = grown
		_, err = io.ReadFull(r.r, body[have:])
	}
	return body, err
}

// freshChunk is fresh for a long chunk.
func (r *Reader) freshChunk(n int) []byte {
	if spare := r.spare; cap(spare) >= n {
		r.spare = nil
		return spare[:n]
	}
	if kept, ok := r.chunks.Get().(*[]byte); ok && cap(*kept) >= n {
		return (*kept)[:n]
	}
	return make([]byte, n, chunkSize)
}

// fresh returns n bytes to read into. A spare that is much longer stays for
// later: whoever gets the body may keep it.
func (r *Reader) fresh(n int) []byte {
	if spare := r.spare; n <= cap(spare) && n >= cap(spare)/2 {
		r.spare = nil
		return spare[:n]
	}
	return make([]byte, n)
}

// Buffered is the number of bytes read ahead: zero means that Next is likely
// to wait.
func (r *Reader) Buffered() int { return r.r.Buffered() }
