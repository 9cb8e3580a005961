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
	s.put("<title>%s, seed %s: %s</title>\n", p.Name, p.Seed, p.verdict())
	s.code("<style>", chartCSS+"\n"+pageCSS, "</style>\n</head>\n<body>\n")
	p.header(s)
	s.put("<main>\n")
	p.assertions(s)
	p.violations(s)
	p.lost(s)
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
	p.asRun(s)
	clock := "virtual"
	if p.Level == "net" {
		clock = "real"
	}
	s.put("</main>\n<footer>Times count from the beginning of the run, in %s seconds. 1 KB is 1,000 bytes. "+
		"The charts are drawn by the script of this page, with uPlot.</footer>\n<p id=\"readout\" aria-hidden=\"true\"></p>\n", clock)
	s.code(`<script type="application/json" id="data">`, p.data, "</script>\n")
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
	s.put("<header>\n<p class=\"kicker\">Arke simulation report</p>\n<h1>%s <span class=\"badge %s\">%s %s</span></h1>\n", p.Name, class, mark, p.verdict())
	if p.About != "" {
		s.put("<p class=\"about\">%s</p>\n", p.About)
	}
	s.put("<p class=\"lead\">%s</p>\n", lead(p.Report))
	if p.Error != "" {
		s.put("<p class=\"broken\"><strong>The run did not come to its end:</strong> %s</p>\n", p.Error)
	}
	s.put("<dl class=\"facts\">\n")
	for _, f := range facts(p.Report) {
		s.put("<div><dt>%s</dt><dd>%s</dd></div>\n", f.Name, f.Value)
	}
	s.put("</dl>\n<p class=\"replay\"><span>Run it again:</span> <code>%s</code></p>\n</header>\n", p.Replay)
}

// assertions is the section of what the scenario claims.
func (p *page) assertions(s *htmlWriter) {
	s.put("<section id=\"assertions\"><h2>Assertions</h2>\n")
	claims := slices.Clone(p.Assertions) // those that fail first
	slices.SortStableFunc(claims, func(a, b check.Result) int { return truth(a.OK) - truth(b.OK) })
	switch {
	case len(claims) == 0 && p.Judged:
		s.note("The scenario asserts nothing.")
	case len(claims) == 0:
		s.note("The run was not judged.")
	default:
		s.table("claims", []string{"result", "claim", "measured", "kind"}, func() {
			for _, c := range claims {
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
	case len(p.Violations) == 0 && !p.Judged:
		s.note("Nobody looked: the run was not judged.")
	case len(p.Violations) == 0:
		s.note("None: the checkers that are always on found no broken promise.")
	default:
		s.table("list", []string{"#at", "checker", "what was broken"}, func() {
			for _, v := range p.Violations[:min(len(p.Violations), maxBroken)] {
				s.put("<tr class=\"fail\"><td class=\"n\">%s</td><td>%s</td><td>%s</td></tr>\n", at(v.AtSeconds), v.Checker, v.Text)
			}
		})
		s.more(len(p.Violations) - maxBroken)
	}
	s.put("</section>\n")
}

// lost is the section of the messages that were lost, if there are any.
func (p *page) lost(s *htmlWriter) {
	if p.LostCount == 0 {
		return
	}
	s.put("<section id=\"lost\"><h2>Lost messages</h2>\n")
	s.note("Each did not come to what it is for, and its sender was there all the time. Assertions say whether that may be.")
	s.table("list", []string{"#sent at", "work", "which", "outcome", "what is known of its way"}, func() {
		for _, l := range p.Lost {
			s.put("<tr><td class=\"n\">%s</td><td>%s</td><td>%s</td><td>%s</td><td>%s</td></tr>\n", at(l.AtSeconds), l.Work,
				fmt.Sprintf("%s %d of %s to %s", l.Kind, l.ID, l.From, l.To), l.Outcome, l.Path)
		}
	})
	if n := p.LostCount - len(p.Lost); n > 0 {
		s.note(grouped(n) + " later ones are not named.")
	}
	s.put("</section>\n")
}

// figure is the section of a chart, if there is anything to draw.
func (p *page) figure(s *htmlWriter, id, title string, legend constant) {
	c, drawn := p.charts[id]
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
		for i, w := range p.Works {
			if i > 0 && len(p.Works) == 2 {
				break // one workload is the same as all
			}
			s.put("<tbody>\n")
			s.row(w.Work, []string{"whole run"}, w.Latency.texts()...)
			s.row("", []string{"calm"}, w.Calm.texts()...)
			s.row("", []string{"during faults"}, w.Faulty.texts()...)
			s.put("</tbody>\n")
		}
	})
	s.put("<p class=\"note\">“During faults” are requests under way while a fault was in effect or had ended less than %s ago.</p>\n</section>\n",
		inMillis(millis(check.NewCalm(&history.History{}, check.LevelRules(p.Level)).After)))
}

// texts are how many there are, then the percentiles.
func (l Latency) texts() []string {
	all := []string{grouped(l.Count)}
	for _, v := range []float64{l.P50MS, l.P90MS, l.P99MS, l.P999MS, l.MaxMS} {
		if l.Count == 0 {
			all = append(all, "–")
			continue
		}
		all = append(all, inMillis(v))
	}
	return all
}

// outcomes is the section of how requests ended.
func (p *page) outcomes(s *htmlWriter) {
	if p.Requests == 0 {
		return
	}
	var works []Work // that have a column
	if len(p.Works) > 2 {
		works = p.Works[1:min(len(p.Works), 6)]
	}
	columns := []string{"outcome", "#requests", "#share", ""}
	for _, w := range works {
		columns = append(columns, "#"+w.Work)
	}
	s.put("<section id=\"outcomes\"><h2>How requests ended</h2>\n")
	s.table("numbers", append(columns, "meaning"), func() {
		largest := slices.Max(append(slices.Collect(maps.Values(p.Outcomes)), 1))
		for _, name := range byCount(p.Outcomes) {
			n, class, bar := p.Outcomes[name], "ok", "good"
			if !check.Good(name) {
				bar = "bad"
			}
			if name == check.None || name == "wrong_reply" {
				class = "fail"
			}
			s.put("<tr class=\"%s\"><th scope=\"row\">%s</th><td class=\"n\">%s</td><td class=\"n\">%s</td><td class=\"bar\"><i class=\"%s\" style=\"width: %s%%\"></i></td>",
				class, words(name), grouped(n), fmt.Sprintf("%.4g %%", 100*float64(n)/float64(p.Requests)), bar, max(100*n/largest, 1))
			for _, w := range works {
				s.put("<td class=\"n\">%s</td>", grouped(w.Outcomes[name]))
			}
			s.put("<td>%s</td></tr>\n", meaning(name))
		}
	})
	if len(p.Works) > 0 {
		retries := fmt.Sprintf("%s needed more than one attempt, at most %d.", several(p.Works[0].Retried, "request"), p.Works[0].Attempts)
		if p.CallerLost > 0 {
			retries += fmt.Sprintf(" Not counted: %s whose own caller was stopped, lost or paused meanwhile.", several(p.CallerLost, "request"))
		}
		s.note(retries)
	}
	s.put("</section>\n")
}

// times is the section of how long it took to notice faults.
func (p *page) times(s *htmlWriter) {
	var rows [][]string
	for _, t := range []struct{ metric, name string }{
		{"detection", "detection of a dead member"}, {"reroute", "reroute of the last affected request"}, {"convergence", "convergence of views"},
	} {
		median, measured := p.Metrics[t.metric+"_p50"]
		if !measured {
			continue
		}
		row := []string{t.name, grouped(median.Samples)}
		for _, q := range []string{"_p50", "_p90", "_p99", "_max"} {
			text := "–"
			if m, ok := p.Metrics[t.metric+q]; ok {
				text = inUnit(m.Value, m.Unit)
			}
			row = append(row, text)
		}
		rows = append(rows, row)
	}
	if len(rows) == 0 {
		return
	}
	s.put("<section id=\"times\"><h2>Detection, reroute, convergence</h2>\n")
	s.table("numbers narrow", []string{"time of", "#samples", "#p50", "#p90", "#p99", "#max"}, func() {
		for _, r := range rows {
			s.row(r[0], nil, r[1:]...)
		}
	})
	s.put("</section>\n")
}

// faultList is the section that lists what was done.
func (p *page) faultList(s *htmlWriter) {
	if len(p.Faults) == 0 {
		return
	}
	open := constant("<details open>")
	if len(p.Faults) > 24 {
		open = "<details>"
	}
	s.put("<section id=\"faults\"><h2>Faults</h2>\n")
	s.put(open+"<summary>%s in order of time</summary>\n", len(p.Faults))
	s.table("list", []string{"#from", "#to", "action", "what"}, func() {
		for _, f := range p.Faults[:min(len(p.Faults), maxFaults)] {
			to := "never undone"
			switch {
			case f.UntilSeconds != nil && *f.UntilSeconds <= f.AtSeconds:
				to = "at once"
			case f.UntilSeconds != nil:
				to = at(*f.UntilSeconds)
			}
			s.put("<tr><td class=\"n\">%s</td><td class=\"n\">%s</td><td>%s</td><td>%s</td></tr>\n",
				at(f.AtSeconds), to, f.Do, cmp.Or(f.Text, strings.Join(f.Nodes, ", ")))
		}
	})
	s.more(len(p.Faults) - maxFaults)
	s.put("</details></section>\n")
}

// metrics is the section with every metric.
func (p *page) metrics(s *htmlWriter) {
	if len(p.Metrics) == 0 {
		return
	}
	meanings := map[string]string{}
	for _, m := range check.Metrics() {
		meanings[m.Name] = m.Meaning
	}
	s.put("<section id=\"metrics\"><h2>Metrics</h2><details><summary>%s that assertions can use</summary>\n", len(p.Metrics))
	s.table("list", []string{"metric", "#value", "#samples", "meaning"}, func() {
		for _, name := range metricOrder(slices.Collect(maps.Keys(p.Metrics))) {
			m, samples := p.Metrics[name], ""
			if m.Samples > 0 {
				samples = grouped(m.Samples)
			}
			s.put("<tr><td><code>%s</code></td><td class=\"n\">%s</td><td class=\"n\">%s</td><td>%s</td></tr>\n",
				name, inUnit(m.Value, m.Unit), samples, cmp.Or(meanings[base(name)], "–"))
		}
	})
	s.put("</details></section>\n")
}

// asRun is the section with the scenario.
func (p *page) asRun(s *htmlWriter) {
	text, err := json.MarshalIndent(p.scenario, "", "  ")
	if err != nil || p.scenario.Name == "" {
		return
	}
	if len(text) > maxScenario {
		text = append(text[:maxScenario], "\n… the rest was cut off"...)
	}
	s.put("<section id=\"scenario\"><h2>Scenario</h2><details><summary>as it was run</summary><pre>\n%s</pre></details></section>\n", string(text))
}

// Rows of tables on the page; the JSON has all of them.
const (
	maxBroken   = 200
	maxFaults   = 500
	maxScenario = 200_000 // characters
)

// more says how many rows are left out, if any are.
func (s *htmlWriter) more(n int) {
	if n > 0 {
		s.note(grouped(n) + " more are in report.json.")
	}
}

// at writes a time of the run.
func at(seconds float64) string { return fmt.Sprintf("%.3f s", seconds) }
