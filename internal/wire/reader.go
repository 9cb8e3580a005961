// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package wire

import "encoding/binary"

// reader takes fields off the front of b. After the first that is not whole,
// bad is set and everything is zero.
type reader struct {
	b   []byte
	bad bool
}

func (r *reader) bytes(n int) []byte {
	if r.bad || n > len(r.b) {
		r.bad = true
		return nil
	}
	out := r.b[:n]
	r.b = r.b[n:]
	return out
}

func (r *reader) uint8() uint8 {
	if b := r.bytes(1); b != nil {
		return b[0]
	}
	return 0
}

func (r *reader) uint16() uint16 {
	if b := r.bytes(2); b != nil {
		return binary.BigEndian.Uint16(b)
	}
	return 0
}

func (r *reader) uint32() uint32 {
	if b := r.bytes(4); b != nil {
		return binary.BigEndian.Uint32(b)
	}
	return 0
}

func (r *reader) uint64() uint64 {
	if b := r.bytes(8); b != nil {
		return binary.BigEndian.Uint64(b)
	}
	return 0
}

// short reads a text with its length in one byte before it. It does not alias.
func (r *reader) short() string { return string(r.bytes(int(r.uint8()))) }

// bool reads a byte that is 0 or 1.
func (r *reader) bool() bool {
	v := r.uint8()
	r.bad = r.bad || v > 1
	return v == 1
}

// number reads a number of at most MaxNumber.
func (r *reader) number() uint64 {
	n := r.uint64()
	r.bad = r.bad || n > MaxNumber
	return n
}

// name reads a text of 1 to limit bytes.
func (r *reader) name(limit int) string {
	s := r.short()
	r.bad = r.bad || s == "" || len(s) > limit
	return s
}

// text reads a text of at most limit bytes with its length in two bytes before
// it. It does not alias.
func (r *reader) text(limit int) string {
	n := int(r.uint16())
	if n > limit {
		r.bad = true
	}
	return string(r.bytes(n))
}

// rest reads all that is left as a text of at most limit bytes.
func (r *reader) rest(limit int) string {
	if len(r.b) > limit {
		r.bad = true
	}
	return string(r.bytes(len(r.b)))
}

// ids reads what appendIDs has written, into dst if there is room.
func (r *reader) ids(dst []uint64) []uint64 {
	n := int(r.uint16())
	if n == 0 || n*8 > len(r.b) {
		r.bad = true
		return nil
	}
	dst = dst[:0]
	for range n {
		dst = append(dst, r.uint64())
	}
	return dst
}

// appendShort appends a text of at most 255 bytes. A longer one is a bug of
// the caller: cut short, it would mean something else.
func appendShort(dst []byte, s string) []byte {
	if len(s) > 255 {
		panic("BUG: text of more than 255 bytes")
	}
	dst = append(dst, byte(len(s)))
	return append(dst, s...)
}

// appendText appends a text of at most limit bytes. Who may say something that
// is longer cuts it with CutText; anything else is a bug of the caller.
func appendText(dst []byte, s string, limit int) []byte {
	if len(s) > limit {
		panic("BUG: text beyond its limit")
	}
	dst = binary.BigEndian.AppendUint16(dst, uint16(len(s)))
	return append(dst, s...)
}

func appendBool(dst []byte, v bool) []byte {
	if v {
		return append(dst, 1)
	}
	return append(dst, 0)
}
