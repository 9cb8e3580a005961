// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package wire_test

import (
	"bytes"
	"encoding/hex"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/internal/wire"
)

// vector is one entry of a file in testdata; its format is described there.
type vector struct {
	meaning string
	fields  map[string][]string
	bytes   []byte
}

// readVectors returns the vectors of one file.
func readVectors(t testing.TB, name string) []vector {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name))
	require.NoError(t, err)
	var out []vector
	for number, text := range strings.Split(string(data), "\n") {
		if text == "" || strings.HasPrefix(text, "#") {
			continue
		}
		word, value, ok := strings.Cut(text, ":")
		require.True(t, ok, "%s:%d", name, number+1)
		value = strings.TrimPrefix(value, " ")
		if word == "vector" {
			out = append(out, vector{value, make(map[string][]string), nil})
			continue
		}
		v := &out[len(out)-1]
		switch word {
		case "hex":
			digits, _, _ := strings.Cut(value, "#")
			v.bytes = append(v.bytes, unhex(t, strings.TrimSpace(digits))...)
		case "repeat":
			v.bytes = append(v.bytes, repeated(t, value)...)
		default:
			v.fields[word] = append(v.fields[word], value)
		}
	}
	require.NotEmpty(t, out)
	return out
}

func unhex(t testing.TB, digits string) []byte {
	t.Helper()
	b, err := hex.DecodeString(digits)
	require.NoError(t, err)
	return b
}

// repeated reads "N XX".
func repeated(t testing.TB, value string) []byte {
	t.Helper()
	count, digits, _ := strings.Cut(value, " ")
	n, err := strconv.Atoi(count)
	require.NoError(t, err)
	return bytes.Repeat(unhex(t, digits), n)
}

func (v vector) text(name string) string {
	if len(v.fields[name]) == 0 {
		return ""
	}
	return v.fields[name][0]
}

func (v vector) number(t testing.TB, name string, bits int) uint64 {
	t.Helper()
	if v.text(name) == "" {
		return 0
	}
	n, err := strconv.ParseUint(v.text(name), 10, bits)
	require.NoError(t, err)
	return n
}

func (v vector) hex(t testing.TB, name string) []byte {
	t.Helper()
	return unhex(t, v.text(name))
}

func (v vector) headers(t testing.TB) []wire.Header {
	t.Helper()
	var hs []wire.Header
	for _, h := range v.fields["header"] {
		key, value, _ := strings.Cut(h, "=")
		hs = append(hs, wire.Header{Key: key, Value: value})
	}
	for _, r := range v.fields["header-repeat"] {
		hs = append(hs, wire.Header{Value: string(repeated(t, r))})
	}
	return hs
}

// refusals are the reasons why a vector must not decode; "" is for one that has to.
var refusals = map[string]error{
	"":                  nil,
	"malformed":         wire.ErrMalformed,
	"headers-too-large": wire.ErrHeadersTooLarge,
	"control-too-large": wire.ErrControlTooLarge,
	"frame-too-large":   wire.ErrFrameTooLarge,
	"unexpected-eof":    io.ErrUnexpectedEOF,
}

// refused says whether the vector must not decode. err is what has come of it, and has to
// be as the vector says.
func (v vector) refused(t testing.TB, err error) bool {
	t.Helper()
	want, known := refusals[v.text("refused")]
	require.True(t, known, "unknown reason %q", v.text("refused"))
	require.ErrorIs(t, err, want)
	return want != nil
}

// forEachVector runs f as a subtest for each vector of a file.
func forEachVector(t *testing.T, name string, f func(t *testing.T, v vector)) {
	t.Helper()
	for _, v := range readVectors(t, name) {
		t.Run(v.meaning, func(t *testing.T) { f(t, v) })
	}
}

// checkVectors proves for each vector of a file that decode gives what want says
// it means, and encode the same bytes again, or that decode refuses it. want may
// check more of what decode gave.
func checkVectors[M any](t *testing.T, name string, decode func([]byte) (M, error), encode func(*M, []byte) []byte, want func(t *testing.T, v vector, got M) M) {
	t.Helper()
	forEachVector(t, name, func(t *testing.T, v vector) {
		got, err := decode(v.bytes)
		if v.refused(t, err) {
			return
		}
		require.Equal(t, want(t, v, got), got)
		require.Equal(t, v.bytes, encode(&got, nil))
	})
}

// seedWith adds the bytes of a file's vectors to a fuzz target's corpus.
func seedWith(f *testing.F, name string) {
	f.Helper()
	for _, v := range readVectors(f, name) {
		f.Add(v.bytes)
	}
}

// fuzzDecoder proves that no bytes make decode panic, and that whatever it takes
// has no other encoding. (To encode headers that can't be encoded panics.)
func fuzzDecoder[M any](f *testing.F, vectors string, decode func([]byte) (M, error), encode func(*M, []byte) []byte) {
	f.Helper()
	seedWith(f, vectors)
	f.Fuzz(func(t *testing.T, b []byte) {
		if m, err := decode(b); err == nil {
			require.Equal(t, b, encode(&m, nil))
		}
	})
}
