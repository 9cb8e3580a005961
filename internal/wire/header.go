// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"errors"

	"github.com/arke-mesh/arke/internal/wire/header"
)

// Header is one key and value that travels beside a body. A key has at most
// 255 bytes, a value at most 65,535; keys may repeat.
type Header = header.Header

// HeadersSize is the length of the encoded headers in bytes; at least 2.
func HeadersSize(hs []Header) int { return header.Size(hs) }

// CheckHeaders returns ErrHeadersTooLarge if hs can't be encoded. Whoever
// takes headers from a user calls it before AppendTo or AppendHead.
func CheckHeaders(hs []Header) error {
	if header.Check(hs) != nil {
		return ErrHeadersTooLarge
	}
	return nil
}

// ConvertHeaders returns a copy of hs with another name for the same type;
// package patterns, which this one does not know, has its own.
func ConvertHeaders[To, From ~struct{ Key, Value string }](hs []From) []To {
	return header.Convert[To](hs)
}

// AppendHeaders appends encoded headers, also alone, for bodies that are sealed
// with their headers inside. It panics on headers that CheckHeaders refuses:
// cutting a length short would make the message mean something else.
func AppendHeaders(dst []byte, hs []Header) []byte {
	if err := header.Check(hs); err != nil {
		panic("BUG: unchecked headers: " + err.Error())
	}
	return header.Append(dst, hs)
}

// DecodeHeaders returns the headers at the start of b, which they do not alias,
// and what follows them.
func DecodeHeaders(b []byte) (hs []Header, rest []byte, err error) {
	hs, rest, err = header.Decode(b)
	switch {
	case errors.Is(err, header.ErrTooLarge):
		err = ErrHeadersTooLarge
	case err != nil:
		err = malformed("headers: short")
	}
	return hs, rest, err
}
