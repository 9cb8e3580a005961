// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package report

import "github.com/arke-mesh/arke/sim/report/internal/markup"

// timeSection is the section of how long it took to notice faults, or nil.
func (p *page) timeSection() markup.Node {
	if len(p.Times) == 0 {
		return nil
	}
	var rows markup.Group
	for _, t := range p.Times {
		rows = append(rows, row("", rowHead(t.Name), number(t.Samples), numbers(t.Values)))
	}
	head := row("", column("time of"), figures("samples"), figures("p50"), figures("p90"), figures("p99"), figures("max"))
	return section("times", "Detection, reroute, convergence", table("numbers narrow", head, tbody(rows)))
}

// faultSection is the section that lists what was done, or nil.
func (p *page) faultSection() markup.Node {
	if len(p.FaultRows) == 0 {
		return nil
	}
	var rows markup.Group
	for _, f := range p.FaultRows {
		rows = append(rows, row("", number(f.From), number(f.To), cell(f.Do), cell(f.Text)))
	}
	var open markup.Part
	if len(p.FaultRows) < 25 {
		open = markup.Flag("open")
	}
	head := row("", figures("from"), figures("to"), column("action"), column("what"))
	return section("faults", "Faults", markup.El("details", open, markup.El("summary", markup.Textf("%d in order of time", len(p.Faults))),
		table("list", head, tbody(rows)), note(p.FaultMore)))
}

// metricSection is the section with every metric, or nil.
func (p *page) metricSection() markup.Node {
	if len(p.MetricRows) == 0 {
		return nil
	}
	var rows markup.Group
	for _, m := range p.MetricRows {
		rows = append(rows, row("", markup.El("td", code(m.Name)), number(m.Value), number(m.Samples), cell(m.Meaning)))
	}
	head := row("", column("metric"), figures("value"), figures("samples"), column("meaning"))
	return section("metrics", "Metrics", markup.El("details",
		markup.El("summary", markup.Textf("%d that assertions can use", len(p.MetricRows))), table("list", head, tbody(rows))))
}

// scenarioSection is the section with what was asked for, or nil.
func (p *page) scenarioSection() markup.Node {
	if p.ScenarioText == "" {
		return nil
	}
	return section("scenario", "Scenario", markup.El("details", markup.El("summary", markup.Text("as it was run")), markup.El("pre", markup.Text(p.ScenarioText))))
}
