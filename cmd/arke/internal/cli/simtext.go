// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/arke-mesh/arke/internal/plural"
	"github.com/arke-mesh/arke/sim/check"
	"github.com/arke-mesh/arke/sim/history"
	"github.com/arke-mesh/arke/sim/report"
)

// shownViolations is how many violations of one run are printed.
const shownViolations = 10

// simText says how a result is printed.
type simText struct {
	brief  bool
	replay string // path of the replay file; "" = there is none
	folder string // with the report; "" = there is none
}

// writeSimResult prints the report of one run for people.
func writeSimResult(w io.Writer, r *report.Report, t simText) error {
	var b strings.Builder
	word := "ok"
	if !r.OK {
		word = "FAILED"
	}
	fmt.Fprintf(&b, "%-7s %s, seed %d, level %s: %.1f s in %.1f s", word, r.Name, r.Seed, r.Level, r.VirtualSeconds, r.RealSeconds)
	if r.TraceHash != "" {
		fmt.Fprintf(&b, ", trace %s", r.TraceHash)
	}
	b.WriteByte('\n')
	if !t.brief {
		simDetails(&b, r)
	}
	if t.replay != "" {
		fmt.Fprintf(&b, "  replay      arke sim replay %s\n", t.replay)
	}
	if t.folder != "" && !t.brief {
		fmt.Fprintf(&b, "  report      %s\n", filepath.Join(t.folder, reportPage))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func simDetails(b *strings.Builder, r *report.Report) {
	if r.Error != "" {
		fmt.Fprintf(b, "  error       %s\n", r.Error)
		return
	}
	fmt.Fprintf(b, "  run         %.1f times real time, %d nodes", r.VirtualPerReal, r.Nodes)
	if r.Events > 0 {
		fmt.Fprintf(b, ", %d events, %.0f a second", r.Events, r.EventsPerSecond)
	}
	if r.MemoryPeakBytes > 0 {
		fmt.Fprintf(b, ", %d MiB", r.MemoryPeakBytes>>20)
	}
	fmt.Fprintf(b, "\n  requests    %d: %s\n", r.Requests, outcomes(r.Outcomes))
	if m := r.Metrics; m["published"].Value > 0 {
		fmt.Fprintf(b, "  topics      %.0f published, %.0f deliveries, %.6g %% of what was due; %.0f reported as missing, %.0f not\n",
			m["published"].Value, m["deliveries"].Value, m["delivered"].Value, m["reported"].Value, m["unreported"].Value)
	}
	if m := r.Metrics; m["tunnels"].Value > 0 {
		fmt.Fprintf(b, "  tunnels     %.0f: %.0f done, %.0f broken, %.0f refused\n",
			m["tunnels"].Value, m["tunnels_done"].Value, m["tunnels_broken"].Value, m["tunnels_refused"].Value)
	}
	for _, family := range []string{"latency", "delivery", "detection", "reroute", "convergence"} {
		if p99, ok := r.Metrics[family+"_p99"]; ok {
			fmt.Fprintf(b, "  %-11s p50 %s, p99 %s, max %s ms\n", family,
				number(r.Metrics[family+"_p50"].Value), number(p99.Value), number(r.Metrics[family+"_max"].Value))
		}
	}
	for _, a := range r.Assertions {
		word := "ok"
		if !a.OK {
			word = "FAILED"
		}
		fmt.Fprintf(b, "  %-6s      %s %s: %s\n", word, a.Kind, a.Text, cmp.Or(a.Value, a.Reason, "no value"))
	}
	for i, v := range r.Violations {
		if i == shownViolations {
			fmt.Fprintf(b, "  FAILED      and %s more\n", plural.Of(len(r.Violations)-i, "violation"))
			break
		}
		fmt.Fprintf(b, "  FAILED      %s at %.3f s: %s\n", v.Checker, v.AtSeconds, v.Text)
	}
	simLost(b, r)
}

// shownLost is how many lost messages of one run are printed.
const shownLost = 5

// simLost names the first messages that were lost.
func simLost(b *strings.Builder, r *report.Report) {
	for i, l := range r.Lost {
		if i == shownLost {
			break
		}
		fmt.Fprintf(b, "  lost        at %.3f s: %s\n", l.AtSeconds, l.Lost)
	}
	if n := r.LostCount - min(shownLost, len(r.Lost)); n > 0 {
		fmt.Fprintf(b, "  lost        and %d more; --json and the report of --out name up to %d\n", n, len(r.Lost))
	}
}

// outcomes lists counts, the largest first.
func outcomes(counts map[string]int) string {
	names := slices.SortedFunc(maps.Keys(counts), func(a, b string) int {
		return cmp.Or(cmp.Compare(counts[b], counts[a]), cmp.Compare(a, b))
	})
	parts := make([]string, 0, len(names))
	for _, n := range names {
		if counts[n] > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", counts[n], n))
		}
	}
	if len(parts) == 0 {
		return "none"
	}
	return strings.Join(parts, ", ")
}

// summaryMetrics are those that the summary of several seeds prints.
func summaryMetrics() []string {
	return []string{
		"lost", "duplicated", "success", "latency_p99", "detection_p50", "detection_p99",
		"reroute_p50", "reroute_p99", "convergence_p99", "members_lost_for_good", "control_bytes_per_node_s",
	}
}

// writeSummary prints how a scenario came out over several seeds.
func writeSummary(w io.Writer, s *report.Summary) error {
	var b strings.Builder
	fmt.Fprintf(&b, "\n%s, level %s, %d seeds: %d failed; %.0f s in %.1f s\n", s.Name, s.Level, s.Seeds, len(s.Failed), s.VirtualSeconds, s.RealSeconds)
	fmt.Fprintf(&b, "  requests    %s\n", outcomes(s.Outcomes))
	fmt.Fprintf(&b, "  %-26s %12s %12s %12s %12s\n", "over the seeds", "least", "p50", "p99", "most (seed)")
	for _, name := range summaryMetrics() {
		m, ok := s.Metrics[name]
		if !ok {
			continue
		}
		fmt.Fprintf(&b, "  %-26s %12s %12s %12s %12s (%d)\n", name+unit(m.Unit), number(m.Min), number(m.P50), number(m.P99), number(m.Max), m.MaxSeed)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func unit(u check.Unit) string {
	if u == check.Count {
		return ""
	}
	return " (" + string(u) + ")"
}

// number prints a measured value with three digits after the point, or none.
func number(v float64) string {
	if v == float64(int64(v)) {
		return fmt.Sprintf("%d", int64(v))
	}
	return fmt.Sprintf("%.3f", v)
}

// lastLines returns the last n lines of a text.
func lastLines(text string, n int) string {
	lines := strings.SplitAfter(text, "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "")
}

// writeSimState prints how things stood when a run was stopped: nodes, members,
// faults, what observers believed, and requests under way.
func writeSimState(w io.Writer, h *history.History, until time.Duration) error {
	now := h.Start + until
	var b strings.Builder
	fmt.Fprintf(&b, "%v after the start (%v after the first node)\n", until, now)
	stateFaults(&b, h, now)
	stateNodes(&b, h, now)
	stateMembers(&b, h, now)
	stateViews(&b, h, now)
	stateRequests(&b, h, now)
	_, err := io.WriteString(w, b.String())
	return err
}

// stands says whether something that lasts from one time to another (-1 =
// never ends) stands now.
func stands(now, from, until time.Duration) bool {
	return from >= 0 && from <= now && (until < 0 || until > now)
}

func stateFaults(b *strings.Builder, h *history.History, now time.Duration) {
	fmt.Fprintln(b, "\nfaults that stand")
	for _, f := range h.Faults {
		if stands(now, f.At, f.Until) {
			fmt.Fprintf(b, "  since %-10v %s\n", f.At-h.Start, f.Text)
		}
	}
}

func stateNodes(b *strings.Builder, h *history.History, now time.Duration) {
	fmt.Fprintln(b, "\nnodes")
	last := map[string]history.Node{}
	for _, n := range h.Nodes {
		if old, ok := last[n.Name]; n.From <= now && (!ok || old.From <= n.From) {
			last[n.Name] = n
		}
	}
	for _, name := range slices.Sorted(maps.Keys(last)) {
		n := last[name]
		state := fmt.Sprintf("runs since %v", n.From-h.Start)
		if !stands(now, n.From, n.Until) {
			state = fmt.Sprintf("%s at %v", cmp.Or(n.How, "stopped"), n.Until-h.Start)
		}
		fmt.Fprintf(b, "  %-16s %s\n", name, state)
	}
}

func stateMembers(b *strings.Builder, h *history.History, now time.Duration) {
	fmt.Fprintln(b, "\nmembers")
	running := map[int]int{}
	for _, r := range h.Runs {
		if stands(now, r.Began, r.Ended) {
			running[r.Tenure]++
		}
	}
	for i, t := range h.Tenures {
		if stands(now, t.From, t.Until) {
			leaving := ""
			if t.Leaving >= 0 && t.Leaving <= now {
				leaving = ", leaving"
			}
			fmt.Fprintf(b, "  %-16s of %s since %v, %d handlers running%s\n", t.Node, t.Cluster, t.From-h.Start, running[i], leaving)
		}
	}
}

// stateViews prints what each observer believed of each cluster.
func stateViews(b *strings.Builder, h *history.History, now time.Duration) {
	fmt.Fprintln(b, "\nviews")
	type seen struct{ node, cluster, member string }
	last := map[seen]history.View{}
	names := map[string]string{} // of members
	for _, t := range h.Tenures {
		names[t.Member] = t.Node
	}
	for _, v := range h.Views {
		if v.At <= now {
			last[seen{v.Node, v.Cluster, v.Member}] = v
		}
	}
	lines := map[string][]string{}
	for k, v := range last {
		if v.State != "" {
			who := k.node + " sees " + k.cluster
			lines[who] = append(lines[who], cmp.Or(names[k.member], k.member)+" "+v.State)
		}
	}
	for _, who := range slices.Sorted(maps.Keys(lines)) {
		slices.Sort(lines[who])
		fmt.Fprintf(b, "  %s: %s\n", who, strings.Join(lines[who], ", "))
	}
}

// stateRequests prints the requests under way, the oldest first.
func stateRequests(b *strings.Builder, h *history.History, now time.Duration) {
	const most = 20
	fmt.Fprintln(b, "\nrequests under way")
	shown := 0
	for _, r := range h.Requests {
		if !stands(now, r.Sent, r.Ended) {
			continue
		}
		if shown++; shown <= most {
			fmt.Fprintf(b, "  %016x of %s to %s, sent %v, deadline %v\n", r.ID, r.Caller, r.Cluster, r.Sent-h.Start, r.Deadline-h.Start)
		}
	}
	if shown > most {
		fmt.Fprintf(b, "  and %d more\n", shown-most)
	}
}
