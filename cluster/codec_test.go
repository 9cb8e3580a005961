// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"bytes"
	"testing"

	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/security"
)

// sampleMessages has every message with every field set.
func sampleMessages() []message {
	cid := security.ClusterID{1, 2, 3}
	key, proof := bytes.Repeat([]byte{4}, 32), bytes.Repeat([]byte{5}, 64)
	anchors := []peer.ID{"a", "b"}
	l := lease{leaseKey{"p", 6}, 7, []byte("record"), proof, true, false}
	return []message{
		&registerMsg{cid, key, proof, 1, 2, []byte("record"), proof, 3, true, true},
		&registeredMsg{cid, 1, 2, wire.Refusal_FULL, anchors, true, true, true},
		&unregisterMsg{cid, 1},
		&watchMsg{cid, key, proof, 9},
		&unwatchMsg{cid},
		&snapshotMsg{cid, 1, []lease{l}, true, true, true, anchors, wire.Refusal_STALE, 4},
		&deltaMsg{cid, 1, 2, []lease{l}, []leaseRef{{leaseKey{"q", 8}, 9}}, true, true, anchors, 5},
		&seenMsg{cid, 1, 2},
		&hintMsg{cid, 3, true, true, anchors},
		&claimsMsg{holdings{1, 2, 3, 4}, true},
	}
}

// Every message comes out as it went in.
func TestMessagesSurviveTheWire(t *testing.T) {
	for _, m := range sampleMessages() {
		body, err := encode(m)
		require.NoError(t, err)
		got, err := decode(m.kind(), body)
		require.NoError(t, err)
		require.Equal(t, m, got)
	}
}

// The largest part of a snapshot and the largest delta fit a frame.
func TestLargestMessagesFitAFrame(t *testing.T) {
	for _, size := range []int{100, 1000, wire.MaxRecord} {
		var leases []lease
		for i := range 600 {
			leases = append(leases, lease{
				leaseKey{peer.ID(bytes.Repeat([]byte{1}, wire.MaxPeerID)), MemberID(1<<63) + MemberID(i)},
				1 << 63, make([]byte, size), make([]byte, 64), true, false,
			})
		}
		total := 0
		for _, p := range parts(leases) {
			total += len(p)
			d := &deltaMsg{number: 1 << 63, upserted: p}
			for range maxPart {
				d.removed = append(d.removed, leaseRef{leases[0].leaseKey, 1 << 63})
			}
			body, err := encode(d)
			require.NoError(t, err)
			_, err = decode(d.kind(), body)
			require.NoError(t, err)
		}
		require.Equal(t, 600, total)
	}
	require.Len(t, parts(nil), 1)
}

// FuzzDecode feeds the decoder of control messages; what it accepts can be
// encoded again to the same meaning.
func FuzzDecode(f *testing.F) {
	for _, m := range sampleMessages() {
		body, err := encode(m)
		require.NoError(f, err)
		f.Add(uint8(m.kind()), body)
	}
	f.Fuzz(func(t *testing.T, k uint8, body []byte) {
		if k < uint8(wire.KindRegister) || k > uint8(wire.KindClaims) {
			return
		}
		m, err := decode(wire.Kind(k), body)
		if err != nil {
			return
		}
		again, err := encode(m)
		require.NoError(t, err)
		m2, err := decode(wire.Kind(k), again)
		require.NoError(t, err)
		require.Equal(t, m, m2)
	})
}

// FuzzDecodeRecord feeds the decoder of opened records.
func FuzzDecodeRecord(f *testing.F) {
	r := record{leaseKey: leaseKey{"p", 1}, incarnation: 2, addrs: []string{"x"}, zone: "z", capacity: 3, maxMessage: 4, payload: []byte{5}}
	f.Add(r.encode())
	f.Fuzz(func(t *testing.T, b []byte) {
		got, err := decodeRecord(b, &lease{leaseKey: leaseKey{"p", 1}, incarnation: 2})
		if err != nil {
			return
		}
		require.Equal(t, leaseKey{"p", 1}, got.leaseKey)
		require.Positive(t, got.capacity)
		require.LessOrEqual(t, got.capacity, MaxCapacity)
	})
}

// Ids are written and read as 16 hexadecimal digits.
func TestMemberIDsAreSixteenDigits(t *testing.T) {
	for _, m := range []MemberID{0, 255, 1<<64 - 1} {
		got, err := ParseMemberID(m.String())
		require.NoError(t, err)
		require.Equal(t, m, got)
		require.Len(t, m.String(), 16)
	}
	for _, s := range []string{"", "1", "zzzzzzzzzzzzzzzz", "00000000000000001", "+00000000000000f"} {
		_, err := ParseMemberID(s)
		require.Error(t, err, s)
	}
}
