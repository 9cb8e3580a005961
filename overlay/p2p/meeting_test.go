// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package p2p

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// This test checks when our neighbourhood is looked at after connections at
// the given times: at once, again after growing pauses, never twice within the
// gap, and not for ever.
func TestMeetingIsFollowedUp(t *testing.T) {
	const ms = time.Millisecond
	for _, c := range []struct {
		met, want []time.Duration
		about     string
	}{
		{nil, nil, "nobody"},
		{[]time.Duration{0}, []time.Duration{0, 250 * ms, 1250 * ms, 5250 * ms, 21250 * ms}, "one"},
		{[]time.Duration{0, 10 * ms, 20 * ms}, []time.Duration{0, 250 * ms, 500 * ms, 1500 * ms, 5500 * ms, 21500 * ms}, "three at a time"},
		{[]time.Duration{0, 2000 * ms}, []time.Duration{0, 250 * ms, 1250 * ms, 2000 * ms, 2250 * ms, 3250 * ms, 7250 * ms, 23250 * ms}, "another one later"},
	} {
		var m meeting
		var got []time.Duration
		begun := time.Unix(100, 0)
		for at := time.Duration(0); at < time.Hour; at += 10 * ms {
			if len(c.met) > 0 && c.met[0] == at {
				c.met = c.met[1:]
				m.met(begun.Add(at))
			}
			if m.due(begun.Add(at)) {
				got = append(got, at)
			}
		}
		require.Equal(t, c.want, got, c.about)
	}
}

// This test checks that nothing follows when looking is not worth it, until
// there is another connection.
func TestMeetingEndsWithoutNews(t *testing.T) {
	var m meeting
	now := time.Unix(100, 0)
	m.met(now)
	require.True(t, m.due(now))
	m.enough()
	now = now.Add(time.Hour)
	require.False(t, m.due(now))
	m.met(now)
	require.True(t, m.due(now))
}
