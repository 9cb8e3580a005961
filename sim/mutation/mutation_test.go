// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package mutation

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/arke-mesh/arke/sim/check"
	"github.com/arke-mesh/arke/sim/report"
	"github.com/arke-mesh/arke/sim/scenarios"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// record is a Run that fails where the test says, and notes what was run.
type record struct {
	fails func(bug, scenario string, seed uint64) string // the checker
	mu    sync.Mutex
	runs  []string // guarded by mu
}

func (r *record) run(_ context.Context, bug, scenario string, seed uint64) (Finding, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.runs = append(r.runs, strings.Join([]string{bug, scenario, string(rune('0' + seed))}, "/"))
	return Finding{Checker: r.fails(bug, scenario, seed), Text: "text", Took: time.Second}, nil
}

func bug(t *testing.T, name string) Bug {
	t.Helper()
	b, err := Find(allBugs(t), name)
	require.NoError(t, err)
	return b
}

// This test checks the order of a hunt: for each bug every scenario with the first
// seed before any with the second, until one fails, which is then run without the bug;
// and who caught something before those who did not.
func TestHuntStopsAtTheFirstCatch(t *testing.T) {
	r := &record{fails: func(bug, scenario string, seed uint64) string {
		if bug == "handled-twice" && scenario == "b" && seed == 2 {
			return "handled_twice"
		}
		return ""
	}}
	h := Hunt{
		Run: r.run, Scenarios: []string{"a", "b"}, Seeds: 2,
		Bugs: []Bug{bug(t, "handled-twice"), bug(t, "delta-dropped")},
	}
	catches, err := h.Score(t.Context())
	require.NoError(t, err)
	require.Equal(t, []string{
		"handled-twice/a/1", "handled-twice/b/1", "handled-twice/a/2", "handled-twice/b/2", "/b/2",
		"delta-dropped/b/1", "delta-dropped/a/1", "delta-dropped/b/2", "delta-dropped/a/2",
	}, r.runs)
	require.Equal(t, Catch{
		Bug: bug(t, "handled-twice"), Scenario: "b", Seed: 2, Runs: 4,
		Finding: Finding{Checker: "handled_twice", Text: "text", Took: time.Second},
	}, catches[0])
	require.False(t, catches[1].Caught())
	require.Equal(t, 4, catches[1].Runs)
	bugs, caught, atOnce := Share(catches)
	require.Equal(t, [3]int{2, 1, 0}, [3]int{bugs, caught, atOnce})
}

// This test checks that who caught a bug last time is tried first.
func TestHuntBeginsWithWhoCaughtItLastTime(t *testing.T) {
	r := &record{fails: func(bug, scenario string, _ uint64) string {
		if bug != "" && scenario == "c" {
			return "once"
		}
		return ""
	}}
	h := Hunt{
		Run: r.run, Scenarios: []string{"a", "b", "c"}, Seeds: 1, Bugs: []Bug{bug(t, "handled-twice")},
		First: map[string]string{"handled-twice": "c"},
	}
	catches, err := h.Score(t.Context())
	require.NoError(t, err)
	require.Equal(t, 1, catches[0].Runs)
	require.Equal(t, []string{"handled-twice/c/1", "/c/1"}, r.runs)
}

// This test checks that what has caught several bugs is run once without one.
func TestWhatCatchesSeveralIsProvedOnce(t *testing.T) {
	r := &record{fails: func(bug, _ string, _ uint64) string { return bug }}
	h := Hunt{Run: r.run, Scenarios: []string{"a"}, Seeds: 1, Bugs: allBugs(t), Parallel: 3}
	_, err := h.Score(t.Context())
	require.NoError(t, err)
	require.Len(t, r.runs, len(h.Bugs)+1)
}

// This test checks that there is no score if a scenario fails without a bug.
func TestNothingIsMeasuredWithScenariosThatFailAnyway(t *testing.T) {
	r := &record{fails: func(bug, scenario string, seed uint64) string {
		if scenario == "b" && seed == 2 {
			return "lost == 0"
		}
		return ""
	}}
	h := Hunt{Run: r.run, Scenarios: []string{"a", "b"}, Seeds: 2, Bugs: allBugs(t)}
	_, err := h.Score(t.Context())
	require.ErrorContains(t, err, "b fails with seed 2: lost == 0")
	require.Len(t, r.runs, 5, "the first bug was not even caught")
}

// This test checks that a run that could not be carried out, or the caller's
// context, ends the hunt, also with several bugs at a time.
func TestHuntEndsWithAnError(t *testing.T) {
	broken := errors.New("no such program")
	for _, parallel := range []int{1, 3} {
		h := Hunt{
			Scenarios: []string{"a"}, Seeds: 1, Bugs: allBugs(t), Parallel: parallel,
			Run: func(context.Context, string, string, uint64) (Finding, error) { return Finding{}, broken },
		}
		_, err := h.Score(t.Context())
		require.ErrorIs(t, err, broken)

		ctx, cancel := context.WithCancel(t.Context())
		h.Run = func(context.Context, string, string, uint64) (Finding, error) {
			cancel()
			return Finding{}, ctx.Err()
		}
		_, err = h.Score(ctx)
		require.ErrorIs(t, err, context.Canceled)
	}
}

// This test checks what a report counts for: a crash before a checker, a
// checker before an assertion, and a "sometimes" for nothing.
func TestReportIsJudged(t *testing.T) {
	crash := &report.Report{Error: "the run crashed: panic: BUG", Violations: []report.Violation{{Checker: "outcome"}}}
	require.Equal(t, Finding{Checker: "crash", Text: "the run crashed: panic: BUG"}, judge(crash))
	found := &report.Report{
		Violations: []report.Violation{{Checker: "outcome", Text: "request 7 has none"}},
		Assertions: []check.Result{{Text: "lost == 0", Kind: check.Assert}},
	}
	require.Equal(t, Finding{Checker: "outcome", Text: "request 7 has none"}, judge(found))
	asserted := &report.Report{Assertions: []check.Result{
		{Text: "restarts > 0", Kind: check.Sometimes},
		{Text: "failed == 0", Kind: check.Assert, OK: true},
		{Text: "lost == 0", Kind: check.Assert, Value: "3"},
	}}
	require.Equal(t, Finding{Checker: "lost == 0", Text: "it is 3"}, judge(asserted))
	asserted.Assertions = asserted.Assertions[:2]
	require.Equal(t, Finding{}, judge(asserted))
}

// This test checks that what is no report is an error, and no proof of a bug.
func TestOnlyAReportIsBelieved(t *testing.T) {
	for _, text := range []string{"", "all is well", `{"schema":99}`} {
		_, err := finding([]byte(text), 0)
		require.Error(t, err, text)
	}
	f, err := finding([]byte(`{"schema":1,"violations":[{"checker":"zombie","text":"m1"}]}`), time.Second)
	require.NoError(t, err)
	require.Equal(t, Finding{Checker: "zombie", Text: "m1", Took: time.Second}, f)
}

// This test checks that the program is asked for one run with the right bug,
// and what its exit status means.
func TestProgramRunsOneScenario(t *testing.T) {
	dir := t.TempDir()
	program := filepath.Join(dir, "arke")
	require.NoError(t, os.WriteFile(program, []byte(`#!/bin/sh
[ "$*" = "sim run churn --seed 3 --json" ] || exit 1
case "$ARKE_MUTANT" in
"") echo '{"schema":1}' ;;
broken) echo "no such file" >&2; exit 11 ;;
lonely) echo "nobody sees anybody" >&2; exit 1 ;;
*) touch "fail-1.json"; echo '{"schema":1,"violations":[{"checker":"'$ARKE_MUTANT'"}]}'; exit 10 ;;
esac
`), 0o755))
	p := Program{Path: program, Dir: dir}
	f, err := p.Run(t.Context(), "", "churn", 3)
	require.NoError(t, err)
	require.Empty(t, f.Checker)
	f, err = p.Run(t.Context(), "handled-twice", "churn", 3)
	require.NoError(t, err)
	require.Equal(t, "handled-twice", f.Checker)
	require.FileExists(t, filepath.Join(dir, "fail-1.json"))
	f, err = p.Run(t.Context(), "lonely", "churn", 3)
	require.NoError(t, err)
	require.Equal(t, "start", f.Checker)
	require.Equal(t, "nobody sees anybody", f.Text)
	_, err = p.Run(t.Context(), "", "churn", 4)
	require.Error(t, err, "not by a bug")
	_, err = p.Run(t.Context(), "broken", "churn", 3)
	require.ErrorContains(t, err, "no such file")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = p.Run(ctx, "", "churn", 3)
	require.ErrorIs(t, err, context.Canceled)
}

// This test checks the table: the share, a row for each bug, and who caught
// how many.
func TestTableNamesEveryBug(t *testing.T) {
	catches := []Catch{
		{Bug: bug(t, "handled-twice"), Scenario: "churn", Seed: 1, Runs: 2, Finding: Finding{Checker: "handled_twice"}},
		{Bug: bug(t, "delta-dropped"), Scenario: "churn", Seed: 2, Runs: 9, Finding: Finding{Checker: "converges"}},
		{Bug: bug(t, "pick-first"), Runs: 60},
	}
	var text strings.Builder
	require.NoError(t, WriteTable(&text, catches, 5))
	require.Contains(t, text.String(), "2 of 3 bugs are caught (66 %), 1 of them with the first seed; at most 5 seeds were tried.")
	require.Contains(t, text.String(), "| `handled-twice` | patterns/request |")
	require.Contains(t, text.String(), "| churn | `converges` | 2 | 9 |")
	require.Contains(t, text.String(), "| **nobody** | – | – | 60 |")
	require.Contains(t, text.String(), "| churn | 2 |")
	require.Equal(t, map[string]string{"handled-twice": "churn", "delta-dropped": "churn"}, ReadTable(text.String()))
	require.Empty(t, ReadTable("# no table\n| a | b |\n"))
	require.Contains(t, line(catches[2]), "NOT CAUGHT")
	require.Len(t, []rune(clip(strings.Repeat("é", 200)+"\nmore")), 120)
}

// This test checks that the table that is kept is of these bugs and of
// scenarios that are shipped: whoever adds a bug measures again.
func TestKeptTableIsOfTheseBugs(t *testing.T) {
	text, err := os.ReadFile("SCORE.md")
	if errors.Is(err, os.ErrNotExist) {
		t.Skip("not measured yet")
	}
	require.NoError(t, err)
	rows := make(map[string][]string)
	for row := range strings.Lines(string(text)) {
		if strings.HasPrefix(row, "| `") {
			cells := strings.Split(row, " | ")
			rows[strings.Trim(cells[0], "| `")] = cells
		}
	}
	require.Len(t, rows, len(allBugs(t)))
	for _, i := range allBugs(t) {
		cells := rows[i.Name]
		require.Len(t, cells, 8, i.Name)
		require.Equal(t, []string{i.Layer, i.Breaks, i.Promise}, cells[1:4], i.Name)
		require.Contains(t, append(scenarios.Names(), "**nobody**"), cells[4], i.Name)
	}
}
