// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package wire_test

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/internal/wire"
)

// TestABodyThatIsGivenBackHasTheNextFrame proves that frames which nobody keeps
// come in the same bytes, as long as they come in a row and are about as long;
// that nobody gets too little or keeps too much by it; and that what is not
// given back stays as it is.
func TestABodyThatIsGivenBackHasTheNextFrame(t *testing.T) {
	var stream []byte
	for i, n := range []int{1000, 900, 400, 1000, 1000} {
		stream = wire.AppendFrame(stream, wire.LaneRPC, 7, bytes.Repeat([]byte{byte(i)}, n))
	}
	fr := wire.NewFrameReader(bytes.NewReader(stream))
	next := func(i, n int) []byte {
		t.Helper()
		_, _, body, err := fr.Next()
		require.NoError(t, err)
		require.Equal(t, bytes.Repeat([]byte{byte(i)}, n), body)
		return body
	}
	first := next(0, 1000)
	fr.Recycle(first)
	second := next(1, 900)
	require.Same(t, &first[0], &second[0])
	fr.Recycle(second)
	require.NotSame(t, &first[0], &next(2, 400)[0], "most of it would lie idle")
	third := next(3, 1000)
	require.Same(t, &first[0], &third[0], "it is still there")
	next(4, 1000)
	require.Equal(t, bytes.Repeat([]byte{3}, 1000), third)
}

// TestAReaderThatWaitsKeepsNothing proves that a stream which has nothing to
// read does not hold on to a body.
func TestAReaderThatWaitsKeepsNothing(t *testing.T) {
	frame := wire.AppendFrame(nil, wire.LaneRPC, 7, make([]byte, 1000))
	fr := wire.NewFrameReader(&pieces{append(frame, frame...), len(frame)})
	_, _, body, err := fr.Next()
	require.NoError(t, err)
	fr.Recycle(body)
	_, _, again, err := fr.Next()
	require.NoError(t, err)
	require.NotSame(t, &body[0], &again[0])
}
