// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package wire

import "encoding/binary"

// Header is one key and value that travels beside a body. A key has at most
// 255 bytes, a value at most 65,535; keys may repeat.
type Header struct {
	Key   string
	Value string
}

const (
	headerCountSize = 2
	headerMinSize   = 3 // lengths of an empty key and an empty value
	maxKey          = 1<<8 - 1
	maxValue        = 1<<16 - 1
)

// HeadersSize is the length of the encoded headers in bytes; at least 2.
func HeadersSize(hs []Header) int {
	n := headerCountSize
	for i := range hs {
		n += headerMinSize + len(hs[i].Key) + len(hs[i].Value)
	}
	return n
}

// CheckHeaders returns ErrHeadersTooLarge if hs can't be encoded. Whoever
// takes headers from a user calls it before AppendTo or AppendHead.
func CheckHeaders(hs []Header) error {
	for i := range hs {
		if len(hs[i].Key) > maxKey || len(hs[i].Value) > maxValue {
			return ErrHeadersTooLarge
		}
	}
	if HeadersSize(hs) > MaxHeaderBytes {
		return ErrHeadersTooLarge
	}
	return nil
}

// ConvertHeaders returns a copy of hs with another name for the same type;
// package patterns, which this one does not know, has its own.
func ConvertHeaders[To, From ~struct{ Key, Value string }](hs []From) []To {
	if len(hs) == 0 {
		return nil
	}
	out := make([]To, len(hs))
	for i := range hs {
		out[i] = To(hs[i])
	}
	return out
}

// AppendHeaders appends encoded headers alone, for bodies that are sealed with
// their headers inside. They must pass CheckHeaders.
func AppendHeaders(dst []byte, hs []Header) []byte { return appendHeaders(dst, hs) }

// DecodeHeaders returns the headers at the start of b, which they do not alias,
// and what follows them.
func DecodeHeaders(b []byte) (hs []Header, rest []byte, err error) { return decodeHeaders(b) }

// appendHeaders panics on headers that CheckHeaders refuses: cutting a length
// short would make the message mean something else.
func appendHeaders(dst []byte, hs []Header) []byte {
	if len(hs) == 0 {
		return append(dst, 0, 0)
	}
	if err := CheckHeaders(hs); err != nil {
		panic("BUG: unchecked headers: " + err.Error())
	}
	dst = binary.BigEndian.AppendUint16(dst, uint16(len(hs)))
	for i := range hs {
		dst = append(dst, byte(len(hs[i].Key)))
		dst = append(dst, hs[i].Key...)
		dst = binary.BigEndian.AppendUint16(dst, uint16(len(hs[i].Value)))
		dst = append(dst, hs[i].Value...)
	}
	return dst
}

// decodeHeaders returns the headers at the start of b and what follows them.
// All strings share one allocation, which does not alias b.
func decodeHeaders(b []byte) (hs []Header, rest []byte, err error) {
	if len(b) < headerCountSize {
		return nil, nil, malformed("headers: short")
	}
	count := int(binary.BigEndian.Uint16(b))
	b = b[headerCountSize:]
	if count == 0 {
		return nil, b, nil
	}
	size, err := headersExtent(b, count)
	if err != nil {
		return nil, nil, err
	}
	block := string(b[:size])
	hs = make([]Header, count)
	for i := range hs {
		k := int(block[0])
		hs[i].Key, block = block[1:1+k], block[1+k:]
		v := int(block[0])<<8 | int(block[1])
		hs[i].Value, block = block[2:2+v], block[2+v:]
	}
	return hs, b[size:], nil
}

// headersExtent walks over count headers without allocating and returns their
// length.
func headersExtent(b []byte, count int) (int, error) {
	at := 0
	for range count {
		if at >= len(b) {
			return 0, malformed("headers: short")
		}
		at += 1 + int(b[at])
		if at+2 > len(b) {
			return 0, malformed("headers: short")
		}
		at += 2 + int(binary.BigEndian.Uint16(b[at:]))
		if at > len(b) {
			return 0, malformed("headers: short")
		}
		if headerCountSize+at > MaxHeaderBytes {
			return 0, ErrHeadersTooLarge
		}
	}
	return at, nil
}
