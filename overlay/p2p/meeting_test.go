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
				m.met(begun.Add(at), "p")
			}
			if _, due := m.due(begun.Add(at)); due {
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
	var got []time.Duration
	begun := time.Unix(100, 0)
	m.met(begun, "p")
	for at := time.Duration(0); at < 20*time.Second; at += 10 * time.Millisecond {
		now := begun.Add(at)
		asked, due := m.due(now)
		if !due {
			continue
		}
		got = append(got, at.Truncate(10*time.Millisecond))
		require.Equal(t, []peer.ID{"p"}, asked, "once, and each time")
		if at < 12*time.Second {
			m.silent(now, "p")
			m.enough()
		}
	}
	const ms = time.Millisecond
	require.Equal(t, []time.Duration{0, 250 * ms, 1250 * ms, 5250 * ms, 9250 * ms, 13250 * ms}, got)
}

// This test checks that we look again soon, and again, while time is over each
// time before all have answered, and that this ends.
func TestUnfinishedLooksAreRepeated(t *testing.T) {
	for _, c := range []struct {
		until time.Duration
		want  []int // ms
	}{
		{0, []int{0, 250, 1250, 5250, 21250}},
		{4 * time.Second, []int{0, 250, 1250, 2250, 3250, 4250}},
	} {
		var m meeting
		var got []int
		begun := time.Unix(100, 0)
		m.met(begun, "p")
		for at := time.Duration(0); at < time.Hour; at += 10 * time.Millisecond {
			now := begun.Add(at)
			if _, due := m.due(now); due {
				got = append(got, int(at.Milliseconds()))
				if at < c.until {
					m.unfinished(now)
				}
			}
		}
		require.Equal(t, c.want, got)
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

// This test checks when we look after peers were lost at the given times: a second later,
// and once more; no more than once a second while many are lost; and that a look because of
// new connections goes on.
func TestLostPeersAreReplaced(t *testing.T) {
	const ms = time.Millisecond
	for _, c := range []struct {
		met, lost, want []time.Duration
		about           string
	}{
		{nil, []time.Duration{0}, []time.Duration{1000 * ms, 5000 * ms}, "one"},
		{nil, []time.Duration{0, 900 * ms}, []time.Duration{1000 * ms, 5000 * ms}, "two at a time"},
		{nil, []time.Duration{0, 3000 * ms}, []time.Duration{1000 * ms, 4000 * ms, 8000 * ms}, "another one later"},
		{[]time.Duration{0}, []time.Duration{500 * ms}, []time.Duration{0, 250 * ms, 1250 * ms, 5250 * ms, 21250 * ms}, "where we look anyway"},
	} {
		var m meeting
		var got []time.Duration
		begun := time.Unix(100, 0)
		for at := time.Duration(0); at < time.Hour; at += 10 * ms {
			now := begun.Add(at)
			if slices.Contains(c.met, at) {
				m.met(now, "p")
			}
			if slices.Contains(c.lost, at) {
				m.lost(now)
			}
			if _, due := m.due(now); due {
				got = append(got, at)
			}
		}
		require.Equal(t, c.want, got, c.about)
	}
	var m meeting
	looks := 0
	for at := time.Duration(0); at < 10*time.Second; at += 10 * ms {
		m.lost(time.Unix(100, 0).Add(at))
		if _, due := m.due(time.Unix(100, 0).Add(at)); due {
			looks++
		}
	}
	require.Less(t, looks, 11, "however many are lost")
}
