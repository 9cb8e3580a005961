// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package gateway

import (
	"testing"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/stretchr/testify/require"
)

func TestANetworkIsCutOffWhenNobodyIsHeardWhoDidNotSayGoodbye(t *testing.T) {
	// This test plays what a gateway's node hears of its network, moment by moment, with
	// what it concludes and whom it asks for heartbeats.
	start := time.Unix(1_000_000, 0)
	const ms = time.Millisecond
	type look struct {
		at     time.Duration
		signs  []sign // heard is the time since the last byte
		cut    bool
		broken bool
		held   []peer.ID
	}
	hears := func(p peer.ID, ago time.Duration) sign { return sign{peer: p, heard: start.Add(-ago)} }
	silent := func(p peer.ID, ago time.Duration) sign {
		return sign{peer: p, heard: start.Add(-ago), suspect: true}
	}
	for name, story := range map[string][]look{
		"nobody was ever there": {{at: 0}, {at: time.Hour}},
		"one who is held lives": {
			{at: 0, signs: []sign{hears("a", 0)}, held: []peer.ID{"a"}},
			{at: 3000 * ms, signs: []sign{hears("a", 400*ms)}, held: []peer.ID{"a"}},
		},
		"everybody is silent at once": {
			{at: 0, signs: []sign{hears("a", 0), hears("b", 0)}, held: []peer.ID{"a"}},
			{at: 1000 * ms, signs: []sign{silent("a", 1200*ms), hears("b", 1200*ms)}, held: []peer.ID{"b"}},
			{at: 2000 * ms, signs: []sign{silent("a", 2200*ms), hears("b", 2200*ms)}, broken: true, held: []peer.ID{"a", "b"}},
			{at: 2399 * ms, signs: []sign{silent("a", 2400*ms), hears("b", 2400*ms)}, broken: true, held: []peer.ID{"a", "b"}},
			{at: 2400 * ms, signs: []sign{silent("a", 2400*ms), silent("b", 2400*ms)}, broken: true, cut: true, held: []peer.ID{"a", "b"}},
			{at: 20 * time.Second, broken: true, cut: true}, // their sessions have ended
			{at: 30 * time.Second, signs: []sign{hears("b", 0)}, broken: true, held: []peer.ID{"b"}},
			{at: 34 * time.Second, signs: []sign{hears("b", 0)}, broken: true, held: []peer.ID{"b"}},
			{at: 35 * time.Second, signs: []sign{hears("b", 0)}, held: []peer.ID{"b"}},
		},
		"who is held dies, and one whose link is idle answers": {
			{at: 0, signs: []sign{hears("a", 0), hears("b", time.Hour)}, held: []peer.ID{"a"}},
			{at: 1200 * ms, signs: []sign{silent("a", 1200*ms), hears("b", time.Hour)}, broken: true, held: []peer.ID{"a", "b"}},
			{at: 1400 * ms, signs: []sign{silent("a", 1400*ms), hears("b", 0)}, broken: true, held: []peer.ID{"b"}},
			{at: 7000 * ms, signs: []sign{hears("b", 0)}, held: []peer.ID{"b"}},
			{at: 8000 * ms}, // it says goodbye, and who died long before is not waited for
			{at: time.Hour},
		},
		"all say goodbye": {
			{at: 0, signs: []sign{hears("a", 0), hears("b", time.Hour)}, held: []peer.ID{"a"}},
			{at: 200 * ms, signs: nil},
			{at: time.Hour, signs: nil},
		},
		"a pause that is shorter than the patience": {
			{at: 0, signs: []sign{hears("a", 0)}, held: []peer.ID{"a"}},
			{at: 200 * ms, signs: []sign{silent("a", 1200*ms)}, broken: true, held: []peer.ID{"a"}},
			{at: 599 * ms, signs: []sign{silent("a", 1500*ms)}, broken: true, held: []peer.ID{"a"}},
			{at: 600 * ms, signs: []sign{hears("a", 0)}, broken: true, held: []peer.ID{"a"}},
		},
	} {
		var c contact
		for _, l := range story {
			now := start.Add(l.at)
			for i := range l.signs {
				l.signs[i].heard = l.signs[i].heard.Add(l.at)
			}
			c.step(now, l.signs)
			require.Equal(t, l.cut, c.cut, "%s: cut off at %v", name, l.at)
			require.Equal(t, l.broken, c.broken, "%s: broken at %v", name, l.at)
			var held []peer.ID
			for _, n := range l.signs {
				if _, is := c.held[n.peer]; is {
					held = append(held, n.peer)
				}
			}
			require.Equal(t, l.held, held, "%s: held at %v", name, l.at)
			require.Len(t, c.held, len(held), name)
		}
	}
}

func TestWhatANetworkLentStaysLentWhileItIsCutOff(t *testing.T) {
	// This test cuts the network off: what it lent is offered as suspect for as long as
	// that lasts, though nobody is listed any more, and until what anchors say of empty
	// clusters can be believed. Nothing new is lent, and nothing is known to be empty.
	start := time.Unix(1_000_000, 0)
	r := &reach{}
	at := func(cut, broken bool, s seen, native bool) seen {
		r.cut.Store(cut)
		r.broken.Store(broken)
		s.reckon(r, native)
		return s
	}
	two := seen{known: true, members: 2, usable: 2, sure: 2, capacity: 4}
	lost := seen{known: true, members: 2}
	var o offer
	require.Equal(t, orderLend, o.step(start, at(false, false, two, true)))
	require.Equal(t, orderDoubt, o.step(start, at(true, true, two, true)), "links that were idle look well")
	require.True(t, o.suspect)
	require.Equal(t, orderNothing, o.step(start.Add(time.Minute), at(true, true, lost, true)))
	require.Equal(t, orderNothing, o.step(start.Add(time.Hour), at(true, true, seen{known: true}, true)))
	require.Equal(t, orderNothing, o.step(start.Add(2*time.Hour), at(false, true, seen{known: true}, true)))
	require.Equal(t, orderDoubt, o.step(start.Add(2*time.Hour+time.Second), at(false, true, two, true)))
	require.False(t, o.suspect)
	require.Equal(t, orderReturn, o.step(start.Add(3*time.Hour), at(false, false, seen{known: true}, true)))

	require.Equal(t, orderNothing, (&offer{}).step(start, at(true, true, lost, true)))
	require.False(t, at(true, true, seen{known: true}, true).known)
	require.False(t, at(false, true, seen{known: true}, true).known)
	require.True(t, at(false, false, seen{known: true}, true).known)
	require.False(t, at(true, true, two, false).cut, "what is lent there by another gateway that can be reached")
	require.True(t, at(true, true, lost, false).cut)
}
