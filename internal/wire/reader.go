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

// appendShort appends a text of at most 255 bytes. A longer one is a bug of
// the caller: cut short, it would mean something else.
func appendShort(dst []byte, s string) []byte {
	if len(s) > 255 {
		panic("BUG: text of more than 255 bytes")
	}
	dst = append(dst, byte(len(s)))
	return append(dst, s...)
}
