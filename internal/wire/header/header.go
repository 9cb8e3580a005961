// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package header

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// Header is one key and value that travels beside a body. A key has at most
// 255 bytes, a value at most 65,535; keys may repeat.
type Header struct {
	Key   string
	Value string
}

// MaxBytes bounds the encoded headers of one message, their count included.
const MaxBytes = 16 << 10

const (
	countSize = 2
	minSize   = 3 // the lengths of an empty key and an empty value
	maxKey    = 1<<8 - 1
	maxValue  = 1<<16 - 1
)

var (
	// ErrShort is returned by Decode for bytes that end within the headers.
	ErrShort = errors.New("header: short")

	// ErrTooLarge is returned by Decode for headers beyond MaxBytes.
	ErrTooLarge = errors.New("header: too large")
)

// Size is the length of the encoded headers in bytes; at least 2.
func Size(hs []Header) int {
	n := countSize
	for i := range hs {
		n += minSize + len(hs[i].Key) + len(hs[i].Value)
	}
	return n
}

// Check says why hs can't be encoded; nil if they can.
func Check(hs []Header) error {
	for i := range hs {
		if len(hs[i].Key) > maxKey || len(hs[i].Value) > maxValue {
			return fmt.Errorf("header %d", i)
		}
	}
	if n := Size(hs); n > MaxBytes {
		return fmt.Errorf("headers of %d bytes, at most %d", n, MaxBytes)
	}
	return nil
}

// Append appends the encoded headers, which must pass Check.
func Append(dst []byte, hs []Header) []byte {
	dst = binary.BigEndian.AppendUint16(dst, uint16(len(hs)))
	for i := range hs {
		dst = append(dst, byte(len(hs[i].Key)))
		dst = append(dst, hs[i].Key...)
		dst = binary.BigEndian.AppendUint16(dst, uint16(len(hs[i].Value)))
		dst = append(dst, hs[i].Value...)
	}
	return dst
}

// Decode returns the headers at the start of b, which they do not alias, and
// what follows them. Errors are ErrShort and ErrTooLarge.
func Decode(b []byte) (hs []Header, rest []byte, err error) {
	if len(b) < countSize {
		return nil, nil, ErrShort
	}
	count := int(binary.BigEndian.Uint16(b))
	b = b[countSize:]
	if count == 0 {
		return nil, b, nil
	}
	size, err := extent(b, count)
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

// extent walks over count headers without allocating and returns their length.
func extent(b []byte, count int) (int, error) {
	at := 0
	for range count {
		if at >= len(b) {
			return 0, ErrShort
		}
		at += 1 + int(b[at])
		if at+2 > len(b) {
			return 0, ErrShort
		}
		at += 2 + int(binary.BigEndian.Uint16(b[at:]))
		if at > len(b) {
			return 0, ErrShort
		}
		if countSize+at > MaxBytes {
			return 0, ErrTooLarge
		}
	}
	return at, nil
}

// Convert returns a copy of hs with another name for the same type: package
// patterns has its own.
func Convert[To, From ~struct{ Key, Value string }](hs []From) []To {
	if len(hs) == 0 {
		return nil
	}
	out := make([]To, len(hs))
	for i := range hs {
		out[i] = To(hs[i])
	}
	return out
}
