// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/arke-mesh/arke/sim/check"
)

// Rows of tables on the page; the JSON has all of them.
const (
	maxBroken   = 200
	maxFaults   = 500
	maxScenario = 200_000 // characters
)

type brokenRow struct{ At, Checker, Text string }

type latencyRow struct {
	Work, When, Count string
	Values            []string
}

type endRow struct {
	Outcome, Count, Share, Meaning string
	Class, Bar                     string // "fail" if it must not be; the look of its bar
	Width                          int    // of its bar, in percent
	Works                          []string
}

type timeRow struct {
	Name, Samples string
	Values        []string
}

type faultRow struct{ From, To, Do, Text string }

type metricRow struct{ Name, Value, Samples, Meaning string }

// tables fills the page's tables from the report.
func (p *page) tables() {
	for _, v := range p.Violations[:min(len(p.Violations), maxBroken)] {
		p.Broken = append(p.Broken, brokenRow{fmt.Sprintf("%.3f s", v.AtSeconds), v.Checker, v.Text})
	}
	if n := len(p.Violations) - maxBroken; n > 0 {
		p.BrokenMore = fmt.Sprintf("%s more are in report.json.", grouped(n))
	}
	for _, f := range p.Faults[:min(len(p.Faults), maxFaults)] {
		row := faultRow{From: fmt.Sprintf("%.3f s", f.AtSeconds), Do: f.Do, To: "never undone", Text: f.Text}
		switch {
		case f.UntilSeconds != nil && *f.UntilSeconds <= f.AtSeconds:
			row.To = "at once"
		case f.UntilSeconds != nil:
			row.To = fmt.Sprintf("%.3f s", *f.UntilSeconds)
		}
		if row.Text == "" {
			row.Text = strings.Join(f.Nodes, ", ")
		}
		p.FaultRows = append(p.FaultRows, row)
	}
	if n := len(p.Faults) - maxFaults; n > 0 {
		p.FaultMore = fmt.Sprintf("%s more are in report.json.", grouped(n))
	}
	for i, w := range p.Works {
		if i > 0 && len(p.Works) == 2 {
			break // one workload is the same as all
		}
		p.Percentiles = append(p.Percentiles, percentileRows(w))
	}
	p.endRows()
	p.timeRows()
	p.metricRows()
	if text, err := json.MarshalIndent(p.scenario, "", "  "); err == nil && p.scenario.Name != "" {
		p.ScenarioText = string(text)
		if len(text) > maxScenario {
			p.ScenarioText = string(text[:maxScenario]) + "\n… the rest was cut off"
		}
	}
}

func percentileRows(w Work) []latencyRow {
	var rows []latencyRow
	for _, part := range []struct {
		when string
		l    Latency
	}{{"whole run", w.Latency}, {"calm", w.Calm}, {"during faults", w.Faulty}} {
		row := latencyRow{Work: w.Work, When: part.when, Count: grouped(part.l.Count)}
		if len(rows) > 0 {
			row.Work = ""
		}
		for _, v := range []float64{part.l.P50MS, part.l.P90MS, part.l.P99MS, part.l.P999MS, part.l.MaxMS} {
			if part.l.Count == 0 {
				row.Values = append(row.Values, "–")
				continue
			}
			row.Values = append(row.Values, inMillis(v))
		}
		rows = append(rows, row)
	}
	return rows
}

func (p *page) endRows() {
	works := p.Works
	if len(works) > 2 {
		for _, w := range works[1:min(len(works), 6)] {
			p.WorkNames = append(p.WorkNames, w.Work)
		}
	}
	largest := 1
	for _, n := range p.Outcomes {
		largest = max(largest, n)
	}
	for _, name := range byCount(p.Outcomes) {
		n := p.Outcomes[name]
		row := endRow{
			Outcome: words(name), Count: grouped(n), Meaning: meaning(name),
			Share: fmt.Sprintf("%.4g %%", 100*float64(n)/float64(max(p.Requests, 1))),
			Class: "ok", Bar: "good", Width: max(100*n/largest, 1),
		}
		if !good(name) {
			row.Bar = "bad"
		}
		if name == none || name == "wrong_reply" {
			row.Class = "fail"
		}
		for i := range p.WorkNames {
			row.Works = append(row.Works, grouped(works[i+1].Outcomes[name]))
		}
		p.Ends = append(p.Ends, row)
	}
	if len(works) > 0 {
		p.Retries = fmt.Sprintf("%s needed more than one attempt, at most %d.", plural(works[0].Retried, "request"), works[0].Attempts)
		if p.CallerLost > 0 {
			p.Retries += fmt.Sprintf(" Not counted: %s whose own caller was stopped, lost or paused meanwhile.", plural(p.CallerLost, "request"))
		}
	}
}

func (p *page) timeRows() {
	for _, t := range []struct{ metric, name string }{
		{"detection", "detection of a dead member"}, {"reroute", "reroute of the last affected request"}, {"convergence", "convergence of views"},
	} {
		if _, ok := p.Metrics[t.metric+"_p50"]; !ok {
			continue
		}
		row := timeRow{Name: t.name, Samples: grouped(p.Metrics[t.metric+"_p50"].Samples)}
		for _, q := range []string{"_p50", "_p90", "_p99", "_max"} {
			text := "–"
			if m, ok := p.Metrics[t.metric+q]; ok {
				text = inUnit(m.Value, m.Unit)
			}
			row.Values = append(row.Values, text)
		}
		p.Times = append(p.Times, row)
	}
}

func (p *page) metricRows() {
	meanings := map[string]string{}
	for _, m := range check.Metrics() {
		meanings[m.Name] = m.Meaning
	}
	for _, name := range metricOrder(slices.Collect(maps.Keys(p.Metrics))) {
		m := p.Metrics[name]
		samples := ""
		if m.Samples > 0 {
			samples = grouped(m.Samples)
		}
		p.MetricRows = append(p.MetricRows, metricRow{name, inUnit(m.Value, m.Unit), samples, cmp.Or(meanings[base(name)], "–")})
	}
}
