// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package security

import (
	"crypto/rand"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestWhatIsKeptForLaterDeadlinesIsBounded proves that callers who choose deadlines far away
// do not have a node keep more and more agreements, of however many hours, and that those
// with the latest deadlines are erased.
func TestWhatIsKeptForLaterDeadlinesIsBounded(t *testing.T) {
	now := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	e := NewEphemerals(rand.Reader, now)
	var first, last *Agreement
	for range 3 {
		old := &ephemeral{}
		for i := range maxKept / 2 {
			a := &Agreement{hide(&agreed{secret: []byte{1}, keep: now.Add(time.Hour + time.Duration(i)*time.Minute)})}
			if old.kept = append(old.kept, a); i == 0 {
				first = a
			}
			last = a
		}
		e.keys = append(e.keys, old)
	}
	next, _ := e.Advance(now)
	require.Equal(t, now.Add(time.Hour), next)
	kept := 0
	for _, k := range e.keys {
		kept += len(k.kept)
	}
	require.Equal(t, maxKept, kept)
	_, ok := first.with(&Key{})
	require.True(t, ok)
	_, ok = last.with(&Key{})
	require.False(t, ok)
}

// TestACallersSaltsFillNoMemory proves that a caller with the cluster's key, which can
// choose a salt for each payload, and as many ephemeral keys as it likes, has a member
// remember few subkeys for each.
func TestACallersSaltsFillNoMemory(t *testing.T) {
	now := time.Now()
	caller, member := NewEphemerals(rand.Reader, now), NewEphemerals(rand.Reader, now)
	c := NewCluster("geo", []KeyVersion{{Version: 1, Key: Key{1}}})
	b := Binding{Sender: "caller", Member: 1}
	var at *Agreement
	for range 4 * agreedSubkeys {
		asks := NewCluster("geo", []KeyVersion{{Version: 1, Key: Key{1}}})
		var err error
		b.Agreement, err = caller.With(member.Public())
		require.NoError(t, err)
		b.Agreement.state.get().subkeys.seals = generations[sealer, *sealing]{} // so a new salt
		sealed := asks.Seal(rand.Reader, b, nil, []byte("x"))
		at, err = member.Agreed(c, b, sealed)
		require.NoError(t, err)
		b.Agreement = at
		_, err = c.Open(b, sealed)
		require.NoError(t, err)
	}
	opened := &at.state.get().subkeys.opened
	require.LessOrEqual(t, len(opened.all()), 2*agreedSubkeys)
	require.NotEmpty(t, opened.all())
}
