// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/arke-mesh/arke/sim/check"
	"github.com/arke-mesh/arke/sim/history"
	"github.com/arke-mesh/arke/sim/report/internal/markup"
	"github.com/arke-mesh/arke/sim/report/internal/svg"
)

// page is what the sections show.
type page struct {
	*Report
	Data    data
	Verdict string // PASSED or FAILED
	Lead    string
	Facts   []fact

	Claims     []check.Result // those that fail first
	Broken     []brokenRow
	BrokenMore string

	Latency     markup.Node
	Bucket      string
	LostNote    string
	Percentiles [][]latencyRow
	Nearby      string
	WorkNames   []string
	Ends        []endRow
	Retries     string

	MemberChart markup.Node
	MemberNote  string
	NodeChart   markup.Node
	NodeNote    string
	NodeCount   int
	LaneLegend  []string
	TopicChart  markup.Node
	TopicNote   string
	TunnelChart markup.Node
	TunnelNote  string
	ViewChart   markup.Node
	ViewNote    string
	Sights      int

	Times        []timeRow
	FaultRows    []faultRow
	FaultMore    string
	MetricRows   []metricRow
	ScenarioText string
}

type fact struct{ Name, Value string }

// data is what the page's script reads.
type data struct {
	BucketMS float64     `json:"bucket_ms"`
	Sent     []float64   `json:"sent"`
	P50      []float64   `json:"p50"`
	P99      []float64   `json:"p99"`
	Bad      []float64   `json:"bad"`
	Came     []float64   `json:"came,omitempty"`   // deliveries of topics
	Missed   []float64   `json:"missed,omitempty"` // messages reported as missing
	Open     []float64   `json:"open,omitempty"`   // tunnels, at most
	Faults   []dataFault `json:"faults"`
}

type dataFault struct {
	From float64 `json:"from"` // milliseconds
	To   float64 `json:"to"`
	Text string  `json:"text"`
}

func newPage(r *Report) *page {
	h := r.history
	if h == nil {
		h = &history.History{}
	}
	p := &page{Report: r, Verdict: "FAILED", Nearby: svg.Millis(millis(Nearby))}
	if r.OK {
		p.Verdict = "PASSED"
	}
	p.Lead, p.Facts = r.lead(), r.facts()
	p.Claims = slices.Clone(r.Assertions)
	slices.SortStableFunc(p.Claims, func(a, b check.Result) int { return truth(a.OK) - truth(b.OK) })
	p.tables()
	p.draw(h)
	return p
}

// draw makes the drawings and what belongs to them.
func (p *page) draw(h *history.History) {
	a := newAxis(h)
	all := bands(h)
	s := gather(a, h)
	p.Bucket = svg.Millis(millis(a.bucket))
	if len(h.Requests) > 0 {
		p.Latency = latencyChart(a, h, s, all)
	}
	if p.CallerLost > 0 {
		p.LostNote = fmt.Sprintf("Left out: %s whose own caller was stopped, lost or paused meanwhile.", plural(p.CallerLost, "request"))
	}
	topics, tunnels := topicLines(a, h), tunnelLines(a, h)
	p.drawPatterns(a, h, topics, tunnels, all)
	if len(p.Members) > 0 {
		shown, rest := pickMembers(memberLines(a, h, p.Members), weights(h))
		p.MemberChart, p.MemberNote = memberChart(a, h, shown, rest, all)
		if rest != nil {
			p.MemberNote = fmt.Sprintf("%d of %d members are shown, those that faults hit most directly first. ", len(shown), len(p.Members)) + p.MemberNote
		}
	}
	if nodes := pickNodes(h, nodeRows); len(nodes) > 0 {
		chart := newNodeChart(a, h, all, nodes)
		p.NodeCount = p.Nodes
		p.NodeChart, p.NodeNote = chart.draw(nodes)
		for _, lane := range chart.lanes {
			p.LaneLegend = append(p.LaneLegend, laneNames[lane])
		}
		if len(nodes) < p.Nodes {
			p.NodeNote = fmt.Sprintf("%d of %s nodes are shown: half of them those that faults hit most directly, then members, callers and others. ", len(nodes), svg.Grouped(p.Nodes)) + p.NodeNote
		}
	}
	if found := sights(h); len(found) > 0 {
		p.Sights = len(found)
		p.ViewChart = rowsChart(a, h, "Share of right views over time", found, maxSights, all)
		p.ViewNote = excerpt(maxSights, len(found), "clusters")
	}
	p.Data = newData(a, s, all)
	for _, l := range topics {
		p.Data.Came, p.Data.Missed = added(p.Data.Came, l.delivered), added(p.Data.Missed, l.reported)
	}
	for _, l := range tunnels {
		p.Data.Open = added(p.Data.Open, l.open)
	}
}

func newData(a axis, s *series, all []band) data {
	d := data{BucketMS: millis(a.bucket), Sent: s.sent, P50: s.p50, P99: s.p99, Bad: make([]float64, a.n)}
	for _, values := range s.bad {
		for i, v := range values {
			d.Bad[i] += v
		}
	}
	for _, b := range all[:min(len(all), maxFaults)] {
		d.Faults = append(d.Faults, dataFault{millis(b.from), millis(b.to), label(b.Fault)})
	}
	return d
}

// added adds values to a sum, which may be nil.
func added(sum, values []float64) []float64 {
	if sum == nil {
		return slices.Clone(values)
	}
	for i, v := range values {
		sum[i] += v
	}
	return sum
}

// lead sums the run up in a sentence.
func (r *Report) lead() string {
	var parts []string
	failed := 0
	for _, a := range r.Assertions {
		if !a.OK {
			failed++
		}
	}
	if n := len(r.Assertions); n > 0 {
		parts = append(parts, fmt.Sprintf("%d of %s hold", n-failed, plural(n, "assertion")))
	}
	if n := len(r.Violations); n > 0 {
		parts = append(parts, plural(n, "violation"))
	} else if r.Judged {
		parts = append(parts, "no violations")
	}
	if r.Requests > 0 {
		parts = append(parts, fmt.Sprintf("%s of %s were answered with a reply", svg.Grouped(r.Outcomes[reply]), plural(r.Requests, "request")))
	}
	parts = append(parts, r.carried()...)
	parts = append(parts, plural(r.Nodes, "node")+", "+plural(len(r.Faults), "fault"))
	return strings.Join(parts, "; ") + "."
}

func (r *Report) facts() []fact {
	orDash := func(s string) string { return cmp.Or(s, "–") }
	all := []fact{
		{"level", orDash(r.Level)},
		{"seed", fmt.Sprint(r.Seed)},
		{"commit", orDash(r.Commit)},
		{"built with", orDash(strings.TrimSpace(r.GoVersion + " " + r.Host))},
		{"trace hash", orDash(r.TraceHash)},
		{"virtual time", fmt.Sprintf("%.1f s", r.VirtualSeconds)},
		{"real time", fmt.Sprintf("%.1f s", r.RealSeconds)},
	}
	if r.Level == "net" {
		all = slices.Delete(all, 4, 6) // it has neither
	} else if r.VirtualPerReal > 0 {
		all = append(all, fact{"virtual / real", fmt.Sprintf("%.3g", r.VirtualPerReal)})
	}
	if r.Events > 0 {
		all = append(all, fact{"events", fmt.Sprintf("%s (%s/s)", svg.Grouped(int(r.Events)), svg.Amount(r.EventsPerSecond))})
	}
	if r.MemoryPeakBytes > 0 {
		all = append(all, fact{"memory, at most", svg.Size(float64(r.MemoryPeakBytes))})
	}
	return append(all, fact{"nodes", fmt.Sprintf("%s (%s)", svg.Grouped(r.Nodes), lives(r.Lives))}, fact{"requests", svg.Grouped(r.Requests)})
}

func lives(n int) string {
	if n == 1 {
		return "1 life"
	}
	return svg.Grouped(n) + " lives"
}

func truth(b bool) int {
	if b {
		return 1
	}
	return 0
}
