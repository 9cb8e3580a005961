// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package session

import (
	"encoding/binary"
	"fmt"

	"github.com/arke-mesh/arke/internal/wire/header"
)

// decoder takes fields from b. After the first error it gives zero values, so
// that a decoder needs to look only once, at its end.
type decoder struct {
	b   []byte
	err error
}

func (d *decoder) fail(what string) {
	if d.err == nil {
		d.err = malformed(what)
	}
	d.b = nil
}

// take returns the next n bytes, which alias b; nil if there are fewer.
func (d *decoder) take(n int) []byte {
	if len(d.b) < n {
		d.fail("short")
		return nil
	}
	b := d.b[:n:n]
	d.b = d.b[n:]
	return b
}

func (d *decoder) u8() uint8 {
	if b := d.take(1); b != nil {
		return b[0]
	}
	return 0
}

func (d *decoder) u16() uint16 {
	if b := d.take(2); b != nil {
		return binary.BigEndian.Uint16(b)
	}
	return 0
}

func (d *decoder) u32() uint32 {
	if b := d.take(4); b != nil {
		return binary.BigEndian.Uint32(b)
	}
	return 0
}

func (d *decoder) u64() uint64 {
	if b := d.take(8); b != nil {
		return binary.BigEndian.Uint64(b)
	}
	return 0
}

// flag is a byte that is 0 or 1.
func (d *decoder) flag(what string) bool {
	v := d.u8()
	if v > 1 {
		d.fail(what)
	}
	return v == 1
}

// bits is a byte with a bit for each, the first the lowest, and no other.
func (d *decoder) bits(what string, vs ...*bool) {
	b := d.u8()
	if b>>len(vs) != 0 {
		d.fail(what)
		b = 0
	}
	for i, v := range vs {
		*v = b&(1<<i) != 0
	}
}

func (d *decoder) str(what string, limit int) string {
	n := int(d.u16())
	if n > limit {
		d.fail(what)
		return ""
	}
	return string(d.take(n))
}

// headers returns strings that share one allocation and do not alias b.
func (d *decoder) headers() []Header {
	hs, rest, err := header.Decode(d.b)
	if err != nil {
		d.fail("headers")
		return nil
	}
	d.b = rest
	return hs
}

// rest returns all that is left; it aliases b and is never nil.
func (d *decoder) rest() []byte {
	b := d.b
	d.b = nil
	if b == nil {
		b = []byte{}
	}
	return b
}

// Decode decodes the body of a frame of kind k. Trailing bytes of a message
// alias body, strings do not. Errors are ErrMalformed and ErrUnknownKind.
func Decode(k Kind, body []byte) (Frame, error) {
	f := newFrame(k)
	if f == nil {
		return nil, fmt.Errorf("%w: %d", ErrUnknownKind, k)
	}
	d := decoder{b: body}
	f.decode(&d)
	if d.err == nil && len(d.b) > 0 && !k.lenient() {
		d.fail("bytes behind the end")
	}
	if d.err != nil {
		return nil, fmt.Errorf("%s: %w", k, d.err)
	}
	return f, nil
}
