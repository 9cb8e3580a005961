// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package runner_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/sim/history"
	"github.com/arke-mesh/arke/sim/report"
	"github.com/arke-mesh/arke/sim/runner"
)

// runs is an executor that returns one outcome after the other.
func runs(outcomes ...*runner.Findings) runner.Executor {
	return func(context.Context, runner.Job, func(runner.Progress)) (*runner.Findings, error) {
		o := outcomes[0]
		outcomes = outcomes[1:]
		return o, nil
	}
}

func traced(hash string, events uint64, checkpoints ...uint64) *runner.Findings {
	return &runner.Findings{Info: report.Info{TraceHash: hash, Events: events, Checkpoints: checkpoints}, History: &history.History{}}
}

func TestRepetitionSaysWhereRunsPart(t *testing.T) {
	// This test checks that runs are compared by their running hash, event
	// count and history, and where a difference is looked for.
	other := traced("a", 2500, 7, 8)
	other.History = &history.History{Start: time.Second, Requests: []history.Request{{ID: 3}}}
	for name, tc := range map[string]struct {
		a, b *runner.Findings
		says []string // empty = the runs are the same
	}{
		"same":          {traced("a", 2500, 7, 8), traced("a", 2500, 7, 8), nil},
		"last thousand": {traced("a", 2500, 7, 8), traced("b", 2500, 7, 8), []string{"after event 2000", "trace a", "trace b", "exactly here"}},
		"second":        {traced("a", 2500, 7, 8), traced("b", 2400, 7, 9), []string{"after event 1000", "2400 events", "exactly here"}},
		"longer":        {traced("a", 1000, 7), traced("a", 1001, 7), []string{"after event 1000", "1001"}},
		"history":       {traced("a", 2500, 7, 8), other, []string{"Start: 0s against 1s", "Requests: 0 against 1"}},
	} {
		t.Run(name, func(t *testing.T) {
			compared := 0
			compare := func(context.Context, runner.Job, runner.Job) (string, error) {
				if compared++; compared < 3 {
					return "", nil
				}
				return "exactly here", nil
			}
			o, err := runner.Repeat(runs(tc.a, tc.b), compare)(t.Context(), runner.Job{}, nil)
			require.NoError(t, err)
			if len(tc.says) == 0 {
				require.Empty(t, o.Difference)
				require.Zero(t, compared)
				return
			}
			for _, text := range tc.says {
				require.Contains(t, o.Difference, text)
			}
			require.Equal(t, 3, compared)
			require.Empty(t, tc.a.Difference, "outcomes are never changed")
		})
	}
}

func TestRepetitionAdmitsThatItDoesNotKnow(t *testing.T) {
	// This test checks the text for a difference that hides from recording.
	compare := func(context.Context, runner.Job, runner.Job) (string, error) { return "", nil }
	o, err := runner.Repeat(runs(traced("a", 1), traced("b", 1)), compare)(t.Context(), runner.Job{}, nil)
	require.NoError(t, err)
	require.Contains(t, o.Difference, "3 recorded repetitions were the same")
}
