// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package header_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/internal/wire/header"
)

func long(n int) string { return strings.Repeat("x", n) }

func TestWhatPassesCheckComesBack(t *testing.T) {
	// This test checks, at each limit and beyond it, that what can be encoded is
	// decoded as it was, whatever follows it.
	for name, c := range map[string]struct {
		headers []header.Header
		fits    bool
	}{
		"none":              {nil, true},
		"empty":             {[]header.Header{{}}, true},
		"some, one twice":   {[]header.Header{{Key: "a", Value: "1"}, {Key: "b"}, {Key: "a", Value: "2"}}, true},
		"the longest key":   {[]header.Header{{Key: long(255)}}, true},
		"a longer key":      {[]header.Header{{Key: long(256)}}, false},
		"a longer value":    {[]header.Header{{Value: long(1 << 16)}}, false},
		"all that may be":   {[]header.Header{{Value: long(header.MaxBytes - 5)}}, true},
		"one byte too many": {[]header.Header{{Value: long(header.MaxBytes - 4)}}, false},
		"as many as may be": {make([]header.Header, (header.MaxBytes-2)/3), true},
		"one too many":      {make([]header.Header, (header.MaxBytes-2)/3+1), false},
	} {
		t.Run(name, func(t *testing.T) {
			if !c.fits {
				require.Error(t, header.Check(c.headers))
				return
			}
			require.NoError(t, header.Check(c.headers))
			b := header.Append(nil, c.headers)
			require.Len(t, b, header.Size(c.headers))
			got, rest, err := header.Decode(append(b, "body"...))
			require.NoError(t, err)
			require.Equal(t, c.headers, got)
			require.Equal(t, "body", string(rest))
		})
	}
}

func TestHostileHeadersAreRefused(t *testing.T) {
	// This test cuts headers at each byte, and lets a few bytes claim more than
	// may be.
	whole := header.Append(nil, []header.Header{{Key: "key", Value: "value"}, {Key: "k"}})
	for n := range whole {
		_, _, err := header.Decode(whole[:n])
		require.ErrorIs(t, err, header.ErrShort, n)
	}
	_, _, err := header.Decode(append([]byte{0, 1, 0, 0xff, 0xff}, make([]byte, 1<<16)...))
	require.ErrorIs(t, err, header.ErrTooLarge)
	_, _, err = header.Decode(append([]byte{0xff, 0xff}, make([]byte, header.MaxBytes)...))
	require.ErrorIs(t, err, header.ErrTooLarge)
}

func TestNothingIsAllocatedButTheHeaders(t *testing.T) {
	// This test checks the cost per message: one for the list and one for all
	// strings, nothing for what is refused.
	b := header.Append(nil, []header.Header{{Key: "traceparent", Value: long(55)}, {Key: "k", Value: "v"}})
	require.EqualValues(t, 2, testing.AllocsPerRun(100, func() { _, _, _ = header.Decode(b) }))
	require.Zero(t, testing.AllocsPerRun(100, func() { _, _, _ = header.Decode(b[:len(b)-1]) }))
}

func TestConvertCopies(t *testing.T) {
	// This test checks that a program may change what it gave.
	type mine struct{ Key, Value string }
	given := []mine{{"a", "1"}, {"b", "2"}}
	got := header.Convert[header.Header](given)
	given[0].Value = "changed"
	require.Equal(t, []header.Header{{Key: "a", Value: "1"}, {Key: "b", Value: "2"}}, got)
	require.Nil(t, header.Convert[header.Header]([]mine{}))
}

// FuzzDecode proves that no bytes make Decode panic, and that headers have one
// encoding only.
func FuzzDecode(f *testing.F) {
	f.Add([]byte{0, 0})
	f.Add(header.Append(nil, []header.Header{{Key: "key", Value: "value"}, {}}))
	f.Add([]byte{0xff, 0xff, 0, 0, 0})
	f.Fuzz(func(t *testing.T, b []byte) {
		hs, rest, err := header.Decode(b)
		if err == nil {
			require.NoError(t, header.Check(hs))
			require.Equal(t, b, append(header.Append(nil, hs), rest...))
		}
	})
}
