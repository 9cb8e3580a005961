// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package wire

import "encoding/binary"

// Bits of a fragment's flags.
const (
	fragmentFirst = 1 << 0
	fragmentLast  = 1 << 1
)

const (
	fragmentSize      = 5 // channel, flags
	fragmentFirstSize = 5 // inner kind, total
)

// MaxFragmentHead is the most that AppendHead adds, in bytes.
const MaxFragmentHead = fragmentSize + fragmentFirstSize

// Fragment is a part of a message that is larger than one frame. The parts of
// one message have the same channel and arrive in order; parts of different
// channels may alternate.
type Fragment struct {
	// Channel is chosen by the sender; it is free again after Last.
	Channel     uint32
	First, Last bool
	// Kind and Total describe the whole message; only with First. Total is in
	// bytes; the receiver judges it before it reserves memory.
	Kind  Kind
	Total uint32
	// Payload has 1 to MaxPayload bytes; only a message of Total 0 has an
	// empty one. It belongs to whoever owns the decoded body.
	Payload []byte
}

// AppendHead appends everything but the payload.
func (f Fragment) AppendHead(dst []byte) []byte {
	var flags byte
	if f.First {
		flags |= fragmentFirst
	}
	if f.Last {
		flags |= fragmentLast
	}
	dst = binary.BigEndian.AppendUint32(dst, f.Channel)
	dst = append(dst, flags)
	if f.First {
		dst = append(dst, byte(f.Kind))
		dst = binary.BigEndian.AppendUint32(dst, f.Total)
	}
	return dst
}

// AppendTo appends the encoded fragment.
func (f Fragment) AppendTo(dst []byte) []byte {
	return append(f.AppendHead(dst), f.Payload...)
}

// DecodeFragment decodes the body of a KindFragment frame. Payload aliases b.
func DecodeFragment(b []byte) (Fragment, error) {
	if len(b) < fragmentSize {
		return Fragment{}, malformed("fragment: short")
	}
	flags := b[4]
	if flags&^(fragmentFirst|fragmentLast) != 0 {
		return Fragment{}, malformed("fragment: unknown flag")
	}
	f := Fragment{
		Channel: binary.BigEndian.Uint32(b),
		First:   flags&fragmentFirst != 0,
		Last:    flags&fragmentLast != 0,
	}
	b = b[fragmentSize:]
	if f.First {
		if len(b) < fragmentFirstSize {
			return Fragment{}, malformed("fragment: short")
		}
		f.Kind, f.Total = Kind(b[0]), binary.BigEndian.Uint32(b[1:])
		b = b[fragmentFirstSize:]
	}
	f.Payload = b
	if err := f.check(); err != nil {
		return Fragment{}, err
	}
	return f, nil
}

func (f *Fragment) check() error {
	n := uint32(len(f.Payload))
	switch {
	case len(f.Payload) > MaxPayload:
		return malformed("fragment: payload too large")
	case n == 0 && (!f.First || f.Total != 0):
		return malformed("fragment: empty payload")
	case !f.First:
		return nil
	case f.Kind == 0 || f.Kind == KindFragment:
		return malformed("fragment: kind of the whole")
	case f.Last && n != f.Total, !f.Last && n >= f.Total:
		return malformed("fragment: total")
	}
	return nil
}
