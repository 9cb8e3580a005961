// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package report_test

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/net/html"

	"github.com/arke-mesh/arke/sim/check"
	"github.com/arke-mesh/arke/sim/history"
	"github.com/arke-mesh/arke/sim/report"
	"github.com/arke-mesh/arke/sim/report/internal/svg"
)

func pageOf(t testing.TB, r *report.Report) string {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, r.WriteHTML(&b))
	return b.String()
}

// pages are pages of all kinds of runs, by name.
func pages(t *testing.T) map[string]string {
	t.Helper()
	return allPages()
}

// allPages makes them once; nobody changes them.
var allPages = sync.OnceValue(func() map[string]string {
	pageOf := func(r *report.Report) string {
		var b bytes.Buffer
		if err := r.WriteHTML(&b); err != nil {
			panic(err)
		}
		return b.String()
	}
	h := eventful()
	many := churning(300, 12_000)
	short := newStory(2, 1, 0, 50, 3*time.Second).tell()
	return map[string]string{
		"passed": pageOf(report.New(infoOf(h), scenarioOf(), h, verdictOf(h, false))),
		"failed": pageOf(report.New(infoOf(h), scenarioOf(), h, verdictOf(h, true))),
		"churn":  pageOf(report.New(infoOf(many), scenarioOf(), many, verdictOf(many, false))),
		"short":  pageOf(report.New(infoOf(short), scenarioOf(), short, verdictOf(short, false))),
		"broken": pageOf(report.New(report.Info{Name: "broken", Error: "the network did not form within 30 s"}, scenarioOf(), nil, nil)),
	}
})

// TestPageNeedsNothingElse proves that the page refers to no other file and no
// address, and that its policy would not even let it.
func TestPageNeedsNothingElse(t *testing.T) {
	refers := regexp.MustCompile(`(?i)\b(src|href|action|poster|srcset|xlink:href)\s*=|@import|url\((?:[^#])|https?:|//[a-z]+\.|<link|<iframe|<object|<embed|<base`)
	for name, page := range pages(t) {
		require.Empty(t, refers.FindString(strings.ReplaceAll(page, "SPDX", "")), name)
		require.Contains(t, unescaped(page), `content="default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'"`, name)
	}
}

// TestPageIsWellFormed proves that every element is closed in order and that
// every drawing is well-formed XML with finite coordinates.
func TestPageIsWellFormed(t *testing.T) {
	for name, page := range pages(t) {
		requireBalanced(t, name, page)
		for _, drawing := range drawings(page) {
			d := xml.NewDecoder(strings.NewReader(drawing))
			for {
				_, err := d.Token()
				if err == io.EOF {
					break
				}
				require.NoError(t, err, name)
			}
			require.NotContains(t, drawing, "NaN", name)
			require.NotContains(t, drawing, "Inf", name)
		}
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

// drawings returns the page's SVG elements.
func drawings(page string) []string {
	return regexp.MustCompile(`(?s)<svg .*?</svg>`).FindAllString(page, -1)
}

// TestPageShowsEveryFaultAndAssertion proves that each fault is drawn over the
// latencies and listed, that each assertion and violation is there, and that
// text from outside is escaped.
func TestPageShowsEveryFaultAndAssertion(t *testing.T) {
	h := eventful()
	v := verdictOf(h, true)
	page := pageOf(t, report.New(infoOf(h), scenarioOf(), h, v))
	latency := section(page, "latency")
	for _, f := range h.Faults {
		require.Contains(t, latency, html.EscapeString(f.Text))
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
		require.Contains(t, section(page, "members"), ">"+m+"</text>")
		require.Contains(t, section(page, "nodes"), ">"+m+"</text>")
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
	page := pages(t)["broken"]
	require.Contains(t, page, "the network did not form within 30 s")
	require.Contains(t, page, "✗ FAILED")
	require.Contains(t, page, "Nobody looked")
	require.NotContains(t, page, "found no broken promise")
}

// TestPageIsTheSameTwice proves that equal runs give equal pages.
func TestPageIsTheSameTwice(t *testing.T) {
	h, again := eventful(), eventful()
	require.Equal(t,
		pageOf(t, report.New(infoOf(h), scenarioOf(), h, verdictOf(h, true))),
		pageOf(t, report.New(infoOf(again), scenarioOf(), again, verdictOf(again, true))))
}

// TestPageOfALargeRunStaysSmall proves that 1,000 nodes and 200,000 requests
// make a page under 3 MB that says what it leaves out.
func TestPageOfALargeRunStaysSmall(t *testing.T) {
	h := churning(1000, 200_000)
	page := pageOf(t, report.New(infoOf(h), scenarioOf(), h, verdictOf(h, false)))
	require.Less(t, len(page), 3<<20)
	require.Contains(t, page, "40 of 1,000 nodes are shown")
	require.Contains(t, page, "30 of 500 members are shown")
	require.Contains(t, page, "470 others")
}

// TestNoTextIsCutOffOrLiesOnAnother proves that every text of every drawing
// lies inside of its canvas and on no other text.
func TestNoTextIsCutOffOrLiesOnAnother(t *testing.T) {
	for name, page := range pages(t) {
		for _, d := range drawings(page) {
			requireApart(t, name, d)
		}
	}
}

type place struct {
	x0, x1, y0, y1 float64
	text           string
}

func requireApart(t *testing.T, name, drawing string) {
	t.Helper()
	box := regexp.MustCompile(`viewBox="0 0 (\S+) (\S+)"`).FindStringSubmatch(drawing)
	if box == nil {
		return // the patterns
	}
	width, height := number(t, box[1]), number(t, box[2])
	var all []place
	text := regexp.MustCompile(`<text x="([^"]+)" y="([^"]+)"(?: text-anchor="(\w+)")? class="([^"]+)">(?:<title>[^<]*</title>)?([^<]*)</text>`)
	found := text.FindAllStringSubmatch(drawing, -1)
	require.Len(t, found, strings.Count(drawing, "<text "), "a text that this test can't read")
	for _, m := range found {
		size := 11.0
		if strings.Contains(m[4], "small") {
			size = 9.5
		}
		words := html.UnescapeString(m[5])
		w := svg.Width(words, size) * 0.9 // which errs on the wide side
		x := number(t, m[1])
		switch m[3] {
		case "end":
			x -= w
		case "middle":
			x -= w / 2
		}
		y := number(t, m[2])
		p := place{x, x + w, y - size*0.75, y + size*0.15, words}
		require.GreaterOrEqual(t, p.x0, 0.0, "%s: %q is cut off at the left", name, words)
		require.LessOrEqual(t, p.x1, width+1, "%s: %q is cut off at the right", name, words)
		require.GreaterOrEqual(t, p.y0, 0.0, "%s: %q is cut off at the top", name, words)
		require.LessOrEqual(t, p.y1, height, "%s: %q is cut off at the bottom", name, words)
		for _, o := range all {
			apart := p.x1 <= o.x0 || o.x1 <= p.x0 || p.y1 <= o.y0 || o.y1 <= p.y0
			require.True(t, apart, "%s: %q at %v lies on %q at %v", name, p.text, p, o.text, o)
		}
		all = append(all, p)
	}
}

func number(t *testing.T, s string) float64 {
	t.Helper()
	v, err := strconv.ParseFloat(s, 64)
	require.NoError(t, err)
	return v
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
		page := pageOf(t, report.New(report.Info{Name: fmt.Sprint(i), Level: "net"}, scenarioOf(), h, &check.Verdict{OK: true}))
		requireBalanced(t, fmt.Sprint(i), page)
		require.NotContains(t, page, "NaN")
		for _, d := range drawings(page) {
			requireApart(t, fmt.Sprint(i), d)
		}
	}
}

// TestPagesCanBeLookedAt writes the pages of the made-up runs to the folder
// that ARKE_PAGES names, for a person with a browser.
func TestPagesCanBeLookedAt(t *testing.T) {
	dir := os.Getenv("ARKE_PAGES")
	if dir == "" {
		t.Skip("ARKE_PAGES is not set")
	}
	for name, page := range pages(t) {
		require.NoError(t, os.WriteFile(dir+"/"+name+".html", []byte(page), 0o600))
	}
	big := churning(1000, 200_000)
	page := pageOf(t, report.New(infoOf(big), scenarioOf(), big, verdictOf(big, false)))
	require.NoError(t, os.WriteFile(dir+"/large.html", []byte(page), 0o600))
}

func BenchmarkReportOf200000Requests(b *testing.B) {
	h := churning(1000, 200_000)
	v := verdictOf(h, false)
	for b.Loop() {
		require.NoError(b, report.New(infoOf(h), scenarioOf(), h, v).WriteHTML(io.Discard))
	}
}

// TestPageShowsWhatTopicsAndTunnelsDid proves that each group of subscriptions
// and each work of tunnels is drawn with its sums, that faults are above them,
// that what is left out is said, and that runs without any have no such
// section.
func TestPageShowsWhatTopicsAndTunnelsDid(t *testing.T) {
	h := eventful()
	page := pages(t)["passed"]
	topics, tunnels := unescaped(section(page, "topics")), unescaped(section(page, "tunnels"))
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
		require.Contains(t, topics, fmt.Sprintf("%s: %s, %s deliveries", name, about, svg.Grouped(came[name])))
		require.Contains(t, topics, svg.Grouped(missed[name])+" missing")
	}
	require.Contains(t, tunnels, "pipe: 59 tunnels, of which ")
	require.Contains(t, tunnels, "1 of them never opened")
	require.Contains(t, tunnels, "0 of them never opened", "the other work")
	require.Contains(t, tunnels, "at most 8 at once")
	for _, part := range []string{topics, tunnels} {
		require.Contains(t, part, "silence m3")
	}
	require.Contains(t, section(pages(t)["churn"], "topics"), "8 of 10 groups are shown")
	require.Contains(t, section(pages(t)["churn"], "tunnels"), "8 of 10 workloads are shown")
	require.NotContains(t, pages(t)["short"], `id="topics"`)
	require.NotContains(t, pages(t)["short"], `id="tunnels"`)
}
