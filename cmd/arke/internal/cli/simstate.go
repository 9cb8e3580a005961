// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/arke-mesh/arke/sim/history"
)

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
	var names []string
	for _, n := range h.Nodes {
		if n.From > now {
			continue
		}
		if old, ok := last[n.Name]; !ok {
			names = append(names, n.Name)
		} else if old.From > n.From {
			continue
		}
		last[n.Name] = n
	}
	slices.Sort(names)
	for _, name := range names {
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
	var observers []string
	for who := range lines {
		observers = append(observers, who)
	}
	slices.Sort(observers)
	for _, who := range observers {
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
