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
	"github.com/arke-mesh/arke/sim/history"
)

// write writes the whole page.
func (p *page) write(s *htmlWriter) {
	s.put("<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n" +
		"<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n" +
		"<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'\">\n" +
		"<meta name=\"color-scheme\" content=\"light dark\">\n")
	s.put("<title>%s, seed %s: %s</title>\n", p.Name, p.Seed, p.Verdict)
	s.code("<style>", chartCSS+"\n"+pageCSS, "</style>\n</head>\n<body>\n")
	p.header(s)
	s.put("<main>\n")
	p.assertions(s)
	p.violations(s)
	p.latency(s)
	p.percentiles(s)
	p.outcomes(s)
	p.figure(s, "topics", "Topics", "")
	p.figure(s, "tunnels", "Tunnels", "")
	p.figure(s, "members", "Requests per member", "")
	p.figure(s, "nodes", "Lanes per node", nodeLegend)
	p.figure(s, "views", "Views and convergence", "")
	p.times(s)
	p.faultList(s)
	p.metrics(s)
	if p.ScenarioText != "" {
		s.put("<section id=\"scenario\"><h2>Scenario</h2><details><summary>as it was run</summary><pre>\n%s</pre></details></section>\n", p.ScenarioText)
	}
	clock := "virtual"
	if p.Level == "net" {
		clock = "real"
	}
	s.put("</main>\n<footer>Times count from the beginning of the run, in %s seconds. 1 KB is 1,000 bytes. "+
		"The charts are drawn by the script of this page, with uPlot.</footer>\n<p id=\"readout\" aria-hidden=\"true\"></p>\n", clock)
	s.code(`<script type="application/json" id="data">`, p.Data, "</script>\n")
	s.code("<script>\n/*\n", chartLicense+"*/\n"+chartJS+"\n"+pageJS, "</script>\n</body>\n</html>\n")
}

const latencyLegend constant = `<ul class="legend"><li><i class="k p50"></i>p50 of replies</li><li><i class="k p99"></i>p99 of replies</li>` +
	`<li><i class="k d0"></i><i class="k d1"></i><i class="k d2"></i><i class="k d3"></i>1, 10, 100, 1,000 replies or more</li>` +
	`<li><i class="k shade"></i>a fault in effect</li><li>Drag to look closer, in all charts; a double click goes back.</li></ul>`

const nodeLegend constant = `<ul class="legend"><li><i class="k life"></i>up</li><li><i class="k absent"></i>not running</li><li><i class="k frozen"></i>paused</li>` +
	`<li><i class="k links"></i>links cut, clogged or degraded</li><li><i class="k other"></i>slow, skewed, router fault or flood</li>` +
	`<li>bytes on lane:</li><li><i class="k ctl"></i>ctl</li><li><i class="k rpc"></i>rpc</li><li><i class="k pub"></i>pub</li><li><i class="k bulk"></i>bulk</li></ul>`

// header says what was run, how it ended, and how to run it again.
func (p *page) header(s *htmlWriter) {
	class, mark := "fail", "✗"
	if p.OK {
		class, mark = "ok", "✓"
	}
	s.put("<header>\n<p class=\"kicker\">Arke simulation report</p>\n<h1>%s <span class=\"badge %s\">%s %s</span></h1>\n", p.Name, class, mark, p.Verdict)
	if p.About != "" {
		s.put("<p class=\"about\">%s</p>\n", p.About)
	}
	s.put("<p class=\"lead\">%s</p>\n", p.Lead)
	if p.Error != "" {
		s.put("<p class=\"broken\"><strong>The run did not come to its end:</strong> %s</p>\n", p.Error)
	}
	s.put("<dl class=\"facts\">\n")
	for _, f := range p.Facts {
		s.put("<div><dt>%s</dt><dd>%s</dd></div>\n", f.Name, f.Value)
	}
	s.put("</dl>\n<p class=\"replay\"><span>Run it again:</span> <code>%s</code></p>\n</header>\n", p.Replay)
}

// assertions is the section of what the scenario claims.
func (p *page) assertions(s *htmlWriter) {
	s.put("<section id=\"assertions\"><h2>Assertions</h2>\n")
	switch {
	case len(p.Claims) == 0 && p.Judged:
		s.note("The scenario asserts nothing.")
	case len(p.Claims) == 0:
		s.note("The run was not judged.")
	default:
		s.table("claims", []string{"result", "claim", "measured", "kind"}, func() {
			for _, c := range p.Claims {
				class, result := "fail", "✗ fails"
				if c.OK {
					class, result = "ok", "✓ holds"
				}
				s.put("<tr class=\"%s\"><td class=\"mark\">%s</td><td><code>%s</code></td><td>%s <span class=\"quiet\">%s</span></td><td>%s</td></tr>\n",
					class, result, c.Text, c.Value, c.Reason, c.Kind)
			}
		})
		s.note("“sometimes” claims prove that the run reached what the scenario is about; one that does not hold fails the run.")
	}
	s.put("</section>\n")
}

// violations is the section of broken promises.
func (p *page) violations(s *htmlWriter) {
	s.put("<section id=\"violations\"><h2>Violations</h2>\n")
	switch {
	case len(p.Broken) == 0 && !p.Judged:
		s.note("Nobody looked: the run was not judged.")
	case len(p.Broken) == 0:
		s.note("None: the checkers that are always on found no broken promise.")
	default:
		s.table("list", []string{"#at", "checker", "what was broken"}, func() {
			for _, b := range p.Broken {
				s.put("<tr class=\"fail\"><td class=\"n\">%s</td><td>%s</td><td>%s</td></tr>\n", b.At, b.Checker, b.Text)
			}
		})
		s.note(p.BrokenMore)
	}
	s.put("</section>\n")
}

// figure is the section of a chart, if there is anything to draw.
func (p *page) figure(s *htmlWriter, id, title string, legend constant) {
	c, drawn := p.Charts[id]
	if !drawn {
		return
	}
	s.put("<section id=\"%s\"><h2>%s</h2>\n", id, title)
	s.put(legend)
	s.put("<figure data-chart=\"%s\"><div class=\"chart\" role=\"img\" aria-label=\"%s\"><p class=\"note\">The script of this page draws here.</p></div>"+
		"<figcaption>%s</figcaption></figure>\n</section>\n", id, c.About, strings.TrimSpace(c.Caption))
}

func (p *page) latency(s *htmlWriter) {
	const title = "Latency over time"
	if p.Requests == 0 && p.CallerLost == 0 {
		s.put("<section id=\"latency\"><h2>%s</h2>\n<p class=\"note\">No requests were sent.</p>\n</section>\n", title)
		return
	}
	p.figure(s, "latency", title, latencyLegend)
}

// percentiles is the section with latencies as numbers.
func (p *page) percentiles(s *htmlWriter) {
	if p.Requests == 0 {
		return
	}
	s.put("<section id=\"percentiles\"><h2>Percentiles of replies</h2>\n")
	s.table("numbers", []string{"workload", "when", "#replies", "#p50", "#p90", "#p99", "#p99.9", "#max"}, func() {
		for _, work := range p.Percentiles {
			s.put("<tbody>\n")
			for _, r := range work {
				s.row(r.Work, []string{r.When}, append([]string{r.Count}, r.Values...)...)
			}
			s.put("</tbody>\n")
		}
	})
	s.put("<p class=\"note\">“During faults” are requests under way while a fault was in effect or had ended less than %s ago.</p>\n</section>\n",
		inMillis(millis(check.NewCalm(&history.History{}, check.LevelRules(p.Level)).After)))
}

// outcomes is the section of how requests ended.
func (p *page) outcomes(s *htmlWriter) {
	if p.Requests == 0 {
		return
	}
	columns := []string{"outcome", "#requests", "#share", ""}
	for _, name := range p.WorkNames {
		columns = append(columns, "#"+name)
	}
	s.put("<section id=\"outcomes\"><h2>How requests ended</h2>\n")
	s.table("numbers", append(columns, "meaning"), func() {
		for _, e := range p.Ends {
			s.put("<tr class=\"%s\"><th scope=\"row\">%s</th><td class=\"n\">%s</td><td class=\"n\">%s</td><td class=\"bar\"><i class=\"%s\" style=\"width: %s%%\"></i></td>",
				e.Class, e.Outcome, e.Count, e.Share, e.Bar, e.Width)
			for _, n := range e.Works {
				s.put("<td class=\"n\">%s</td>", n)
			}
			s.put("<td>%s</td></tr>\n", e.Meaning)
		}
	})
	s.note(p.Retries)
	s.put("</section>\n")
}

// times is the section of how long it took to notice faults.
func (p *page) times(s *htmlWriter) {
	if len(p.Times) == 0 {
		return
	}
	s.put("<section id=\"times\"><h2>Detection, reroute, convergence</h2>\n")
	s.table("numbers narrow", []string{"time of", "#samples", "#p50", "#p90", "#p99", "#max"}, func() {
		for _, t := range p.Times {
			s.row(t.Name, nil, append([]string{t.Samples}, t.Values...)...)
		}
	})
	s.put("</section>\n")
}

// faultList is the section that lists what was done.
func (p *page) faultList(s *htmlWriter) {
	if len(p.FaultRows) == 0 {
		return
	}
	open := constant("<details open>")
	if len(p.FaultRows) > 24 {
		open = "<details>"
	}
	s.put("<section id=\"faults\"><h2>Faults</h2>\n")
	s.put(open+"<summary>%s in order of time</summary>\n", len(p.Faults))
	s.table("list", []string{"#from", "#to", "action", "what"}, func() {
		for _, f := range p.FaultRows {
			s.put("<tr><td class=\"n\">%s</td><td class=\"n\">%s</td><td>%s</td><td>%s</td></tr>\n", f.From, f.To, f.Do, f.Text)
		}
	})
	s.note(p.FaultMore)
	s.put("</details></section>\n")
}

// metrics is the section with every metric.
func (p *page) metrics(s *htmlWriter) {
	if len(p.MetricRows) == 0 {
		return
	}
	s.put("<section id=\"metrics\"><h2>Metrics</h2><details><summary>%s that assertions can use</summary>\n", len(p.MetricRows))
	s.table("list", []string{"metric", "#value", "#samples", "meaning"}, func() {
		for _, m := range p.MetricRows {
			s.put("<tr><td><code>%s</code></td><td class=\"n\">%s</td><td class=\"n\">%s</td><td>%s</td></tr>\n", m.Name, m.Value, m.Samples, m.Meaning)
		}
	})
	s.put("</details></section>\n")
}

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
		p.Retries = fmt.Sprintf("%s needed more than one attempt, at most %d.", several(works[0].Retried, "request"), works[0].Attempts)
		if p.CallerLost > 0 {
			p.Retries += fmt.Sprintf(" Not counted: %s whose own caller was stopped, lost or paused meanwhile.", several(p.CallerLost, "request"))
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
