// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package security_test

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/security"
)

// TestCreditProvesItsTotal proves that a total opens whenever it comes and as
// often, between any chunks, and that no other total, end, data or bytes do.
func TestCreditProvesItsTotal(t *testing.T) {
	opener, member := streamPair(t)
	late, early := opener.SealCredit(nil, 1<<40, 1), opener.SealCredit([]byte("head"), 0, 1)[4:]
	require.Len(t, late, security.StreamOverhead)
	require.NoError(t, member.OpenCredit(bytes.Clone(late), 1<<40, 1))
	_, err := member.Open(opener.Seal(nil, []byte("chunk"), 1), 1)
	require.NoError(t, err)
	require.NoError(t, member.OpenCredit(early, 0, 1))
	require.NoError(t, member.OpenCredit(bytes.Clone(late), 1<<40, 1))
	require.Equal(t, late, opener.SealCredit(nil, 1<<40, 1))

	require.Panics(t, func() { opener.SealCredit(nil, 1<<40, 0) }, "two tags under one nonce")

	require.ErrorIs(t, member.OpenCredit(bytes.Clone(late), 1<<40+1, 1), security.ErrUnauthorized)
	require.ErrorIs(t, member.OpenCredit(bytes.Clone(late), 1<<40, 0), security.ErrUnauthorized)
	require.ErrorIs(t, opener.OpenCredit(bytes.Clone(late), 1<<40, 1), security.ErrUnauthorized)
	require.ErrorIs(t, member.OpenCredit(nil, 1<<40, 1), security.ErrUnauthorized)
	forEachChange(bytes.Clone(late), func(changed []byte) {
		require.ErrorIs(t, member.OpenCredit(changed, 1<<40, 1), security.ErrUnauthorized)
	})
}

// TestReturnedCreditIsNotGiven proves that the total of credit given, and that of credit
// given back, are never taken for each other.
func TestReturnedCreditIsNotGiven(t *testing.T) {
	opener, member := streamPair(t)
	given, returned := opener.SealCredit(nil, 7, 1), opener.SealReturn(nil, 7, 1)
	require.NoError(t, member.OpenReturn(bytes.Clone(returned), 7, 1))
	require.NoError(t, member.OpenReturn(bytes.Clone(returned), 7, 1))
	require.Equal(t, returned, opener.SealReturn(nil, 7, 1))
	require.ErrorIs(t, member.OpenReturn(bytes.Clone(returned), 8, 1), security.ErrUnauthorized)
	require.ErrorIs(t, member.OpenReturn(given, 7, 1), security.ErrUnauthorized)
	require.ErrorIs(t, member.OpenCredit(returned, 7, 1), security.ErrUnauthorized)
	require.Panics(t, func() { opener.SealReturn(nil, 7, 0) }, "two tags under one nonce")
}

// TestAResetOpensOnce proves that a reset opens whatever chunks it overtakes, but
// once, at the other end, unchanged; and that nobody seals a second one.
func TestAResetOpensOnce(t *testing.T) {
	opener, member := streamPair(t)
	chunk := opener.Seal(nil, []byte("chunk"), 1)
	reset := opener.SealReset(nil, []byte("why"), 9)
	forEachChange(bytes.Clone(reset), func(changed []byte) {
		_, err := member.OpenReset(changed, 9)
		require.ErrorIs(t, err, security.ErrUnauthorized)
	})
	_, err := member.OpenReset(bytes.Clone(reset), 8)
	require.ErrorIs(t, err, security.ErrUnauthorized)
	_, err = opener.OpenReset(bytes.Clone(reset), 9)
	require.ErrorIs(t, err, security.ErrUnauthorized)
	why, err := member.OpenReset(bytes.Clone(reset), 9)
	require.NoError(t, err)
	require.Equal(t, "why", string(why))
	_, err = member.OpenReset(reset, 9)
	require.ErrorIs(t, err, security.ErrUnauthorized)
	_, err = member.Open(chunk, 1)
	require.NoError(t, err)
	require.Panics(t, func() { opener.SealReset(nil, nil, 9) })
}

// TestChunksCreditAndResetsAreApart proves that none of the three is taken for
// another one, whatever its number.
func TestChunksCreditAndResetsAreApart(t *testing.T) {
	opener, member := streamPair(t)
	chunk, credit, reset := opener.Seal(nil, nil, 1), opener.SealCredit(nil, 0, 1), opener.SealReset(nil, nil, 1)
	for _, b := range [][]byte{credit, reset} {
		_, err := member.Open(bytes.Clone(b), 1)
		require.ErrorIs(t, err, security.ErrUnauthorized)
	}
	for _, b := range [][]byte{chunk, reset} {
		require.ErrorIs(t, member.OpenCredit(bytes.Clone(b), 0, 1), security.ErrUnauthorized)
	}
	for _, b := range [][]byte{chunk, credit} {
		_, err := member.OpenReset(bytes.Clone(b), 1)
		require.ErrorIs(t, err, security.ErrUnauthorized)
	}
}

// FuzzStreamAside proves that no bytes make the opening of credit or a reset
// panic, and that none but the honest ones open.
func FuzzStreamAside(f *testing.F) {
	opener, _ := streamPair(f)
	credit, reset := opener.SealCredit(nil, 7, 1), opener.SealReset(nil, []byte("why"), 1)
	f.Add(credit, uint64(7), byte(1))
	f.Add(reset, uint64(0), byte(1))
	f.Fuzz(func(t *testing.T, sealed []byte, total uint64, data byte) {
		_, member := streamPair(t)
		if member.OpenCredit(bytes.Clone(sealed), total, data) == nil {
			require.Equal(t, credit, sealed)
			require.EqualValues(t, 7, total)
			require.EqualValues(t, 1, data)
		}
		if _, err := member.OpenReset(bytes.Clone(sealed), data); err == nil {
			require.Equal(t, reset, sealed)
			require.EqualValues(t, 1, data)
		}
	})
}
