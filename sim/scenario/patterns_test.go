// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package scenario_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"github.com/arke-mesh/arke/sim/scenario"
)

// busy has a work of every kind.
const busy = `name: busy
duration: 20s
nodes:
  - {name: m, count: 3}
  - {name: c, count: 2}
clusters:
  - {name: geo, members: [m], limits: {tunnels: 5}}
subscriptions:
  - {nodes: m, pattern: "news.>"}
  - {name: slow, nodes: [m1, c], pattern: "news.*", work: 10ms, queue_length: 20, queue_bytes: 64KiB, overflow: newest, start: 5s, stop: 15s}
  - {name: shared, nodes: m, pattern: "*.1", count: 2, queue: desk, no_echo: true}
workload:
  - {from: c, to: geo, rate: 100}
  - {kind: survey, from: c, to: geo, rate: 1}
  - {kind: push, from: c, to: geo, rate: 50, idempotent: true}
  - {kind: broadcast, from: c, to: geo, rate: 2, name: all}
  - {kind: publish, from: [c, m1], to: news, topics: 3, rate: 30, size: 1KiB}
  - {kind: tunnel, from: c1, to: geo, rate: 0.5, messages: 1000, every: 5ms, size: 4KiB, deadline: 10s}
timeline:
  - {at: 5s, do: flood, for: 5s, work: {kind: publish, from: m2, to: news.2, rate: 1000}}
assert: ["delivered{publish5} == 100%", "reported{slow} > 0", "completeness{all} == 100%", "tunnels_done{tunnel6} > 0"]
`

func TestEveryKindOfWorkIsExplicitAfterExpansion(t *testing.T) {
	// Names come from the kind and the place in the list; what a file leaves
	// out is filled in for the kind.
	s := expand(t, busy)
	var names []string
	for _, w := range s.Workload {
		names = append(names, w.Kind+" "+w.Name)
	}
	require.Equal(t, []string{"request request", "survey survey2", "push push3", "broadcast all", "publish publish5", "tunnel tunnel6"}, names)
	require.Equal(t, scenario.Subscription{
		Name: "subscription", Nodes: []string{"m1", "m2", "m3"}, Pattern: "news.>", Count: 1, Overflow: "oldest",
	}, s.Subscriptions[0])
	require.Equal(t, []string{"m1", "c1", "c2"}, s.Subscriptions[1].Nodes)
	require.Equal(t, "publish", s.Timeline[0].Work.Kind)
	require.Zero(t, s.Workload[0].Messages)
	require.Equal(t, 1000, s.Workload[5].Messages)
	short := expand(t, strings.Replace(busy, "messages: 1000, ", "", 1))
	require.Equal(t, scenario.DefaultMessages, short.Workload[5].Messages)
}

func TestSubscriptionsStayAsTheyAreThroughFiles(t *testing.T) {
	// The expanded form is a file again, as YAML and as JSON.
	s := expand(t, busy)
	for _, encode := range []func(any) ([]byte, error){json.Marshal, yaml.Marshal} {
		text, err := encode(s)
		require.NoError(t, err)
		again, err := scenario.Parse("again", text)
		require.NoError(t, err)
		require.Equal(t, s, again)
	}
}

func TestFewerSubscriptionsAndMessagesAreSmaller(t *testing.T) {
	// Shrinking leaves subscriptions out, has fewer of them and shorter tunnels,
	// and forgets nodes that are gone.
	s := expand(t, busy)
	var without, once, shorter, cut bool
	for _, c := range scenario.Smaller(s) {
		without = without || len(c.Subscriptions) == 2
		once = once || len(c.Subscriptions) == 3 && c.Subscriptions[2].Count == 1
		shorter = shorter || slices.ContainsFunc(c.Workload, func(w scenario.Work) bool { return w.Messages == 100 })
		cut = cut || c.Duration < 15*scenario.Duration(time.Second) && len(c.Subscriptions) > 1 && c.Subscriptions[1].Stop == c.Duration
		for _, sub := range c.Subscriptions {
			require.NotEmpty(t, sub.Nodes)
		}
	}
	require.True(t, without && once && shorter && cut)
}

func TestGenerateDrawsOtherKindsOfWorkIfTheFileWantsThem(t *testing.T) {
	// Each kind that is listed comes with some seeds and not with others; without
	// a list there are requests only, and they are the same with one.
	seen := map[string]int{}
	for seed := uint64(1); seed <= 40; seed++ {
		plain, err := scenario.Generate(seed, scenario.Ranges{})
		require.NoError(t, err)
		mixed, err := scenario.Generate(seed, scenario.Ranges{Kinds: scenario.WorkKinds()})
		require.NoError(t, err)
		require.Len(t, plain.Workload, 2)
		require.Equal(t, plain.Workload, mixed.Workload[:2])
		require.Equal(t, plain.Timeline, mixed.Timeline)
		_, err = mixed.Expand()
		require.NoError(t, err)
		for _, w := range mixed.Workload[2:] {
			seen[w.Kind]++
			require.Equal(t, w.Kind == "publish", len(mixed.Subscriptions) > 0 && w.To != mixed.Clusters[0].Name)
		}
	}
	for _, kind := range scenario.WorkKinds()[1:] {
		require.Greater(t, seen[kind], 5, kind)
		require.Less(t, seen[kind], 35, kind)
	}
	_, err := scenario.Generate(1, scenario.Ranges{Kinds: []string{"publich"}})
	require.ErrorContains(t, err, `unknown kind "publich"; did you mean publish?`)
}
