// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package session

import (
	"fmt"

	"github.com/arke-mesh/arke/internal/wire/header"
)

// Header is one key and value that travels beside a body. A key has at most
// 255 bytes, a value at most 65,535; keys may repeat.
type Header = header.Header

// HeadersSize is the length of the encoded headers in bytes; at least 2.
func HeadersSize(hs []Header) int { return header.Size(hs) }

// CheckHeaders returns ErrFieldTooLarge if hs can't be encoded.
func CheckHeaders(hs []Header) error {
	if err := header.Check(hs); err != nil {
		return fmt.Errorf("%w: %v", ErrFieldTooLarge, err)
	}
	return nil
}

// ConvertHeaders returns a copy of hs with another name for the same type;
// package patterns, which this one does not know, has its own.
func ConvertHeaders[To, From ~struct{ Key, Value string }](hs []From) []To {
	return header.Convert[To](hs)
}
