// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAnAnchorSaysWhenTheWatchersKnow(t *testing.T) {
	// This test checks that a lease is pending until each watcher has seen it, can't be
	// reached, has gone, or was waited for for long enough.
	for name, over := range map[string]func(g *rig) []string{
		"it has seen it":     func(g *rig) []string { return g.from("A", &seenMsg{g.epochOf("geo", "A").cid, 1, 1}) },
		"it is suspect":      func(g *rig) []string { return g.link(PeerSuspect, "A") },
		"it has gone":        func(g *rig) []string { return g.link(PeerDown, "A") },
		"it does not answer": func(g *rig) []string { return g.after(announcing.Time) },
		"it watches no more": func(g *rig) []string { return g.from("A", &unwatchMsg{g.epochOf("geo", "A").cid}) },
		"it has watched anew": func(g *rig) []string {
			require.Empty(g.t, only("B:", g.from("A", g.watch("geo", "A", 2))))
			require.EqualValues(g.t, 1, g.msgs["A"][0].(*snapshotMsg).announcement)
			require.Empty(g.t, only("B:", g.from("A", &seenMsg{g.epochOf("geo", "A").cid, 1, 1})), "of the earlier watch")
			return g.from("A", &seenMsg{g.epochOf("geo", "A").cid, 2, 1})
		},
	} {
		t.Run(name, func(t *testing.T) {
			g := newAnchorRig(t, "me")
			g.from("A", g.watch("geo", "A", 1))
			m := g.register("geo", "B", 5, 1, 1)
			m.announce = true
			g.from("B", m)
			require.True(t, g.msgs["B"][0].(*registeredMsg).pending)
			require.EqualValues(t, 1, g.msgs["A"][0].(*deltaMsg).announcement)
			require.NotEmpty(t, only("B: registered 5 NONE", over(g)))
			require.False(t, g.msgs["B"][0].(*registeredMsg).pending)
		})
	}
}

func TestAWatcherAnswersOnceCallersSeeTheMember(t *testing.T) {
	// This test checks that Seen is sent behind the view that it speaks of.
	g := newRig(t, "me", "A", "B", "C")
	g.up("A", "B", "C")
	g.do(watchEvent{"geo", newPool()})
	e := g.c.watcher.byID[g.epochOf("geo", "me").cid]
	g.from("A", &snapshotMsg{cid: e.cid, seq: e.at(testPeer("A")).seq})
	got := g.from("A", &deltaMsg{cid: e.cid, seq: e.at(testPeer("A")).seq, number: 1, upserted: []lease{g.lease("geo", "B", 5, 1)}, announcement: 3})
	require.Equal(t, []string{"view 5@B=live", "A: seen 3"}, append(only("view", got), only("A: seen", got)...))
	require.Equal(t, "A: seen 3", got[len(got)-1])
}

func TestRegisterEndsWhenTheWatchersOfAMajorityKnow(t *testing.T) {
	// This test checks that answers which are pending do not count.
	g := newRig(t, "me", "A", "B", "C")
	g.up("A", "B", "C")
	g.after(settleTime)
	g.do(registerEvent{"geo", Registration{Member: 1}})
	says := func(p string, pending bool) []string {
		m := g.asked[p]
		return only("registered", g.from(p, &registeredMsg{cid: m.cid, member: 1, seq: m.seq, pending: pending}))
	}
	var asked []string
	for p, m := range g.asked {
		require.True(t, m.announce)
		asked = append(asked, p)
	}
	for _, p := range asked {
		require.Empty(t, says(p, true))
	}
	var got []string
	for _, p := range asked {
		got = append(got, says(p, false)...)
	}
	require.Equal(t, []string{"registered 1"}, got)
}
