// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
)

const (
	lengthSize = 4
	// FrameOverhead is what AppendFrame adds to a body, in bytes: the length
	// and the head.
	FrameOverhead = lengthSize + 1

	// A whole frame fits, so that a burst of small frames costs one read
	// below, and a large one at most two.
	readBuffer = 72 << 10

	kindBits = 6 // of the head; the others are the lane
	kindMask = 1<<kindBits - 1
)

// AppendFrame appends one frame, whose body is the concatenation of parts, and
// returns the extended slice. It copies the parts. A body of more than
// MaxFrame-1 bytes, or a kind beyond 63, is a bug of the caller: it panics.
func AppendFrame(dst []byte, lane Lane, k Kind, parts ...[]byte) []byte {
	n := 0
	for _, p := range parts {
		n += len(p)
	}
	dst = AppendFrameHead(dst, lane, k, n)
	for _, p := range parts {
		dst = append(dst, p...)
	}
	return dst
}

// AppendFrameHead appends what comes before the body of a frame, which has n
// bytes.
func AppendFrameHead(dst []byte, lane Lane, k Kind, n int) []byte {
	n++
	if n > MaxFrame || k > kindMask || lane >= Lanes {
		panic(fmt.Sprintf("BUG: frame of %d bytes, kind %d, lane %d", n, k, lane))
	}
	dst = binary.BigEndian.AppendUint32(dst, uint32(n))
	return append(dst, byte(lane)<<kindBits|byte(k))
}

// FirstFrame returns the kind and the whole length, FrameOverhead included, of
// the encoded frame that b begins with, and its body. b is what AppendFrame made.
func FirstFrame(b []byte) (k Kind, body []byte, size int) {
	size = lengthSize + int(binary.BigEndian.Uint32(b))
	return Kind(b[lengthSize]) & kindMask, b[FrameOverhead:size], size
}

// KindOf is the kind in the head of a frame, the byte behind its length.
func KindOf(head byte) Kind { return Kind(head) & kindMask }

// VoidFrame makes the encoded frame that b begins with one that is skipped.
func VoidFrame(b []byte) { b[lengthSize] = b[lengthSize]&^kindMask | byte(KindVoid) }

// FrameReader cuts a byte stream into frames. It reads ahead, so nobody else
// may read from the stream. Not for concurrent use.
type FrameReader struct {
	r      *bufio.Reader
	bodies *Bodies // see Share; nil = nothing is shared
	spare  []byte  // see Recycle
	err    error   // the first error; it is final
}

// NewFrameReader returns a reader of the frames of r.
func NewFrameReader(r io.Reader) *FrameReader {
	return &FrameReader{r: bufio.NewReaderSize(r, readBuffer)}
}

// Share lets Next take the bodies of long TunnelData frames from b, and give them
// to callers who may put them back.
func (r *FrameReader) Share(b *Bodies) { r.bodies = b }

// Recycle lets Next use a body that it has returned again. Nobody else may use
// it any more. A reader that waits keeps none.
func (r *FrameReader) Recycle(body []byte) { r.spare = body }

// Next returns the next frame. The body belongs to the caller; it is never nil,
// but may be empty.
//
// The error is io.EOF if the stream ended between two frames,
// io.ErrUnexpectedEOF if it ended within one, ErrFrameTooLarge or ErrMalformed
// if it is no stream of frames, else the reader's. Every error is final: the
// position in the stream is lost, and Next returns the error again.
func (r *FrameReader) Next() (Lane, Kind, []byte, error) {
	if r.err != nil {
		return 0, 0, nil, r.err
	}
	lane, k, body, err := r.next()
	if err != nil {
		r.err = err
		return 0, 0, nil, err
	}
	return lane, k, body, nil
}

func (r *FrameReader) next() (Lane, Kind, []byte, error) {
	if r.r.Buffered() == 0 {
		r.spare = nil
	}
	head, err := r.r.Peek(FrameOverhead)
	if len(head) >= lengthSize {
		// The length is judged even if nothing follows it.
		switch n := binary.BigEndian.Uint32(head); {
		case n > MaxFrame:
			return 0, 0, nil, fmt.Errorf("%w: %d bytes, at most %d", ErrFrameTooLarge, n, MaxFrame)
		case n == 0:
			return 0, 0, nil, malformed("frame without a kind")
		}
	}
	if err != nil {
		if err == io.EOF && len(head) > 0 {
			err = io.ErrUnexpectedEOF
		}
		return 0, 0, nil, err
	}
	n := binary.BigEndian.Uint32(head)
	lane, k := Lane(head[lengthSize]>>kindBits), Kind(head[lengthSize])&kindMask
	if _, err := r.r.Discard(FrameOverhead); err != nil {
		return 0, 0, nil, err
	}
	body := r.fresh(k, int(n-1))
	if _, err := io.ReadFull(r.r, body); err != nil {
		if err == io.EOF {
			err = io.ErrUnexpectedEOF
		}
		return 0, 0, nil, err
	}
	return lane, k, body, nil
}

// fresh returns n bytes to read into. A spare that is much longer is not for
// them: whoever gets the body may keep it.
func (r *FrameReader) fresh(k Kind, n int) []byte {
	if k == KindTunnelData && n >= sharedFrom && r.bodies != nil {
		return r.bodies.get(n)
	}
	if spare := r.spare; n > 0 && n <= cap(spare) && n >= cap(spare)/2 {
		r.spare = nil
		return spare[:n]
	}
	return make([]byte, n)
}

// Buffered is the number of bytes read ahead: zero means that Next is likely
// to wait.
func (r *FrameReader) Buffered() int { return r.r.Buffered() }
