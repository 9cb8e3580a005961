// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"
	"slices"
	"time"

	"github.com/arke-mesh/arke/sim/check"
	"github.com/arke-mesh/arke/sim/history"
)

const (
	maxViewed = 6     // clusters that are drawn
	maxSteps  = 1_000 // into so many moments a run is cut at most: what a view was like in each
)

// wrongs are what a step counts besides right views.
var wrongs = [...]struct {
	name  string
	value func(check.ViewStep) int
}{
	{"missing", func(s check.ViewStep) int { return s.Missing }},
	{"dead", func(s check.ViewStep) int { return s.Dead }},
	{"suspect", func(s check.ViewStep) int { return s.Suspect }},
	{"ejected", func(s check.ViewStep) int { return s.Ejected }},
	{"unreachable", func(s check.ViewStep) int { return s.Unreachable }},
}

// viewChart is the share of each cluster's views that are right, and below it
// what was wrong with the others.
func viewChart(a axis, h *history.History) chart {
	all := check.ViewHistories(h)
	c := chart{About: "Share of right views over time", Faults: true}
	c.Caption = "A view is what one caller believes about one cluster. It is right if it takes every registered member to be alive, and nobody who is gone or leaving: " +
		"live and ejected members count as alive, suspect and unreachable ones don’t. “missing” and “dead” count the entries that are wrong, over all views." +
		excerpt(maxViewed, len(all), "clusters")
	for _, v := range all[:min(len(all), maxViewed)] {
		steps := moments(v.Steps, max(a.end/maxSteps, 1))
		var at, right numbers
		for _, s := range steps {
			at = append(at, millis(s.At))
			right = append(right, rightShare(s))
		}
		r := row{Kind: share, Label: "right views", Unit: "%", Height: 64, High: 100, At: at, Series: one(right)}
		if n := len(steps); n > 0 {
			r.Note = fmt.Sprintf("at the end %d of %d", steps[n-1].Right, steps[n-1].Watching)
		}
		c.Rows = append(c.Rows, row{Kind: heading, Label: fmt.Sprintf("cluster %s: watched in %s, %s", v.Cluster, plural(v.Observers, "life"), plural(v.Members, "registration"))}, r)
		for _, w := range wrongs {
			values := make([]float64, len(steps))
			for i, s := range steps {
				values[i] = float64(w.value(s))
			}
			if len(values) > 0 && slices.Max(values) > 0 {
				c.Rows = append(c.Rows, row{Kind: area, Label: w.name, Note: "at most " + grouped(int(slices.Max(values))), Look: "bad", Height: 17, At: at, Series: one(values)})
			}
		}
	}
	return c
}

// rightShare is how many of a hundred views are right.
func rightShare(s check.ViewStep) float64 {
	if s.Watching == 0 {
		return 100
	}
	return 100 * float64(s.Right) / float64(s.Watching)
}

// moments keeps at most two steps of each moment: the worst that was in it, and
// the last.
func moments(steps []check.ViewStep, length time.Duration) (out []check.ViewStep) {
	for i := 0; i < len(steps); {
		moment, worst := steps[i].At/length, steps[i]
		for i++; i < len(steps) && steps[i].At/length == moment; i++ {
			s := steps[i]
			if rightShare(s) < rightShare(worst) {
				worst.Watching, worst.Right = s.Watching, s.Right
			}
			worst.Missing, worst.Dead = max(worst.Missing, s.Missing), max(worst.Dead, s.Dead)
			worst.Suspect, worst.Ejected, worst.Unreachable = max(worst.Suspect, s.Suspect), max(worst.Ejected, s.Ejected), max(worst.Unreachable, s.Unreachable)
		}
		out = append(out, worst)
		if last := steps[i-1]; last.At > worst.At {
			out = append(out, last)
		}
	}
	return out
}
