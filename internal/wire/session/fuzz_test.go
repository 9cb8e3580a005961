// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package session_test

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/internal/wire/session"
)

// FuzzDecode throws bytes at every decoder, chosen by kind. What is accepted
// must have one encoding: the bytes it came from.
func FuzzDecode(f *testing.F) {
	for _, v := range vectors() {
		b := encoded(f, v.frame)
		f.Add(b[4], b[5:])
	}
	f.Fuzz(func(t *testing.T, kind byte, body []byte) {
		frame, err := session.Decode(session.Kind(kind), body)
		if err != nil {
			return
		}
		again := encoded(t, frame)
		switch frame.Kind() {
		case session.KindHello, session.KindWelcome, session.KindRefused:
			require.True(t, bytes.HasPrefix(body, again[5:]))
		default:
			require.Equal(t, body, again[5:])
		}
	})
}

// FuzzReader throws bytes at the framing.
func FuzzReader(f *testing.F) {
	var all []byte
	for _, v := range vectors() {
		b := encoded(f, v.frame)
		f.Add(b)
		all = append(all, b...)
	}
	f.Add(all)
	f.Fuzz(func(t *testing.T, stream []byte) {
		r := session.NewReader(bytes.NewReader(stream), 1<<16)
		used := 0
		for {
			_, body, err := r.Next()
			if err != nil {
				break
			}
			used += 5 + len(body)
			require.LessOrEqual(t, used, len(stream))
		}
	})
}
