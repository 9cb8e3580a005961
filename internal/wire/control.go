// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
)

// HelloGateway is the bit of Hello.features that says: the sender is a gateway's node.
const HelloGateway = 1 << 0

// AppendControl appends an encoded control message. Equal messages give equal
// bytes. It fails for text that is not UTF-8 (see ClipText) and with
// ErrControlTooLarge.
func AppendControl(dst []byte, m proto.Message) ([]byte, error) {
	start := len(dst)
	dst, err := proto.MarshalOptions{Deterministic: true}.MarshalAppend(dst, m)
	if err != nil {
		return dst[:start], fmt.Errorf("wire: encode control message: %w", err)
	}
	if len(dst)-start > MaxControl {
		return dst[:start], ErrControlTooLarge
	}
	return dst, nil
}

// DecodeControl decodes b into m and checks it (see Check). Limits are judged
// before anything is allocated. Unknown fields are dropped: a newer release
// may send them. m does not alias b.
func DecodeControl(b []byte, m proto.Message) error {
	if len(b) > MaxControl {
		return ErrControlTooLarge
	}
	if err := countFields(b); err != nil {
		return err
	}
	if err := (proto.UnmarshalOptions{DiscardUnknown: true}).Unmarshal(b, m); err != nil {
		return malformed(string(m.ProtoReflect().Descriptor().Name()) + ": not protobuf")
	}
	return Check(m)
}

// countFields bounds what Unmarshal can allocate: each field at the top level
// may become a structure that is many times its size on the wire.
func countFields(b []byte) error {
	for count := 0; len(b) > 0; count++ {
		if count == MaxControlFields {
			return ErrControlTooLarge
		}
		_, _, n := protowire.ConsumeField(b)
		if n < 0 {
			return malformed("not protobuf")
		}
		b = b[n:]
	}
	return nil
}

// ClipText makes s fit a text field of a control message: valid UTF-8 of at
// most MaxText bytes.
func ClipText(s string) string {
	s = strings.ToValidUTF8(s, "�")
	if len(s) <= MaxText {
		return s
	}
	n := MaxText
	for !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}
