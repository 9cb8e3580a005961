// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package report

import "github.com/arke-mesh/arke/sim/report/internal/markup"

// latency is the section with the drawing of latencies.
func (p *page) latency() markup.Node {
	const title = "Latency over time"
	if p.Requests == 0 {
		return section("latency", title, note("No requests were sent."))
	}
	return section("latency", title,
		figure(p.Latency, "Requests by the time at which they were sent, "+p.Bucket+" to a column; latency on a logarithmic scale. Below: requests that ended otherwise than with a reply."+after(p.LostNote)))
}

// percentiles is the section with latencies as numbers, or nil.
func (p *page) percentiles() markup.Node {
	if p.Requests == 0 {
		return nil
	}
	var bodies []markup.Node
	for _, work := range p.Percentiles {
		var rows markup.Group
		for _, r := range work {
			rows = append(rows, row("", rowHead(r.Work), cell(r.When), number(r.Count), numbers(r.Values)))
		}
		bodies = append(bodies, tbody(rows))
	}
	head := row("", column("workload"), column("when"), figures("replies"), figures("p50"), figures("p90"), figures("p99"), figures("p99.9"), figures("max"))
	return section("percentiles", "Percentiles of replies", table("numbers", head, bodies...),
		note("“During faults” are requests under way while a fault was in effect or had begun or ended less than "+p.Nearby+" ago."))
}

// outcomes is the section of how requests ended, or nil.
func (p *page) outcomes() markup.Node {
	if p.Requests == 0 {
		return nil
	}
	var works, rows markup.Group
	for _, name := range p.WorkNames {
		works = append(works, figures(name))
	}
	for _, e := range p.Ends {
		class := ""
		if e.Bad {
			class = "fail"
		}
		rows = append(rows, row(class, rowHead(e.Outcome), number(e.Count), number(e.Share),
			markup.El("td", markup.Class("bar"), e.Bar), numbers(e.Works), cell(e.Meaning)))
	}
	head := row("", column("outcome"), figures("requests"), figures("share"), columnOf("bar", "\u00a0"), works, column("meaning"))
	return section("outcomes", "How requests ended", table("numbers", head, tbody(rows)), note(p.Retries))
}
