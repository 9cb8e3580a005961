// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package check_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/sim/check"
	"github.com/arke-mesh/arke/sim/history"
)

// This test checks what counts as missing and as dead, second by second, while
// a member joins and is doubted, another leaves, and the observer starts again.
func TestAViewIsRightIfItTakesExactlyTheLiveToBeAlive(t *testing.T) {
	s := time.Second
	view := func(at time.Duration, member, state string) history.View {
		return history.View{At: at, Node: "c", Cluster: "echo", Member: member, State: state}
	}
	h := &history.History{
		End:   30 * s,
		Nodes: []history.Node{{Name: "c", Until: 20 * s}, {Name: "c", From: 21 * s, Until: -1}, {Name: "m", Until: -1}},
		Tenures: []history.Tenure{
			{Cluster: "echo", Node: "m", Member: "A", Asked: 1 * s, From: 2 * s, Leaving: 12 * s, Until: 13 * s},
			{Cluster: "echo", Node: "m", Member: "B", Asked: 4 * s, From: 5 * s, Leaving: -1, Until: -1},
			{Cluster: "echo", Node: "m", Member: "", Asked: 4 * s, From: -1, Leaving: -1, Until: -1, Err: "refused"},
			{Cluster: "other", Node: "m", Member: "X", From: 2 * s, Leaving: -1, Until: -1},
		},
		Views: []history.View{
			view(3*s, "A", "live"), view(6*s, "B", "live"), view(7*s, "B", "suspect"), view(8*s, "B", "unreachable"), view(9*s, "B", "live"),
			view(10*s, "B", "ejected"), view(11*s, "B", "live"),
			view(14*s, "A", "ejected"), view(15*s, "A", "suspect"), view(16*s, "A", ""), view(22*s, "B", "live"),
		},
	}
	all := check.ViewHistories(h)
	require.Len(t, all, 1)
	require.Equal(t, []any{"echo", 2, 2}, []any{all[0].Cluster, all[0].Observers, all[0].Members})
	require.Equal(t, []check.ViewStep{
		{At: 3 * s, Watching: 1, Right: 1},
		{At: 5 * s, Watching: 1, Missing: 1}, // B is there, c does not know
		{At: 6 * s, Watching: 1, Right: 1},
		{At: 7 * s, Watching: 1, Missing: 1, Suspect: 1}, // it doubts that B lives
		{At: 8 * s, Watching: 1, Missing: 1, Unreachable: 1},
		{At: 9 * s, Watching: 1, Right: 1},
		{At: 10 * s, Watching: 1, Right: 1, Ejected: 1}, // it knows that B lives
		{At: 11 * s, Watching: 1, Right: 1},
		{At: 12 * s, Watching: 1, Dead: 1}, // A leaves
		{At: 14 * s, Watching: 1, Dead: 1, Ejected: 1},
		{At: 15 * s, Watching: 1, Right: 1, Suspect: 1}, // it doubts, and is right
		{At: 16 * s, Watching: 1, Right: 1},
		{At: 20 * s}, // c is not there
		{At: 22 * s, Watching: 1, Right: 1},
	}, all[0].Steps)
}

// This test checks that what is judged and what is drawn agree: a verdict
// objects to how a view ends exactly if the last step has a wrong one.
func TestTheVerdictAndTheHistoryOfViewsAgree(t *testing.T) {
	for _, c := range []struct {
		live, dead string   // how one view shows a live member in the end, and a dead one
		want       []string // the checkers that object
	}{
		{live: "live", dead: ""},
		{live: "ejected", dead: "suspect"},
		{live: "live", dead: "unreachable"},
		{live: "suspect", dead: "", want: []string{"converge"}},
		{live: "unreachable", dead: "", want: []string{"converge"}},
		{live: "live", dead: "live", want: []string{"converge", "zombie"}},
		{live: "live", dead: "ejected", want: []string{"converge", "zombie"}},
	} {
		s := peace()
		s.crash(10*sec, ms)
		s.view(20*sec, "c1", "m1", c.live)
		s.view(20*sec, "c1", "m2", c.dead)
		require.Equal(t, c.want, found(s.judge(check.Rules{})), "%+v", c)
		steps := check.ViewHistories(&s.History)[0].Steps
		last := steps[len(steps)-1]
		require.Equal(t, 2, last.Watching)
		require.Equal(t, len(c.want) == 0, last.Right == 2, "%+v", c)
	}
}
