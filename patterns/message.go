// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package patterns

// MaxHeaderBytes bounds the encoded headers of one message.
const MaxHeaderBytes = 16 << 10

// Header is one key and value that travels beside a body. Keys are compared
// exactly, may repeat, and are at most 255 bytes; values are at most 64 KiB-1.
// W3C trace context travels as "traceparent" and "tracestate".
type Header struct {
	Key   string
	Value string
}

// Headers is an ordered list of headers; nil is legal.
type Headers []Header

// Get returns the value of the first header with that key, or "".
func (h Headers) Get(key string) string {
	for i := range h {
		if h[i].Key == key {
			return h[i].Value
		}
	}
	return ""
}

// Message is a body with headers. An empty body is legal.
type Message struct {
	Headers Headers
	Body    []byte
}
