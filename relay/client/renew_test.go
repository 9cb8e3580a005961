// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// This test checks that all that the relay knew is asked for again in a new
// session, in order and once, and what was removed is not.
func TestANewSessionGetsEverythingInOrder(t *testing.T) {
	var r renewals
	now := time.Unix(1000, 0)
	for id := range uint64(5) {
		r.add(id)
	}
	ids, again := r.ask(now)
	require.Equal(t, []uint64{0, 1, 2, 3, 4}, ids)
	require.Zero(t, again)
	ids, _ = r.ask(now)
	require.Empty(t, ids)
	for id := range uint64(4) {
		r.answered(id, true, now, 0)
	}
	require.Equal(t, stateKnown, r.remove(2))
	require.Equal(t, stateAsked, r.remove(4), "an answer will come")
	require.Equal(t, []uint64{0, 1, 3}, r.detached())
	require.Empty(t, r.detached(), "told once")
	r.add(5)
	ids, _ = r.ask(now)
	require.Equal(t, []uint64{0, 1, 3, 5}, ids)
}

// This test checks that the relay is never asked for more than so many at a
// time, whatever becomes of them.
func TestTheRelayIsAskedForSoManyAtATime(t *testing.T) {
	var r renewals
	now := time.Unix(1000, 0)
	for id := range uint64(3 * maxAsked) {
		r.add(id)
	}
	ids, _ := r.ask(now)
	require.Len(t, ids, maxAsked)
	r.answered(0, true, now, 0)
	r.answered(1, false, now, 0)
	r.remove(2)
	ids, _ = r.ask(now)
	require.Equal(t, []uint64{maxAsked, maxAsked + 1, maxAsked + 2}, ids)
	r.detached()
	ids, _ = r.ask(now)
	require.Len(t, ids, maxAsked)
	require.Equal(t, uint64(0), ids[0])
}

// This test checks that what the relay refuses is asked for again after pauses
// that double up to a second, shortened by up to a half, and at once in a new
// session.
func TestWhatIsRefusedIsAskedForAgain(t *testing.T) {
	var r renewals
	now := time.Unix(1000, 0)
	r.add(1)
	for _, pause := range []time.Duration{50, 100, 200, 400, 800, 1000, 1000} {
		ids, _ := r.ask(now)
		require.Equal(t, []uint64{1}, ids)
		r.answered(1, false, now, 0.5)
		ids, again := r.ask(now)
		require.Empty(t, ids)
		require.Equal(t, now.Add(pause*time.Millisecond*3/4), again)
		now = again
	}
	r.ask(now)
	r.answered(1, false, now, 0)
	r.detached()
	ids, _ := r.ask(now)
	require.Equal(t, []uint64{1}, ids)
	r.answered(1, false, now, 0)
	_, again := r.ask(now)
	require.Equal(t, now.Add(firstRest), again, "pauses begin anew")
}
