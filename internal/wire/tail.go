// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package wire

// SplitTail takes the tail of a Request or Reply apart that is not sealed. The
// body aliases it, the headers do not.
func SplitTail(tail []byte) (hs []Header, body []byte, err error) { return DecodeHeaders(tail) }

// AppendTail appends the headers, which must pass CheckHeaders, and the body.
func AppendTail(dst []byte, hs []Header, body []byte) []byte {
	return append(AppendHeaders(dst, hs), body...)
}
