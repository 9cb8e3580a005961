// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package runner

import (
	"context"
	"fmt"
	"reflect"
	"strings"

	"github.com/arke-mesh/arke/sim/history"
)

// checkpointEvery is how many events lie between two of a trace's checkpoints.
const checkpointEvery = 1000

// searches is how often Repeat looks for the event at which two runs of the
// same job part: what is not deterministic may hide when it is recorded.
const searches = 3

// Repeat makes an executor that carries out each job twice, the second time shaken,
// and says in the outcome, the first run's, how the two differ. With compare it looks for the
// event, too.
func Repeat(exec Executor, compare Comparer) Executor {
	return func(ctx context.Context, job Job, progress func(Progress)) (*Findings, error) {
		first, err := exec(ctx, job, progress)
		if err != nil {
			return nil, err
		}
		second, err := exec(ctx, shaken(job), progress)
		if err != nil {
			return nil, err
		}
		o := *first
		o.Difference = Difference(first, second)
		if o.Difference == "" || compare == nil {
			return &o, nil
		}
		exact, err := search(ctx, compare, job)
		o.Difference += "\n" + exact
		return &o, err
	}
}

func shaken(job Job) Job {
	job.Shake = true
	return job
}

// search looks for the event at which two runs of a job part.
func search(ctx context.Context, compare Comparer, job Job) (string, error) {
	for range searches {
		exact, err := compare(ctx, job, shaken(job))
		if err != nil || exact != "" {
			return exact, err
		}
	}
	return fmt.Sprintf("%d recorded repetitions were the same, so the event is not known", searches), nil
}

// Difference says in a few lines how two runs differ, as far as their outcomes
// tell: by the checkpoints of the running hash, then by what happened. "" = not
// at all.
func Difference(a, b *Findings) string {
	if a.Info.TraceHash == b.Info.TraceHash && a.Info.Events == b.Info.Events {
		return historyDifference(a.History, b.History)
	}
	x, y := a.Info.Checkpoints, b.Info.Checkpoints
	i := 0
	for i < len(x) && i < len(y) && x[i] == y[i] {
		i++
	}
	text := fmt.Sprintf("trace %s of %d events, trace %s of %d events: they part within the 1,000 events after event %d",
		a.Info.TraceHash, a.Info.Events, b.Info.TraceHash, b.Info.Events, i*checkpointEvery)
	if d := historyDifference(a.History, b.History); d != "" {
		text += "\n" + d
	}
	return text
}

// historyDifference names the first entry in which two histories differ, in
// each of their lists.
func historyDifference(a, b *history.History) string {
	if a == nil || b == nil {
		return ""
	}
	var lines []string
	x, y := reflect.ValueOf(*a), reflect.ValueOf(*b)
	for f := range x.NumField() {
		if line := fieldDifference(x.Type().Field(f).Name, x.Field(f), y.Field(f)); line != "" {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "\n")
}

func fieldDifference(name string, x, y reflect.Value) string {
	if x.Kind() != reflect.Slice {
		if x.Equal(y) {
			return ""
		}
		return fmt.Sprintf("%s: %v against %v", name, x, y)
	}
	for i := range min(x.Len(), y.Len()) {
		if !reflect.DeepEqual(x.Index(i).Interface(), y.Index(i).Interface()) {
			return fmt.Sprintf("%s[%d]: %+v against %+v", name, i, x.Index(i), y.Index(i))
		}
	}
	if x.Len() != y.Len() {
		return fmt.Sprintf("%s: %d against %d of them, the first ones the same", name, x.Len(), y.Len())
	}
	return ""
}
