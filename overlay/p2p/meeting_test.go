// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package p2p

import (
	"slices"
	"testing"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/stretchr/testify/require"
)

// looks lets time pass in steps of 10 ms, and returns when m has looked. before is called
// in each step, and seen with whom it asks when it looks; both may be nil.
func looks(m *meeting, span time.Duration, before func(at time.Duration, now time.Time), seen func(at time.Duration, now time.Time, asked []peer.ID)) (all []time.Duration) {
	for at := time.Duration(0); at < span; at += 10 * time.Millisecond {
		now := time.Unix(100, 0).Add(at)
		if before != nil {
			before(at, now)
		}
		asked, due := m.due(now)
		if !due {
			continue
		}
		if all = append(all, at); seen != nil {
			seen(at, now, asked)
		}
	}
	return all
}

// ms is so many milliseconds each.
func ms(times ...int) (all []time.Duration) {
	for _, t := range times {
		all = append(all, time.Duration(t)*time.Millisecond)
	}
	return all
}

// This test checks when our neighbourhood is looked at after connections at the given
// times: at once, again after growing pauses, never twice within the gap, and not for
// ever. And after peers were lost at the given times: a second later, and once more; no
// more than once a second while many are lost; and that a look because of new connections
// goes on.
func TestMeetingIsFollowedUp(t *testing.T) {
	for _, c := range []struct {
		about           string
		met, lost, want []time.Duration
	}{
		{"nobody", nil, nil, nil},
		{"one", ms(0), nil, ms(0, 250, 1250, 5250, 21250)},
		{"three at a time", ms(0, 10, 20), nil, ms(0, 250, 500, 1500, 5500, 21500)},
		{"another one later", ms(0, 2000), nil, ms(0, 250, 1250, 2000, 2250, 3250, 7250, 23250)},
		{"one is lost", nil, ms(0), ms(1000, 5000)},
		{"two at a time are", nil, ms(0, 900), ms(1000, 5000)},
		{"another one is later", nil, ms(0, 3000), ms(1000, 4000, 8000)},
		{"one is lost where we look anyway", ms(0), ms(500), ms(0, 250, 1250, 5250, 21250)},
	} {
		t.Run(c.about, func(t *testing.T) {
			var m meeting
			require.Equal(t, c.want, looks(&m, time.Hour, func(at time.Duration, now time.Time) {
				if slices.Contains(c.met, at) {
					m.met(now, "p")
				}
				if slices.Contains(c.lost, at) {
					m.lost(now)
				}
			}, nil))
		})
	}
	var m meeting
	all := looks(&m, 10*time.Second, func(_ time.Duration, now time.Time) { m.lost(now) }, nil)
	require.Less(t, len(all), 11, "however many are lost")
}

// This test checks that nothing follows when looking is not worth it, until
// there is another connection.
func TestMeetingEndsWithoutNews(t *testing.T) {
	var m meeting
	now := time.Unix(100, 0)
	m.met(now, "p")
	_, due := m.due(now)
	require.True(t, due)
	m.enough()
	now = now.Add(time.Hour)
	_, due = m.due(now)
	require.False(t, due)
	m.met(now, "p")
	_, due = m.due(now)
	require.True(t, due)
}

// This test checks that a peer that does not answer is asked again each time we
// look, and then every four seconds until it does: nobody else may know it.
func TestSilentPeersAreAskedAgain(t *testing.T) {
	var m meeting
	m.met(time.Unix(100, 0), "p")
	all := looks(&m, 20*time.Second, nil, func(at time.Duration, now time.Time, asked []peer.ID) {
		require.Equal(t, []peer.ID{"p"}, asked, "once, and each time")
		if at < 12*time.Second {
			m.silent(now, "p")
			m.enough()
		}
	})
	require.Equal(t, ms(0, 250, 1250, 5250, 9250, 13250), all)
}

// This test checks that we look again soon, and again, while time is over each
// time before all have answered, and that this ends.
func TestUnfinishedLooksAreRepeated(t *testing.T) {
	for _, c := range []struct {
		until time.Duration
		want  []time.Duration
	}{
		{0, ms(0, 250, 1250, 5250, 21250)},
		{4 * time.Second, ms(0, 250, 1250, 2250, 3250, 4250)},
	} {
		var m meeting
		m.met(time.Unix(100, 0), "p")
		require.Equal(t, c.want, looks(&m, time.Hour, nil, func(at time.Duration, now time.Time, _ []peer.ID) {
			if at < c.until {
				m.unfinished(now)
			}
		}))
	}

	var m meeting
	now := time.Unix(100, 0)
	m.met(now, "p")
	looks := 0
	for ; !m.next.IsZero(); now = now.Add(time.Second / 4) {
		if _, due := m.due(now); due {
			m.unfinished(now)
			looks++
		}
		require.Less(t, looks, 80)
	}
	require.Greater(t, looks, 50)
}
