// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/sim/history"
)

// TestViewIsRightWhenItShowsTheLiving proves what counts as missing and dead,
// second by second, while a member joins, another dies and the observer
// starts again.
func TestViewIsRightWhenItShowsTheLiving(t *testing.T) {
	s := time.Second
	view := func(at time.Duration, member, state string) history.View {
		return history.View{At: at, Node: "c", Cluster: "echo", Member: member, State: state}
	}
	h := &history.History{
		Nodes: []history.Node{{Name: "c", Until: 20 * s}, {Name: "c", From: 21 * s, Until: -1}},
		Tenures: []history.Tenure{
			{Cluster: "echo", Member: "A", Asked: 1 * s, From: 2 * s, Leaving: 10 * s, Until: 12 * s},
			{Cluster: "echo", Member: "B", Asked: 4 * s, From: 5 * s, Leaving: -1, Until: -1},
			{Cluster: "echo", Member: "", Asked: 4 * s, From: -1, Leaving: -1, Until: -1, Err: "refused"},
			{Cluster: "other", Member: "X", From: 2 * s, Leaving: -1, Until: -1},
		},
		Views: []history.View{
			view(3*s, "A", "live"), view(6*s, "B", "live"), view(7*s, "B", "suspect"), view(8*s, "B", "unreachable"), view(9*s, "B", "live"),
			view(14*s, "A", ""), view(22*s, "B", "live"),
		},
	}
	all := sights(h)
	require.Len(t, all, 1)
	require.Equal(t, []step{
		{at: 1 * s},
		{at: 2 * s},
		{at: 3 * s, watching: 1, exact: 1},
		{at: 4 * s, watching: 1, exact: 1},
		{at: 5 * s, watching: 1, missing: 1}, // B is there, c does not know
		{at: 6 * s, watching: 1, exact: 1},
		{at: 7 * s, watching: 1, exact: 1}, // suspect is still in the view
		{at: 8 * s, watching: 1, missing: 1},
		{at: 9 * s, watching: 1, exact: 1},
		{at: 10 * s, watching: 1, exact: 1}, // leaving: both is right
		{at: 12 * s, watching: 1, dead: 1},
		{at: 14 * s, watching: 1, exact: 1},
		{at: 20 * s}, // c is not there
		{at: 22 * s, watching: 1, exact: 1},
	}, all[0].steps)
	require.Equal(t, []point{{7 * s, 1}, {8 * s, 0}}, all[0].entries["suspect"])
	require.Equal(t, []point{{8 * s, 1}, {9 * s, 0}}, all[0].entries["unreachable"])
	require.Empty(t, all[0].entries["ejected"])
}
