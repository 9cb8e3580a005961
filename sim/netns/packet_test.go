// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package netns

import (
	"bytes"
	"encoding/binary"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// segment is a TCP segment in an IPv4 packet, with right checksums.
func segment(data string) []byte {
	p := make([]byte, ipHeader+tcpHeader, ipHeader+tcpHeader+len(data))
	p[0], p[9] = 0x45, protocolTCP
	copy(p[12:], []byte{10, 77, 0, 1, 10, 77, 0, 2})
	p[ipHeader+12] = 5 << 4
	p = append(p, data...)
	binary.BigEndian.PutUint16(p[2:], uint16(len(p)))
	binary.BigEndian.PutUint16(p[ipHeader+16:], tcpChecksum(p, p[ipHeader:]))
	return p
}

// right says whether the checksum of the segment in p is right: then the sum
// over everything, itself included, is 0.
func right(p []byte) bool {
	s, ok := tcpSegment(p)
	return ok && tcpChecksum(p, s) == 0
}

// TestTheChecksumIsTheInternets checks it against a packet that was worked out
// by hand.
func TestTheChecksumIsTheInternets(t *testing.T) {
	p := segment("ab")
	// 0a4d+0001 + 0a4d+0002 + 0006 + 0016 + 5000 + 6162 = c61b
	require.EqualValues(t, ^uint16(0xc61b), binary.BigEndian.Uint16(p[ipHeader+16:]))
	require.True(t, right(p))
}

// TestSpoilingIsSilentBelowTheStream checks that a spoiled segment has another
// last byte and a right checksum, and that what can't be spoiled stays as it
// is.
func TestSpoilingIsSilentBelowTheStream(t *testing.T) {
	for _, data := range []string{"x", "hello", "hello!"} {
		p := segment(data)
		before := slices.Clone(p)
		require.True(t, spoil(p))
		require.True(t, right(p))
		require.Equal(t, data[len(data)-1]^1, p[len(p)-1])
		require.Equal(t, before[:ipHeader+16], p[:ipHeader+16])
	}
	udp, fragment, options := segment("x"), segment("x"), segment("x")
	udp[9] = 17
	fragment[7] = 1
	options[ipHeader+12] = 15 << 4 // a header that is longer than the segment
	for name, p := range map[string][]byte{
		"no data": segment(""), "udp": udp, "fragment": fragment, "options": options, "empty": nil, "short": segment("x")[:30],
	} {
		before := slices.Clone(p)
		require.False(t, spoil(p), name)
		require.True(t, bytes.Equal(before, p), name)
	}
}

// TestDestinations checks whose packets are forwarded.
func TestDestinations(t *testing.T) {
	to, ok := destination(segment(""))
	require.True(t, ok)
	require.Equal(t, address{10, 77, 0, 2}, to)
	_, ok = destination([]byte{0x60, 0, 0, 0})
	require.False(t, ok)
	_, ok = destination(make([]byte, 40))
	require.False(t, ok)
}

// FuzzSpoil checks that no packet makes spoil panic, and that it changes at
// most the checksum and one bit of the last byte.
func FuzzSpoil(f *testing.F) {
	f.Add(segment("hello"))
	f.Add(segment(""))
	f.Add([]byte{0x4f})
	f.Fuzz(func(t *testing.T, p []byte) {
		before := slices.Clone(p)
		destination(p)
		if !spoil(p) {
			require.Equal(t, before, p)
			return
		}
		require.True(t, right(p))
		changed := 0
		for i := range p {
			if p[i] != before[i] {
				changed++
			}
		}
		require.LessOrEqual(t, changed, 3)
	})
}
