// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package session

import (
	"encoding/binary"
	"fmt"
)

// Header is one key and value that travels beside a body. A key has at most
// 255 bytes, a value at most 65,535; keys may repeat.
type Header struct {
	Key   string
	Value string
}

const (
	headerCountSize = 2
	headerMinSize   = 3 // the lengths of an empty key and an empty value
	maxHeaderKey    = 1<<8 - 1
	maxHeaderValue  = 1<<16 - 1
)

// HeadersSize is the length of the encoded headers in bytes; at least 2.
func HeadersSize(hs []Header) int {
	n := headerCountSize
	for i := range hs {
		n += headerMinSize + len(hs[i].Key) + len(hs[i].Value)
	}
	return n
}

// CheckHeaders returns ErrFieldTooLarge if hs can't be encoded.
func CheckHeaders(hs []Header) error {
	for i := range hs {
		if len(hs[i].Key) > maxHeaderKey || len(hs[i].Value) > maxHeaderValue {
			return fmt.Errorf("%w: header %d", ErrFieldTooLarge, i)
		}
	}
	if n := HeadersSize(hs); n > MaxHeaders {
		return fmt.Errorf("%w: headers of %d bytes, at most %d", ErrFieldTooLarge, n, MaxHeaders)
	}
	return nil
}

// headersExtent walks over count headers without allocating and returns their
// length; -1 if they are malformed or beyond MaxHeaders.
func headersExtent(b []byte, count int) int {
	at := 0
	for range count {
		if at >= len(b) {
			return -1
		}
		at += 1 + int(b[at])
		if at+2 > len(b) {
			return -1
		}
		at += 2 + int(binary.BigEndian.Uint16(b[at:]))
		if at > len(b) || headerCountSize+at > MaxHeaders {
			return -1
		}
	}
	return at
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
