// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package session_test

import (
	"bytes"
	"encoding/binary"
	"io"
	"runtime"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/internal/wire/session"
)

// This test checks that frames come out of a stream as they went in, however
// the stream is cut, and however large they are.
func TestReaderReturnsTheFramesOfAStream(t *testing.T) {
	var stream []byte
	var want []session.Frame
	for _, v := range vectors() {
		stream = append(stream, encoded(t, v.frame)...)
		want = append(want, v.frame)
	}
	large := &session.Request{Cluster: "geo", Body: bytes.Repeat([]byte{7}, 3<<20)}
	stream = append(stream, encoded(t, large)...)
	want = append(want, large)

	for name, r := range map[string]io.Reader{
		"whole": bytes.NewReader(stream),
		"half":  iotest.HalfReader(bytes.NewReader(stream)),
		"eof":   iotest.DataErrReader(bytes.NewReader(stream)),
	} {
		reader := session.NewReader(r, session.MaxFrame)
		for _, w := range want {
			k, body, err := reader.Next()
			require.NoError(t, err, name)
			got, err := session.Decode(k, body)
			require.NoError(t, err, name)
			require.Equal(t, w, got, name)
		}
		_, _, err := reader.Next()
		require.Equal(t, io.EOF, err, name)
	}
}

// This test checks the error for each way in which a stream can end, and that
// it is final.
func TestReaderNamesHowAStreamEnds(t *testing.T) {
	ping := encoded(t, &session.Ping{Token: 1})
	tests := []struct {
		name   string
		stream []byte
		want   error
	}{
		{"nothing", nil, io.EOF},
		{"within a length", ping[:2], io.ErrUnexpectedEOF},
		{"before the kind", ping[:4], io.ErrUnexpectedEOF},
		{"within a body", ping[:9], io.ErrUnexpectedEOF},
		{"no kind", make([]byte, 4), session.ErrMalformed},
		{"too long", []byte{0, 0, 0x10, 1}, session.ErrFrameTooLarge},
		{"far too long", []byte{0xff, 0xff, 0xff, 0xff, 1}, session.ErrFrameTooLarge},
	}
	for _, tt := range tests {
		r := session.NewReader(bytes.NewReader(tt.stream), session.MaxHandshake)
		for range 2 {
			_, _, err := r.Next()
			require.ErrorIs(t, err, tt.want, tt.name)
		}
	}
}

// This test checks that a claim to send much costs no memory before the bytes
// come.
func TestReaderDoesNotAllocateForAClaim(t *testing.T) {
	claim := binary.BigEndian.AppendUint32(nil, session.MaxFrame)
	claim = append(claim, byte(session.KindRequest), 1, 2, 3)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, _, err := session.NewReader(bytes.NewReader(claim), session.MaxFrame).Next()
	runtime.ReadMemStats(&after)
	require.ErrorIs(t, err, io.ErrUnexpectedEOF)
	require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(1<<20))
}
