// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package report_test

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/net/html"

	"github.com/arke-mesh/arke/sim/check"
	"github.com/arke-mesh/arke/sim/history"
	"github.com/arke-mesh/arke/sim/report"
)

func pageOf(r *report.Report) string {
	var b strings.Builder
	if err := r.WriteHTML(&b); err != nil {
		panic(err)
	}
	return b.String()
}

// pages are pages of all kinds of runs, by name. They are made once; nobody
// changes them.
var pages = sync.OnceValue(func() map[string]string {
	h := eventful()
	many := churning(300, 12_000)
	short := newStory(2, 1, 0, 50, 3*time.Second).tell()
	return map[string]string{
		"passed": pageOf(reportOf(h, false)),
		"failed": pageOf(reportOf(h, true)),
		"churn":  pageOf(reportOf(many, false)),
		"short":  pageOf(reportOf(short, false)),
		"broken": pageOf(report.New(report.Info{Name: "broken", Error: "the network did not form within 30 s"}, scenarioOf(), nil, nil)),
	}
})

// TestPageNeedsNothingElse proves that the page refers to no other file and no
// address, and that its policy would not even let it.
func TestPageNeedsNothingElse(t *testing.T) {
	refers := regexp.MustCompile(`(?i)\b(src|href|action|poster|srcset|xlink:href)\s*=|@import|url\((?:[^#])|https?:|//[a-z]+\.|<link|<iframe|<object|<embed|<base`)
	for name, page := range pages() {
		// The library's name is an address; the policy holds for its code, too.
		require.Empty(t, refers.FindString(strings.Replace(page, "/*! https://github.com/leeoniya/uPlot", "", 1)), name)
		require.Contains(t, page, `content="default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'"`, name)
	}
}

// TestPageIsWellFormed proves that every element is closed in order.
func TestPageIsWellFormed(t *testing.T) {
	for name, page := range pages() {
		requireBalanced(t, name, page)
	}
}

func requireBalanced(t *testing.T, name, page string) {
	t.Helper()
	empty := []string{"meta", "br", "hr", "link", "input", "img"}
	var open []string
	z := html.NewTokenizer(strings.NewReader(page))
	for {
		switch z.Next() {
		case html.ErrorToken:
			require.Equal(t, io.EOF, z.Err(), name)
			require.Empty(t, open, name)
			return
		case html.StartTagToken:
			tag, _ := z.TagName()
			if !slices.Contains(empty, string(tag)) {
				open = append(open, string(tag))
			}
		case html.EndTagToken:
			tag, _ := z.TagName()
			require.NotEmpty(t, open, name)
			require.Equal(t, open[len(open)-1], string(tag), name)
			open = open[:len(open)-1]
		}
	}
}

// drawn is what the page's script reads, as far as tests look at it.
type drawn struct {
	EndMS    float64 `json:"end_ms"`
	BucketMS float64 `json:"bucket_ms"`
	Phases   []struct {
		At   float64
		Text string
	}
	Faults []drawnRow
	Shade  [][2]float64
	Charts map[string]struct {
		About  string
		Faults bool
		Rows   []drawnRow
	}
}

type drawnRow struct {
	Kind, Label, Under, Note, Unit, Look string
	Low, High                            float64
	Cells                                []int
	At                                   []float64
	Series                               []struct {
		Name   string
		Values []float64
	}
	Bands []struct {
		From, To          float64
		Look, Label, Text string
	}
	Shade [][2]float64
}

// sum adds up what the row's first series has, a rate by the length of a bucket.
func (r drawnRow) sum(d drawn) (sum float64) {
	for _, v := range r.Series[0].Values {
		sum += v
	}
	if strings.HasSuffix(r.Unit, "/s") {
		sum *= d.BucketMS / 1000
	}
	return sum
}

// drawnBy returns the data of a page.
func drawnBy(t *testing.T, page string) (d drawn) {
	t.Helper()
	_, rest, _ := strings.Cut(page, `<script type="application/json" id="data">`)
	data, _, _ := strings.Cut(rest, "</script>")
	require.NoError(t, json.Unmarshal([]byte(data), &d))
	return d
}

// row returns the row of a chart with a label.
func (d drawn) row(t *testing.T, chart, label string) drawnRow {
	t.Helper()
	for _, r := range d.Charts[chart].Rows {
		if r.Label == label {
			return r
		}
	}
	require.Fail(t, "no such row", "%s %s", chart, label)
	return drawnRow{}
}

// TestPageShowsEveryFaultAndAssertion proves that each fault is drawn over the
// latencies and listed, that each assertion and violation is there, and that
// text from outside is escaped.
func TestPageShowsEveryFaultAndAssertion(t *testing.T) {
	h := eventful()
	v := verdictOf(h, true)
	page := pageOf(report.New(infoOf(h), scenarioOf(), h, v))
	d := drawnBy(t, page)
	var faults []string
	for _, b := range d.Faults[0].Bands {
		faults = append(faults, b.Label)
	}
	for _, f := range h.Faults {
		require.Contains(t, faults, f.Text)
		require.Contains(t, section(page, "faults"), html.EscapeString(f.Text))
	}
	for _, a := range v.Assertions {
		require.Contains(t, unescaped(section(page, "assertions")), a.Text)
		require.Contains(t, section(page, "assertions"), a.Reason)
	}
	for _, x := range v.Violations {
		require.Contains(t, unescaped(section(page, "violations")), x.Text)
	}
	require.NotContains(t, page, "<although")
	require.Contains(t, page, "✗ FAILED")
	require.Contains(t, page, "arke sim run member-crash --seed 42")
	require.Contains(t, page, "9f3a61c07be2d415")
	for _, m := range []string{"m1", "m2", "m3", "m4", "m5"} {
		d.row(t, "members", m)
		d.row(t, "nodes", m)
	}
}

func unescaped(s string) string { return html.UnescapeString(s) }

// section returns the part of the page with an id.
func section(page, id string) string {
	_, rest, _ := strings.Cut(page, `<section id="`+id+`">`)
	part, _, _ := strings.Cut(rest, "</section>")
	return part
}

// TestPageOfARunThatBrokeSaysSo proves that a run without a history has a page
// that claims nothing.
func TestPageOfARunThatBrokeSaysSo(t *testing.T) {
	page := pages()["broken"]
	require.Contains(t, page, "the network did not form within 30 s")
	require.Contains(t, page, "✗ FAILED")
	require.Contains(t, page, "Nobody looked")
	require.NotContains(t, page, "found no broken promise")
}

// TestPageIsTheSameTwice proves that equal runs give equal pages.
func TestPageIsTheSameTwice(t *testing.T) {
	h, again := eventful(), eventful()
	require.Equal(t, pageOf(reportOf(h, true)), pageOf(reportOf(again, true)))
}

// TestPageOfALargeRunStaysSmall proves that 1,000 nodes and 200,000 requests
// make a page under 3 MB that says what it leaves out.
func TestPageOfALargeRunStaysSmall(t *testing.T) {
	h := churning(1000, 200_000)
	page := pageOf(reportOf(h, false))
	require.Less(t, len(page), 3<<20)
	require.Contains(t, page, "40 of 1,000 nodes are shown")
	require.Contains(t, page, "30 of 500 members are shown")
	require.Contains(t, page, "470 others")
}

// TestPageCopesWithOddRuns proves that runs without requests, members, faults,
// samples or an end have a page, too.
func TestPageCopesWithOddRuns(t *testing.T) {
	for i, h := range []*history.History{
		{},
		{End: time.Nanosecond, Nodes: []history.Node{{Name: "a", Until: -1}}},
		{End: 30 * time.Hour, Requests: []history.Request{{Sent: time.Hour, Ended: -1}}},
		{End: time.Second, Requests: []history.Request{{Sent: 2 * time.Second, Ended: 2 * time.Second, Outcome: "reply"}}},
		{End: time.Minute, Faults: []history.Fault{{At: 2 * time.Minute, Until: -1, Do: "cut"}, {At: time.Second, Until: 0, Do: "heal"}}},
		{End: time.Minute, Runs: []history.Run{{Tenure: 5}}, Tenures: []history.Tenure{{Cluster: "c", Node: "n", From: -1, Leaving: -1, Until: -1, Err: "no"}}},
		{End: time.Minute, Views: []history.View{{At: time.Second, Node: "n", Cluster: "c", Member: "unknown", State: "live"}}},
		{End: time.Minute, Subscriptions: []history.Subscription{{Name: "quiet"}, {}}, Deliveries: []history.Delivery{{Subscription: 7}}, Gaps: []history.Gap{{Subscription: -1}}},
		{End: time.Second, Subscriptions: []history.Subscription{{Name: "a"}}, Deliveries: []history.Delivery{{Publication: 9, At: 2 * time.Second}}, Gaps: []history.Gap{{At: time.Hour, Missed: 3}}},
		{End: time.Second, Tunnels: []history.Tunnel{{Opened: -1, Ended: -1}, {Opened: 0, Ended: -1}, {Work: "w", Opened: 2 * time.Second, Ended: time.Second}}},
		{End: time.Second, Carried: []history.Carried{{At: 5 * time.Second, Work: "unknown", Forth: 7}}},
		{End: time.Minute, Samples: []history.Sample{{Node: "x", Sent: [4]uint64{5, 4, 3, 2}}, {At: time.Second, Node: "x"}}},
	} {
		page := pageOf(report.New(report.Info{Name: fmt.Sprint(i), Level: "net"}, scenarioOf(), h, &check.Verdict{OK: true}))
		requireBalanced(t, fmt.Sprint(i), page)
		drawnBy(t, page) // which fails if a number is none
	}
}

// TestPagesCanBeLookedAt writes the pages of the made-up runs to the folder
// that ARKE_PAGES names, for a person with a browser.
func TestPagesCanBeLookedAt(t *testing.T) {
	dir := os.Getenv("ARKE_PAGES")
	if dir == "" {
		t.Skip("ARKE_PAGES is not set")
	}
	for name, page := range pages() {
		require.NoError(t, os.WriteFile(dir+"/"+name+".html", []byte(page), 0o600))
	}
	big := churning(1000, 200_000)
	page := pageOf(reportOf(big, false))
	require.NoError(t, os.WriteFile(dir+"/large.html", []byte(page), 0o600))
}

func BenchmarkReportOf200000Requests(b *testing.B) {
	h := churning(1000, 200_000)
	v := verdictOf(h, false)
	for b.Loop() {
		require.NoError(b, report.New(infoOf(h), scenarioOf(), h, v).WriteHTML(io.Discard))
	}
}

// TestDrawingHasWhatHappened proves the facts that each chart is drawn from: a
// member's crash in its life, in what it handled, in the views of it and in the
// latencies, at the times at which it was.
func TestDrawingHasWhatHappened(t *testing.T) {
	h := eventful()
	d := drawnBy(t, pages()["passed"])
	require.InDelta(t, 70_000, d.EndMS, 0)
	require.Len(t, d.Phases, 2)
	require.InDelta(t, 1500, d.Phases[0].At, 0)
	require.InDelta(t, 60_000, d.Phases[1].At, 0)

	life := d.row(t, "nodes", "m1")
	require.Equal(t, "serves echo", life.Under)
	require.Len(t, life.Bands, 3)
	require.Equal(t, []string{"life", "death", "life"}, []string{life.Bands[0].Look, life.Bands[1].Look, life.Bands[2].Look})
	require.Equal(t, "crashed", life.Bands[1].Label)
	require.Equal(t, []float64{10_000, 18_000, 70_000}, []float64{life.Bands[1].From, life.Bands[2].From, life.Bands[2].To})
	paused := d.row(t, "nodes", "m2").Bands
	require.Equal(t, "pause m2: from 22.000 s to 24.000 s", paused[1].Text)

	m1 := d.row(t, "members", "m1")
	require.Equal(t, [][2]float64{{10_000, 18_000}}, m1.Shade)
	require.Zero(t, m1.Series[0].Values[int(14_000/d.BucketMS)], "it is away")
	handled := 0
	for _, r := range h.Runs {
		if h.Tenures[r.Tenure].Node == "m1" {
			handled++
		}
	}
	require.InDelta(t, handled, m1.sum(d), 0.01*float64(handled))
	require.Equal(t, "tenure", m1.Bands[0].Look)

	replies := d.row(t, "latency", "replies")
	require.Equal(t, []string{"p99", "p50"}, []string{replies.Series[0].Name, replies.Series[1].Name})
	require.Greater(t, replies.Series[0].Values[int(10_000/d.BucketMS)], 2*replies.Series[0].Values[int(6_000/d.BucketMS)], "who asked m1 waits")
	good, bad := 0, map[string]int{}
	for _, r := range h.Requests {
		if r.Outcome == "reply" {
			good++
		} else {
			bad[r.Outcome]++
		}
	}
	for i := 2; i < len(replies.Cells); i += 3 {
		good -= replies.Cells[i]
	}
	require.Zero(t, good, "every reply is in a cell")
	for outcome, n := range bad {
		require.InDelta(t, n, d.row(t, "latency", outcome).sum(d), 0)
	}
	require.InEpsilon(t, len(h.Requests), d.row(t, "latency", "sent").sum(d), 0.001)

	right := d.row(t, "views", "right views")
	require.Len(t, right.Series[0].Values, len(right.At))
	worst := 100.0
	for i, at := range right.At {
		if at >= 10_000 && at < 12_000 {
			worst = min(worst, right.Series[0].Values[i])
		}
	}
	require.Less(t, worst, 100.0, "somebody believes in m1 for a while")
	require.True(t, d.Charts["views"].Faults)
	d.row(t, "views", "dead")
	d.row(t, "views", "suspect")
}

// TestPageShowsWhatTopicsAndTunnelsDid proves that each group of subscriptions
// and each work of tunnels is drawn with its sums, that faults are above them,
// that what is left out is said, and that runs without any have no such
// section.
func TestPageShowsWhatTopicsAndTunnelsDid(t *testing.T) {
	h := eventful()
	page := pages()["passed"]
	d := drawnBy(t, page)
	came, missed := map[string]int{}, map[string]int{}
	for _, d := range h.Deliveries {
		came[h.Subscriptions[d.Subscription].Name]++
	}
	for _, g := range h.Gaps {
		missed[h.Subscriptions[g.Subscription].Name] += int(g.Missed)
	}
	for name, about := range map[string]string{
		"desk": "5 subscriptions to prices.>", "workers of the night": "5 subscriptions to jobs.*.urgent, queue night",
	} {
		require.Positive(t, missed[name])
		d.row(t, "topics", fmt.Sprintf("%s: %s, %s", name, about, people(came[name], "deliveries")))
	}
	var reported, ends []string
	for _, r := range d.Charts["topics"].Rows {
		if r.Label == "reported" {
			require.InDelta(t, missed[map[int]string{0: "desk", 1: "workers of the night"}[len(reported)]], r.sum(d), 0)
			reported = append(reported, r.Note)
		}
	}
	require.Equal(t, []string{people(missed["desk"], "missing"), people(missed["workers of the night"], "missing")}, reported)
	for _, r := range d.Charts["tunnels"].Rows {
		if r.Label == "ended badly" {
			ends = append(ends, r.Note)
		}
	}
	require.Len(t, ends, 2)
	require.Contains(t, ends[0], "0 of them never opened")
	require.Contains(t, ends[1], "1 of them never opened")
	require.Regexp(t, "59 tunnels, of which ", d.Charts["tunnels"].Rows[5].Label)
	require.True(t, d.Charts["topics"].Faults && d.Charts["tunnels"].Faults)
	require.Contains(t, section(pages()["churn"], "topics"), "8 of 10 groups are shown")
	require.Contains(t, section(pages()["churn"], "tunnels"), "8 of 10 workloads are shown")
	require.NotContains(t, pages()["short"], `id="topics"`)
	require.NotContains(t, pages()["short"], `id="tunnels"`)
}

// people writes a count as the page does, below a million.
func people(n int, of string) string {
	if n >= 1000 {
		return fmt.Sprintf("%d,%03d %s", n/1000, n%1000, of)
	}
	return fmt.Sprint(n, " ", of)
}
