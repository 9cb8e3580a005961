// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package session_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/overlay/session"
)

// TestReconnectEndsWhenTheProcessIsGoneOrForgotten proves when a session that no
// connection carries is over, and that it is dialled less and less often.
func TestReconnectEndsWhenTheProcessIsGoneOrForgotten(t *testing.T) {
	const refused, other, hungUp = session.Refused, session.Unreached, session.HungUp
	ms := time.Millisecond
	start := time.Unix(100, 0)
	type dial struct {
		at  time.Duration
		how session.Failure
	}
	for _, c := range []struct {
		why   string
		dials []dial
		gone  bool
	}{
		{"refused once", []dial{{0, refused}}, false},
		{"twice, but at the same moment", []dial{{0, refused}, {19 * ms, refused}}, false},
		{"twice", []dial{{0, refused}, {20 * ms, refused}}, true},
		{"the one in between does not count", []dial{{0, refused}, {10 * ms, refused}, {20 * ms, refused}}, true},
		{"somebody was there in between", []dial{{0, refused}, {20 * ms, other}, {60 * ms, refused}}, false},
		{"it died when it had taken a connection", []dial{{0, hungUp}, {20 * ms, refused}}, true},
		{"who takes connections lives", []dial{{0, hungUp}, {20 * ms, hungUp}, {60 * ms, hungUp}, {140 * ms, hungUp}}, false},
		{"somebody takes them again", []dial{{0, refused}, {20 * ms, hungUp}, {60 * ms, hungUp}}, false},
		{"nobody answers", []dial{{0, other}, {time.Second, other}, {9 * time.Second, other}}, false},
	} {
		var o session.Reconnect
		o.Begin(start)
		for _, d := range c.dials {
			o.Failed(start.Add(d.at), d.how)
		}
		require.Equal(t, c.gone, o.Gone(), c.why)
		require.Equal(t, c.gone, o.Over(start.Add(10*time.Second)), c.why)
		require.True(t, o.Over(start.Add(15*time.Second)), c.why)
	}
	var o session.Reconnect
	o.Begin(start)
	var waits []time.Duration
	for range 8 {
		waits = append(waits, o.Failed(start, other)/ms)
	}
	require.Equal(t, []time.Duration{20, 40, 80, 160, 320, 640, 1000, 1000}, waits)
	require.Equal(t, 15*time.Second, o.Left(start))
}
