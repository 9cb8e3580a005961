// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package session

import (
	"encoding/binary"
	"fmt"
	"math"
	"strings"

	"github.com/arke-mesh/arke/internal/wire/header"
)

// encoder appends fields and remembers the first error. The bytes that end a
// frame are only referenced, so that a sender may leave them where they are.
type encoder struct {
	b    []byte
	tail []byte
	err  error
}

func (e *encoder) u8(v uint8)   { e.b = append(e.b, v) }
func (e *encoder) u16(v uint16) { e.b = binary.BigEndian.AppendUint16(e.b, v) }
func (e *encoder) u32(v uint32) { e.b = binary.BigEndian.AppendUint32(e.b, v) }
func (e *encoder) u64(v uint64) { e.b = binary.BigEndian.AppendUint64(e.b, v) }

func (e *encoder) bytes(b []byte) { e.b = append(e.b, b...) }
func (e *encoder) rest(b []byte)  { e.tail = b }

func (e *encoder) flag(v bool) {
	if v {
		e.u8(1)
		return
	}
	e.u8(0)
}

// bits appends a byte with a bit for each, the first the lowest.
func (e *encoder) bits(vs ...bool) {
	var b uint8
	for i, v := range vs {
		if v {
			b |= 1 << i
		}
	}
	e.u8(b)
}

// str appends a length in two bytes and s.
func (e *encoder) str(what, s string, limit int) {
	if len(s) > limit {
		e.tooLarge(what, len(s), limit)
		return
	}
	e.u16(uint16(len(s)))
	e.b = append(e.b, s...)
}

// text appends what was written for people; it is cut rather than refused.
func (e *encoder) text(s string) {
	if len(s) > MaxText { // not within a character: bindings may insist on UTF-8
		s = strings.ToValidUTF8(s[:MaxText], "")
	}
	e.str("text", s, MaxText)
}

func (e *encoder) headers(hs []Header) {
	if err := CheckHeaders(hs); err != nil {
		if e.err == nil {
			e.err = err
		}
		return
	}
	e.b = header.Append(e.b, hs)
}

func (e *encoder) tooLarge(what string, n, limit int) {
	if e.err == nil {
		e.err = fmt.Errorf("%w: %s of %d bytes, at most %d", ErrFieldTooLarge, what, n, limit)
	}
}

// frame appends all of f but its trailing bytes, which it leaves in tail, with a
// length that counts them.
func (e *encoder) frame(f Frame) error {
	start := len(e.b)
	e.b = append(e.b, 0, 0, 0, 0, uint8(f.Kind()))
	f.encode(e)
	if e.err != nil {
		return e.err
	}
	n := len(e.b) - start - lengthSize + len(e.tail)
	if n > math.MaxUint32 {
		return ErrFrameTooLarge
	}
	binary.BigEndian.PutUint32(e.b[start:], uint32(n))
	return nil
}

// Append appends the encoded frame and returns the extended slice. Errors are
// ErrFieldTooLarge and ErrFrameTooLarge.
func Append(dst []byte, f Frame) ([]byte, error) {
	e := encoder{b: dst}
	if err := e.frame(f); err != nil {
		return dst, err
	}
	if len(e.b)-len(dst)-lengthSize+len(e.tail) > MaxFrame {
		return dst, ErrFrameTooLarge
	}
	return append(e.b, e.tail...), nil
}
