// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package check_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/sim/check"
	"github.com/arke-mesh/arke/sim/history"
)

// This test checks that a verdict names what was lost, with what is known of its way, and
// nothing that is excused or came to its end.
func TestTheLostAreNamed(t *testing.T) {
	s := peace()
	require.Empty(t, s.judge(check.Rules{}).Lost)

	r := s.ask(20*sec, "c1", 1, "load")
	r.Outcome, r.Attempts, r.MaybeRan, r.Ended, r.Member = "deadline", 2, true, 25*sec, ""
	s.Runs[len(s.Runs)-1].Ended = -1
	id := r.ID
	excused := s.ask(21*sec, "c1", 1, "load")
	excused.Outcome, excused.Lost, excused.Member = "interrupted", true, ""
	s.Tunnels = append(s.Tunnels, history.Tunnel{
		ID: 7000, Work: "pipe", Caller: "c2", Cluster: "echo", Sent: 10 * sec, Opened: 11 * sec, Deadline: 20 * sec, Ended: 12 * sec, Outcome: "reset", Member: "m1",
		Served: []history.Serving{{Tenure: 0, Began: 11 * sec, Ended: 12 * sec}}, Forth: history.Flow{Tried: 5, Sent: 5, Received: 3},
	})
	s.subscribe("m1", "a.>", 0)
	p := s.publish(15*sec, "c1", "a.b")
	s.Publications[p].Work = "news"
	s.Copies = append(s.Copies, history.Copy{Publication: s.Publications[p].ID, From: "c1", To: "m3", At: 15001 * ms})

	v := s.judge(check.Rules{})
	require.Equal(t, 3, v.LostCount)
	require.Len(t, v.Lost, 3)
	require.Equal(t, check.Lost{
		At: 10 * sec, Kind: "tunnel", ID: 7000, Work: "pipe", From: "c2", To: "echo", Outcome: "reset",
		Path: "opened at 11s to m1, ended at 12s, 3 of 5 messages came to the member",
	}, v.Lost[0])
	require.Equal(t, "publication", v.Lost[1].Kind)
	require.Equal(t, "missing", v.Lost[1].Outcome)
	require.Equal(t, "1 copies were sent, none to m1", v.Lost[1].Path)
	require.Equal(t, check.Lost{
		At: 20 * sec, Kind: "request", ID: id, Work: "load", From: "c1", To: "echo", Outcome: "deadline",
		Path: "2 attempts, ended after 5s, a handler began on m2 at 20.004s and did not return",
	}, v.Lost[2])
}

// This test checks that a verdict names the first of very many, and says how many there are.
func TestOnlyTheFirstLostAreNamed(t *testing.T) {
	s := peace()
	for i := range s.Requests {
		s.Requests[i].Outcome = "unreachable"
	}
	v := s.judge(check.Rules{})
	require.Equal(t, len(s.Requests), v.LostCount)
	require.Len(t, v.Lost, 100)
	require.Equal(t, s.Requests[0].ID, v.Lost[0].ID)
}
