// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package scenario_test

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"github.com/arke-mesh/arke/sim/check"
	"github.com/arke-mesh/arke/sim/scenario"
)

// base is a small network; tests put a timeline behind it.
const base = `name: small
duration: 60s
nodes:
  - {name: m, count: 5, zone: east}
  - {name: c, count: 2, zone: west}
  - {name: late, start: 30s}
clusters:
  - {name: geo, members: [m]}
links:
  - {between: [zone:east, zone:west], latency: 20ms, loss: 0.5%}
workload:
  - {from: c, to: geo, rate: 100}
`

func parse(t *testing.T, text string) scenario.Scenario {
	t.Helper()
	s, err := scenario.Parse("test.yaml", []byte(text))
	require.NoError(t, err)
	return s
}

func expand(t *testing.T, text string) scenario.Scenario {
	t.Helper()
	return expanded(t, parse(t, text))
}

func expanded(t *testing.T, s scenario.Scenario) scenario.Scenario {
	t.Helper()
	x, err := s.Expand()
	require.NoError(t, err, "seed %d", s.Seed)
	return x
}

// stays checks that an expanded scenario is a scenario too, which expands to itself,
// and is the same through YAML and JSON.
func stays(t *testing.T, x scenario.Scenario) {
	t.Helper()
	require.Equal(t, x, expanded(t, x), "expanding twice is expanding once")
	asYAML, err := yaml.Marshal(x)
	require.NoError(t, err)
	asJSON, err := json.Marshal(x)
	require.NoError(t, err)
	for _, file := range [][]byte{asYAML, asJSON} {
		again, err := scenario.Parse("again", file)
		require.NoError(t, err)
		require.Equal(t, x, again)
	}
	var again scenario.Scenario
	require.NoError(t, json.Unmarshal(asJSON, &again))
	require.Equal(t, x, again)
}

// line is an action as one line of text.
func line(a scenario.Action) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%v %s", a.At, a.Do)
	if len(a.Nodes) > 0 {
		fmt.Fprintf(&b, " %s", strings.Join(a.Nodes, ","))
	}
	if len(a.Between) > 0 {
		fmt.Fprintf(&b, " %s>%s", strings.Join(a.Between[0], ","), strings.Join(a.Between[1], ","))
	}
	if a.Factor != 0 {
		fmt.Fprintf(&b, " x%d", a.Factor)
	}
	if a.Offset != 0 || a.Drift != 0 {
		fmt.Fprintf(&b, " %v %dppm", a.Offset, a.Drift)
	}
	if a.Mode != "" {
		fmt.Fprintf(&b, " %s", a.Mode)
	}
	if a.Identity != "" {
		fmt.Fprintf(&b, " %s", a.Identity)
	}
	if a.Link != nil {
		fmt.Fprintf(&b, " %v±%v %v", a.Link.Latency, a.Link.Jitter, a.Link.Loss)
	}
	if a.Work != nil {
		fmt.Fprintf(&b, " %s %s>%s %v/s %v..%v", a.Work.Name, strings.Join(a.Work.From, ","), a.Work.To, a.Work.Rate, a.Work.Start, a.Work.Stop)
	}
	return b.String()
}

func lines(s scenario.Scenario) []string {
	var all []string
	for _, a := range s.Timeline {
		all = append(all, line(a))
	}
	return all
}

func TestActionsExpandToPrimitiveOnes(t *testing.T) {
	// Each action of a file, and the primitive ones it stands for.
	for _, tc := range []struct {
		action string
		want   []string
	}{
		{"{at: 5s, do: crash, nodes: m2, for: 3s}", []string{"5s crash m2", "8s restart m2"}},
		{"{at: 5s, do: stop, nodes: m2, down: 3s}", []string{"5s stop m2", "8s restart m2"}},
		{"{at: 5s, do: silence, nodes: [m2, m1]}", []string{"5s silence m1", "5s silence m2"}},
		{"{at: 5s, do: pause, nodes: c, for: 1s}", []string{"5s pause c1", "5s pause c2", "6s resume c1", "6s resume c2"}},
		{"{at: 5s, do: slow, nodes: m1, factor: 10, for: 1s}", []string{"5s slow m1 x10", "6s slow m1 x1"}},
		{"{at: 5s, do: skew, nodes: m1, offset: -10m, drift: 500, for: 1s}", []string{"5s skew m1 -10m 500ppm", "6s skew m1"}},
		{"{at: 5s, do: router, nodes: m1, mode: stale, for: 1s}", []string{"5s router m1 stale", "6s router m1"}},
		{"{at: 5s, do: start, nodes: late}", []string{"5s start late"}},
		{"{at: 5s, do: cut, between: [m1, [c1, c2]], for: 2s}", []string{"5s cut m1>c1,c2", "7s mend m1>c1,c2"}},
		{"{at: 5s, do: clog, between: [m1, zone:west], for: 2s}", []string{"5s clog m1>c1,c2", "7s unclog m1>c1,c2"}},
		{"{at: 5s, do: partition, between: [m1, c], for: 2s}", []string{"5s cut m1>c1,c2", "5s cut c1,c2>m1", "7s mend m1>c1,c2", "7s mend c1,c2>m1"}},
		{"{at: 5s, do: partition, nodes: [m, c]}", []string{"5s cut m1,m2,m3,m4,m5,c1,c2>late", "5s cut late>m1,m2,m3,m4,m5,c1,c2"}},
		{"{at: 5s, do: partition-oneway, between: [m1, c]}", []string{"5s cut m1>c1,c2"}},
		{"{at: 5s, do: degrade, between: [m1, [c1, late]], link: {loss: 10%}, for: 2s}", []string{
			"5s degrade m1>c1,late 5ms±1ms 10%",
			"7s degrade m1>c1 20ms±0s 0.5%",
			"7s degrade m1>late 5ms±1ms 0%",
		}},
		{"{at: 5s, do: degrade, between: [m1, c1], link: {latency: 1s}, for: 2s}", []string{"5s degrade m1>c1 1s±0s 0%", "7s degrade m1>c1 20ms±0s 0.5%"}},
		{"{at: 5s, do: corrupt, between: [m1, c1]}", []string{"5s corrupt m1>c1"}},
		{"{at: 5s, do: flood, for: 5s, work: {from: c1, to: geo, rate: 1000}}", []string{"5s flood flood c1>geo 1000/s 0s..5s"}},
		{"{at: 5s, do: flood, work: {from: c1, to: geo, rate: 1000}}", []string{"5s flood flood c1>geo 1000/s 0s..55s"}},
		{"{at: 5s, do: crash, nodes: m2, for: 1s, every: 3s, times: 3}", []string{
			"5s crash m2", "6s restart m2", "8s crash m2", "9s restart m2", "11s crash m2", "12s restart m2",
		}},
		{"{at: 5s, do: move, nodes: [m1, c1], every: 3s, times: 2}", []string{"5s move m1", "5s move c1", "8s move m1", "8s move c1"}},
		{"{at: 5s, do: crash, nodes: m2, for: 1s, identity: new}", []string{"5s crash m2", "6s restart m2 new"}},
		{"{at: 5s, do: heal}", []string{"5s heal"}},
		{"{at: 5s, do: rolling-restart, nodes: [m1, m2], every: 3s, down: 2s}", []string{"5s stop m1", "7s restart m1", "8s stop m2", "10s restart m2"}},
		{"{at: 5s, do: mass-restart, nodes: [m1, m2], down: 2s}", []string{"5s crash m1", "5s crash m2", "7s restart m1", "7s restart m2"}},
	} {
		s := expand(t, base+"timeline:\n  - "+tc.action+"\n")
		require.Equal(t, tc.want, lines(s), tc.action)
	}
}

func TestActionsHitClientsAndTheirRelays(t *testing.T) {
	// Clients attach in turn. What is done to links, clocks and power is done to
	// their relays; the rest can be done to each of them.
	s := parse(t, base)
	s.Nodes = append(s.Nodes, scenario.Nodes{Name: "app", Count: 3, Attach: "c"})
	index := scenario.NewIndex(s)
	require.Equal(t, []string{"app1", "app3"}, index.Clients("c1"))
	require.Equal(t, "c2", index.Relay("app2"))
	require.Empty(t, index.Relay("c2"))
	for _, tc := range []struct {
		action string
		want   []string
	}{
		{"{at: 5s, do: crash, nodes: app1, for: 3s}", []string{"5s crash app1", "8s restart app1"}},
		{"{at: 5s, do: crash, nodes: c1}", []string{"5s crash c1"}},
		{"{at: 5s, do: pause, nodes: app2, for: 1s}", []string{"5s pause app2", "6s resume app2"}},
		{"{at: 5s, do: silence, nodes: c1, for: 1s}", []string{
			"5s silence c1", "5s silence app1", "5s silence app3", "6s restart c1", "6s restart app1", "6s restart app3",
		}},
		{"{at: 5s, do: skew, nodes: [c1, app], offset: 1m}", []string{"5s skew c1 1m 0ppm"}},
		{"{at: 5s, do: partition, nodes: [c, app]}", []string{"5s cut c1,c2>m1,m2,m3,m4,m5,late", "5s cut m1,m2,m3,m4,m5,late>c1,c2"}},
		{"{at: 5s, do: break, between: [app, c1], every: 1s, for: 2s}", []string{
			"5s break app1,app2,app3>c1", "6s break app1,app2,app3>c1", "7s break app1,app2,app3>c1",
		}},
	} {
		text := strings.Replace(base, "clusters:", "  - {name: app, count: 3, attach: c}\nclusters:", 1) + "timeline:\n  - " + tc.action + "\n"
		once := expand(t, text)
		require.Equal(t, tc.want, lines(once), tc.action)
		require.Equal(t, []string{"sim"}, once.Levels)
		stays(t, once)
	}
}

func TestHealEndsWhatStands(t *testing.T) {
	// Healing is spelled out: a level need not remember what stands, except for
	// cuts and clogs.
	s := expand(t, base+`timeline:
  - {at: 1s, do: pause, nodes: [m1, m2]}
  - {at: 2s, do: resume, nodes: m1}
  - {at: 3s, do: skew, nodes: m3, offset: 1h}
  - {at: 3s, do: router, nodes: m3, mode: slow}
  - {at: 3s, do: degrade, between: [c, [m1, late]], link: {latency: 1s}}
  - {at: 4s, do: degrade, between: [c1, m1], link: {latency: 20ms, loss: 0.5%}}
  - {at: 9s, do: heal}
  - {at: 10s, do: heal}
`)
	require.Equal(t, []string{
		"9s degrade m1>c2 20ms±0s 0.5%",
		"9s resume m2",
		"9s skew m3",
		"9s router m3",
		"9s degrade c1>late 5ms±1ms 0%",
		"9s degrade c2>late 5ms±1ms 0%",
		"9s heal",
		"10s heal",
	}, lines(s)[7:])
	stays(t, s)
}

func TestExpandingTwiceIsExpandingOnce(t *testing.T) {
	// The expanded form is a scenario too, and stays as it is through YAML and
	// JSON.
	stays(t, expand(t, base+`timeline:
  - {at: 50s, do: heal}
  - {at: 5s, do: churn, nodes: m, share: 100%, for: 20s, down: 2s}
  - {at: 30s, do: swizzle, between: [m, c], every: 100ms}
  - {at: 6s, do: corrupt, between: ["*", "*"], every: 1s, for: 5s}
  - {at: 7s, do: degrade, between: ["*", "*"], link: {mbps: 10, loss: 1%}, for: 5s}
  - {at: 7s, do: flood, work: {from: c1, to: geo, rate: 0.5}, for: 5s}
`))
}

func TestTheSeedDecidesWhatIsRandom(t *testing.T) {
	// Same seed, same timeline; another seed, another one.
	text := base + "timeline:\n  - {at: 5s, do: churn, nodes: m, share: 100%, for: 30s}\n"
	s := parse(t, text)
	one := expanded(t, s)
	require.Equal(t, one, expanded(t, s))
	s.Seed = 2
	require.NotEqual(t, one.Timeline, expanded(t, s).Timeline)
}

func TestExpandFillsDefaultsAndNames(t *testing.T) {
	// What a file leaves out is explicit afterwards, and the file's value is
	// not changed.
	s := parse(t, base)
	x := expanded(t, s)
	require.Equal(t, parse(t, base), s)
	require.EqualValues(t, 1, x.Seed)
	require.Equal(t, scenario.DefaultSettle, x.Settle)
	require.Equal(t, []string{"sim", "stack", "net"}, x.Levels)
	require.Equal(t, []string{"m1", "m2", "m3", "m4", "m5"}, x.Clusters[0].Members)
	require.Equal(t, "echo", x.Clusters[0].Handler.Kind)
	require.Equal(t, scenario.Work{
		Name: "request", Kind: "request", From: []string{"c1", "c2"}, To: "geo", Rate: 100,
		Size: 100, Deadline: scenario.DefaultDeadline, Stop: s.Duration,
	}, x.Workload[0])
	require.Equal(t, []string{"*", "*"}, x.Links[1].Between)
	require.Equal(t, scenario.DefaultLatency, x.Links[1].Latency)
}

func TestTheMoreExactSelectorDecidesTheClusterKey(t *testing.T) {
	// A node's own entry comes before its group's, its zone's and everybody's.
	s := parse(t, base)
	s.Clusters[0].Keys = map[string]string{"*": "a", "zone:east": "b", "m": "c", "m2": "d"}
	require.Equal(t, map[string]string{
		"m1": "c", "m2": "d", "m3": "c", "m4": "c", "m5": "c", "c1": "a", "c2": "a", "late": "a",
	}, expanded(t, s).Clusters[0].Keys)
}

// update rewrites the golden files: go test -run Explain -update.
var update = flag.Bool("update", false, "rewrite the golden files in testdata")

func TestExplainSaysInWordsAndBarsWhatHappens(t *testing.T) {
	// Each file of testdata and what is said about it.
	files, err := filepath.Glob("testdata/*.yaml")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, path := range files {
		data, err := os.ReadFile(path)
		require.NoError(t, err)
		var got strings.Builder
		require.NoError(t, parse(t, string(data)).Explain(&got))
		golden := strings.TrimSuffix(path, ".yaml") + ".golden"
		if *update {
			require.NoError(t, os.WriteFile(golden, []byte(got.String()), 0o644))
		}
		want, err := os.ReadFile(golden)
		require.NoError(t, err)
		require.Equal(t, string(want), got.String(), path)
	}
}

func TestExplainingTheExpandedFormSaysTheSame(t *testing.T) {
	// It makes no difference whether a scenario was expanded before.
	s := parse(t, base+"timeline:\n  - {at: 5s, do: churn, nodes: m, share: 100%, for: 20s, down: 2s}\n")
	var one, other strings.Builder
	require.NoError(t, s.Explain(&one))
	require.NoError(t, expanded(t, s).Explain(&other))
	require.Equal(t, one.String(), other.String())
}

func TestExplainReportsWhatCanNotBeExpandedOrWritten(t *testing.T) {
	// Its errors are those of Expand and of the writer.
	var all *scenario.Error
	require.ErrorAs(t, scenario.Scenario{}.Explain(&strings.Builder{}), &all)
	require.ErrorIs(t, parse(t, base).Explain(broken{}), errBroken)
}

var errBroken = errors.New("broken")

type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, errBroken }

func TestTheReferenceNamesEveryActionFieldAndMetric(t *testing.T) {
	// Nothing that a file may contain is undocumented, and the example in it is
	// a valid file.
	var b strings.Builder
	require.NoError(t, scenario.WriteReference(&b))
	for _, a := range scenario.Actions() {
		require.Contains(t, b.String(), "| `"+a.Name+"` |")
	}
	for _, m := range check.Metrics() {
		require.Contains(t, b.String(), "| `"+m.Name+"` |")
	}
	for _, k := range scenario.FaultKinds() {
		require.Contains(t, b.String(), "`"+k+"`")
	}
	for _, field := range scenario.Fields() {
		require.Contains(t, b.String(), field)
	}
	_, rest, _ := strings.Cut(b.String(), "```yaml\n")
	example, _, _ := strings.Cut(rest, "```")
	parse(t, example)
}
