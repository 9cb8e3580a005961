// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"context"
	"errors"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/relay/internal/failure"
)

// This test checks the pauses between attempts: none, then an eighth of the time
// without a relay, within bounds, from the start again only after a session that
// lasted.
func TestPausesGrowUntilASessionLasts(t *testing.T) {
	ms := time.Millisecond
	tests := []struct {
		at, lived time.Duration
		want      time.Duration
	}{
		{0, time.Hour, 0},
		{0, 0, 10 * ms},
		{79 * ms, 0, 10 * ms},
		{160 * ms, 0, 20 * ms},
		{1000 * ms, 999 * ms, 125 * ms}, // accepted, and soon over
		{7900 * ms, 0, 987500 * time.Microsecond},
		{8000 * ms, 0, time.Second},
		{time.Hour, 0, time.Second},
		{2 * time.Hour, time.Second, 0},
		{2 * time.Hour, 0, 10 * ms},
	}
	var b backoff
	begin := time.Unix(1, 0)
	for i, tt := range tests {
		require.Equal(t, tt.want, b.next(begin.Add(tt.at), tt.lived, 0), "attempt %d", i)
	}
}

// This test checks that a relay that comes back is found within an eighth of the
// time that it was away, or 10 ms, whatever is rolled, and with few attempts.
func TestAReturnIsNoticedSoon(t *testing.T) {
	for _, roll := range []float64{0, 0.5, 0.999} {
		for _, away := range []time.Duration{time.Millisecond, 100 * time.Millisecond, time.Second, 5 * time.Second, time.Minute} {
			var b backoff
			begin := time.Unix(1, 0)
			now := begin.Add(b.next(begin, time.Hour, roll))
			attempts := 1
			for now.Sub(begin) < away {
				now = now.Add(b.next(now, 0, roll))
				attempts++
			}
			require.LessOrEqual(t, now.Sub(begin)-away, min(max(away/8, 10*time.Millisecond), time.Second))
			require.LessOrEqual(t, attempts, 100+int(away/(500*time.Millisecond)))
		}
	}
}

// This test checks that what is rolled takes at most half off a pause, and that
// clients that roll differently do not come in step.
func TestPausesDifferFromClientToClient(t *testing.T) {
	begin := time.Unix(1, 0)
	require.Equal(t, time.Second, shortened(time.Second, 0))
	require.Equal(t, 750*time.Millisecond, shortened(time.Second, 0.5))
	rolls := rand.New(rand.NewPCG(1, 2))
	const clients, slots = 1000, 10
	var came [slots]int // in each tenth of the second after a relay's return
	for range clients {
		var b backoff
		now := begin.Add(b.next(begin, time.Hour, rolls.Float64()))
		for now.Sub(begin) < 20*time.Second {
			now = now.Add(b.next(now, 0, rolls.Float64()))
		}
		came[int(now.Sub(begin)-20*time.Second)*slots/int(time.Second)]++
	}
	for _, n := range came {
		require.Less(t, n, clients/4, "in step: %v", came)
	}
}

// This test checks that silence is asked about before it is held against the
// relay, and that one byte makes good.
func TestASilentRelayIsAskedBeforeItIsGivenUp(t *testing.T) {
	var l liveness
	for i, tt := range []struct{ heard, ping, dead bool }{
		{heard: true},
		{ping: true},
		{ping: true},
		{ping: true},
		{heard: true},
		{ping: true},
		{ping: true},
		{ping: true},
		{dead: true},
	} {
		ping, dead := l.look(tt.heard)
		require.Equal(t, tt.ping, ping, "look %d", i)
		require.Equal(t, tt.dead, dead, "look %d", i)
	}
}

// This test checks what the caller of a call sees that was tried once or more,
// by the promises of package patterns.
func TestACallIsTriedAgainOnlyIfThatIsSafe(t *testing.T) {
	late := &patterns.DeadlineError{Cause: context.DeadlineExceeded}
	tests := []struct {
		name       string
		idempotent bool
		tries      []error // all but the last are tried again
		want       error   // nil: tried again after the last, too, or a reply
		again      bool
	}{
		{"reply", false, []error{nil}, nil, false},
		{"never sent", false, []error{errNotSent}, nil, true},
		{"never looked at", false, []error{errGoodbye}, nil, true},
		{"nobody to ask at a relay that drains", false, []error{failure.ErrDraining}, nil, true},
		{"lost", false, []error{errLost}, patterns.ErrInterrupted, false},
		{"lost, idempotent", true, []error{errLost}, nil, true},
		{"lost twice, idempotent", true, []error{errLost, errLost}, nil, true},
		{"lost, then a reply", true, []error{errLost, nil}, nil, false},
		{"no members", true, []error{patterns.ErrNoMembers}, patterns.ErrNoMembers, false},
		{"lost, then no members", true, []error{errLost, patterns.ErrNoMembers}, patterns.ErrInterrupted, false},
		{"lost, then no relay", true, []error{errLost, patterns.ErrUnreachable}, patterns.ErrInterrupted, false},
		{"not sent, then no relay", true, []error{errNotSent, patterns.ErrUnreachable}, patterns.ErrUnreachable, false},
		{"late", false, []error{late}, late, false},
	}
	for _, tt := range tests {
		c := course{idempotent: tt.idempotent}
		for i, err := range tt.tries {
			again, final := c.settle(err)
			if i < len(tt.tries)-1 {
				require.True(t, again, tt.name)
				continue
			}
			require.Equal(t, tt.again, again, tt.name)
			require.ErrorIs(t, final, tt.want, tt.name)
		}
	}
}

// This test checks that an earlier try is not forgotten when the time is over,
// that what a handler said stands, and that a later refusal does not shine
// through an interruption.
func TestTheWorstThatCanBeTrueIsSaid(t *testing.T) {
	c := course{idempotent: true, maybeRan: true}
	var late *patterns.DeadlineError
	_, err := c.settle(&patterns.DeadlineError{Cause: context.Canceled})
	require.True(t, errors.As(err, &late))
	require.True(t, late.MaybeRan)
	require.ErrorIs(t, err, context.Canceled)

	_, err = c.settle(&patterns.RemoteError{Code: 7})
	var remote *patterns.RemoteError
	require.True(t, errors.As(err, &remote))

	_, err = c.settle(patterns.ErrNoMembers)
	require.NotErrorIs(t, err, patterns.ErrNoMembers)
}

// This test plays the life of three registrations: who is asked for when.
func TestRegistrationsAreMadeAgainOnANewSession(t *testing.T) {
	now := time.Unix(0, 0)
	r := newRoster()
	ask := func(want ...uint64) time.Time {
		t.Helper()
		ids, next := r.ask(now)
		require.Equal(t, want, ids)
		return next
	}
	r.add(3, true)
	r.add(1, true)
	r.add(2, false) // its session ended before the roster heard of it
	ask(2)
	ask()
	require.True(t, r.registered(2))
	require.False(t, r.registered(2), "nobody was asked")
	require.False(t, r.registered(99))

	r.detached()
	ask(1, 2, 3)
	require.True(t, r.registered(1))
	r.failed(2, now, 0)
	r.failed(3, now, 0.5)
	r.failed(1, now, 0) // nobody was asked
	require.Equal(t, now.Add(firstRest*3/4), ask())
	r.remove(3)
	require.Equal(t, now.Add(firstRest), ask())

	now = now.Add(firstRest)
	ask(2)
	r.failed(2, now, 0)
	require.Equal(t, now.Add(2*firstRest), ask())
	for range 100 {
		now = now.Add(longPause)
		ask(2)
		r.failed(2, now, 0)
	}
	require.Equal(t, now.Add(longPause), ask())

	r.detached() // a new session is a new chance
	ask(1, 2)
	r.detached()
	require.False(t, r.registered(1), "an answer of the session before")
}
