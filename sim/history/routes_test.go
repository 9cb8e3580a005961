// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package history_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/sim/history"
)

// lends has gateways, each named after two networks, lend a cluster both ways.
func lends(transit bool, pairs ...string) (all []history.Crossing) {
	for _, g := range pairs {
		for _, ways := range [][2]string{{g[:1], g[1:2]}, {g[1:2], g[:1]}} {
			all = append(all, history.Crossing{Gateway: g, From: ways[0], To: ways[1], Cluster: "all", As: "all", Transit: transit})
		}
	}
	return all
}

// said is routes as text: networks from the members to the callers.
func said(routes []history.Route) (out []string) {
	for _, r := range routes {
		var b strings.Builder
		for _, l := range r {
			b.WriteString(l.From)
		}
		out = append(out, b.String()+r[len(r)-1].To)
	}
	return out
}

func TestRoutesLeadThroughNoNetworkTwice(t *testing.T) {
	// Without transit a route crosses one border. In a ring of four there are two ways from
	// each network, and each is told by both neighbours; a gateway without transit ends a way,
	// and another name is followed.
	require.Equal(t, []string{"ba", "da"}, said(history.Routes(lends(false, "ab", "bc", "cd", "da"), "a", "all")))
	ring := lends(true, "ab", "bc", "cd", "da")
	require.Equal(t, []string{"ba", "da", "cba", "cda", "dcba", "bcda"}, said(history.Routes(ring, "a", "all")))
	for _, r := range history.Routes(ring, "a", "all") {
		require.True(t, r.Told(ring), "%v", r)
	}
	require.Equal(t, []string{"ba", "da", "cba", "dcba"}, said(history.Routes(append(lends(true, "ab", "bc", "cd"), lends(false, "da")...), "a", "all")))
	named := lends(true, "ab", "bc")
	named[3].As = "far" // of c in b
	require.Equal(t, []string{"ba"}, said(history.Routes(named, "a", "all")))
	named[1].Cluster = "far"
	require.Equal(t, []string{"ba", "cba"}, said(history.Routes(named, "a", "all")))
	require.Empty(t, history.Routes(named, "a", "far"))
	r := history.Routes(append(ring, lends(true, "ab")...), "a", "all")[0]
	require.Equal(t, []string{"ab", "ab"}, r.Lenders())
}

func TestAWayThatNobodyTellsOfIsNotCounted(t *testing.T) {
	// n tells d of the shorter way only, which comes from a, so a does not hear of the longer
	// one from d.
	net := lends(true, "xa", "an", "xy", "yz", "zn", "nd", "da")
	for _, r := range history.Routes(net, "a", "all") {
		text := said([]history.Route{r})[0]
		if text[0] == 'x' {
			require.Equal(t, text != "xyznda", r.Told(net), text)
		}
	}
}
