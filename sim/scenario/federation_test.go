// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package scenario_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/sim/scenario"
)

// two is what the files of these tests begin with: 9 lines.
const two = `name: small
duration: 60s
networks: [us, eu]
nodes:
  - {name: c, count: 2, network: us}
  - {name: m, network: us}
  - {name: e, count: 2, network: eu}
clusters:
  - {name: geo, members: "*"}
`

func TestAnImpossibleFederationIsRefused(t *testing.T) {
	// What can't be about networks and gateways, and exactly what is said.
	for _, tc := range []struct{ more, want string }{
		{"gateways: [{name: g}]", "f.yaml:10: gateways[0]: needs lend: what crosses"},
		{"gateways: [{name: m, lend: [{cluster: geo, from: eu, to: us}]}]", `f.yaml:10: gateways[0]: "m" is the name of something in nodes[1] already`},
		{"gateways: [{name: g, lend: [{cluster: gio, from: eu, to: us}]}]", `f.yaml:10: gateways[0].lend[0].cluster: no cluster is called "gio"; did you mean geo?`},
		{"gateways: [{name: g, lend: [{cluster: geo, from: asia, to: us}]}]", `f.yaml:10: gateways[0].lend[0].from: unknown network "asia"; there is us, eu`},
		{"gateways: [{name: g, lend: [{cluster: geo, from: us, to: us}]}]", "f.yaml:10: gateways[0].lend[0]: it leads from a network to itself"},
		{"gateways: [{name: g, lend: [{cluster: geo, from: eu, to: us, priority: 300}]}]", "f.yaml:10: gateways[0].lend[0].priority: 300 is not between 1 and 255"},
		{"gateways: [{name: g, lend: [{from: eu, to: us}]}]", "f.yaml:10: gateways[0].lend[0]: needs cluster or topic, one of the two"},
		{"gateways: [{name: g, lend: [{topic: \"*.x\", from: eu, to: us}]}]", "f.yaml:10: gateways[0].lend[0].topic: its first word must be a name: one that begins with a wildcard stands for all topics there are"},
		{"gateways: [{name: g, lend: [{topic: a.x, from: eu, to: us, transit: true}]}]", "f.yaml:10: gateways[0].lend[0].transit: topics have none"},
		{"gateways: [{name: g, lend: [{topic: a.x, as: b.c, from: eu, to: us}]}]", `f.yaml:10: gateways[0].lend[0].as: "b.c" stands for the first word of the topics, and has no points`},
		{"workload: [{from: c, to: geo@asia, rate: 1}]", `f.yaml:10: workload[0].to: unknown network "asia"; there is us, eu`},
		{"workload: [{from: c, to: gio@eu, rate: 1}]", `f.yaml:10: workload[0].to: no cluster is called "gio"; did you mean geo?`},
		{"gateways: [{name: g, lend: [{cluster: geo, from: eu, to: us}]}]\nworkload: [{from: g, to: geo, rate: 1}]", "f.yaml:11: workload[0].from: g is a gateway: it sends nothing by itself"},
		{"gateways: [{name: g, lend: [{cluster: geo, from: eu, to: us}]}]\ntimeline: [{at: 1s, do: ban, nodes: g}]", "f.yaml:11: timeline[0].nodes: g is a gateway: it has keys of several networks, which no action changes yet"},
		{"levels: [stack]", "f.yaml:10: levels[0]: several networks are at levels sim and net only"},
		{"links: [{between: [network:asia, m]}]", `f.yaml:10: links[0].between[0]: no node is in network "asia"; there is eu, us`},
	} {
		_, err := scenario.Parse("f.yaml", []byte(two+tc.more+"\n"))
		require.EqualError(t, err, tc.want, tc.more)
	}
	for _, tc := range []struct{ file, want string }{
		{"nodes: [{name: m, network: us}]", "f.yaml:4: nodes[0].network: there are no networks: list them as networks:"},
		{"networks: [us, us]\nnodes: [{name: m, network: us}]", `f.yaml:4: networks[1]: "us" is given twice`},
		{"networks: [us]\nnodes: [{name: m}]", "f.yaml:5: nodes[0]: needs network: which of us it is in"},
		{"nodes: [{name: m}]\nclusters: [{name: geo}]\nworkload: [{from: m, to: geo@eu, rate: 1}]", "f.yaml:6: workload[0].to: there are no networks: list them as networks:"},
	} {
		_, err := scenario.Parse("f.yaml", []byte("name: small\nduration: 60s\n\n"+tc.file+"\n"))
		require.EqualError(t, err, tc.want, tc.file)
	}
}

func TestAFederationExpandsToItself(t *testing.T) {
	// Gateways have names that actions and links may use and that "*" leaves out of members and callers;
	// what is expanded expands to itself, and is told to people.
	x := expand(t, two+`gateways:
  - {name: g, count: 2, lend: [{cluster: geo, from: eu, to: us, as: far, transit: true, in_flight: 9}]}
links:
  - {between: [g, network:eu], latency: 40ms}
workload:
  - {from: network:us, to: far, rate: 1}
  - {name: named, from: c, to: geo@eu, rate: 1}
timeline:
  - {at: 1s, do: crash, nodes: g2, for: 1s}
  - {at: 3s, do: partition, between: [network:eu, g], for: 1s}
`)
	stays(t, x)
	require.Equal(t, []string{"c1", "c2", "m", "e1", "e2"}, x.Clusters[0].Members)
	require.Equal(t, []string{"c1", "c2", "m"}, x.Workload[0].From)
	require.Equal(t, [][]string{{"e1", "e2"}, {"g1", "g2"}}, x.Timeline[2].Between)
	index := scenario.NewIndex(x)
	g, is := index.Gateway("g2")
	require.True(t, is)
	require.Equal(t, []string{"eu", "us"}, g.Networks())
	_, is = index.Gateway("e1")
	require.False(t, is)
	far, ok := index.Link("e2", "g1")
	require.True(t, ok)
	require.Equal(t, "40ms", far.Latency.String())
	var text strings.Builder
	require.NoError(t, x.Explain(&text))
	require.Contains(t, text.String(), "Gateways   g1, g2 (2)\n             lend geo of eu to us as far, with what is lent to eu, at most 9 requests at once\n")
	require.Contains(t, text.String(), "network eu")
	require.NotEmpty(t, scenario.Smaller(x))
}
