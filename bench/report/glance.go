// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/arke-mesh/arke/bench/driver"
)

// What the first table compares: deployments of Arke, and what people would run
// in their place.
const (
	oneServer  = "nats"
	twoServers = "nats-2"
	carried    = "arke-forward"
	uncarried  = "direct"
)

// limits are systems with nothing above the connection, or that only forward.
var limits = []string{"tcp", "tls", "libp2p", "chain-1", "chain-2", "chain-4", uncarried}

// isPeer says whether a system is another one than Arke, and no limit.
func isPeer(system string) bool {
	return !strings.HasPrefix(system, "arke") && !slices.Contains(limits, system)
}

// figure is what the first table compares systems by in one workload: the rate;
// the latency of half the requests where one is under way at a time; in an open
// loop, where the rate is given, the latency that one of a hundred exceeds.
func figure(work driver.Workload) Metric {
	switch {
	case work.Requests() && (work.Rate > 0 || work.HalfOf != ""):
		return P99
	case work.Requests() && work.InFlight == 1:
		return P50
	}
	return Rate
}

// glance is one line of the first table.
type glance struct {
	work   driver.Workload
	metric Metric
	of     map[string]float64 // the medians, by system
}

// ours are the systems of Arke that the table shows for a workload.
func ours(work driver.Workload) (near, far string) {
	switch {
	case work.Idle > 0:
		return "arke-tunnel", "arke-tunnel-2relays"
	case work.Served:
		return "arke-relay", "arke-2relays"
	}
	return "arke", "arke-2relays"
}

// glances compares what was measured of each workload.
func glances(samples []driver.Sample) (all []glance) {
	for _, name := range names(samples, func(s driver.Sample) string { return s.Workload }) {
		work, ok := driver.FindWorkload(name)
		if !ok {
			continue
		}
		g := glance{work: work, metric: figure(work), of: map[string]float64{}}
		values := map[string][]float64{}
		for _, s := range samples {
			if v, ok := g.metric.of(s); ok && s.Workload == name && s.Failed == "" {
				values[s.System] = append(values[s.System], v)
			}
		}
		for system, v := range values {
			g.of[system], _, _ = spread(v)
		}
		all = append(all, g)
	}
	return all
}

// times says how many times as good ours is as theirs; false if one is missing.
func (g glance) times(ours, theirs string) (float64, bool) {
	a, ok := g.of[ours]
	b, also := g.of[theirs]
	if !ok || !also || a == 0 || b == 0 {
		return 0, false
	}
	if g.metric != Rate {
		a, b = b, a
	}
	return a / b, true
}

// best is the fastest peer; "" if there is none.
func (g glance) best() string {
	best := ""
	for system := range g.of {
		if !isPeer(system) {
			continue
		}
		if t, ok := g.times(system, best); best == "" || ok && (t > 1 || t == 1 && system < best) {
			best = system
		}
	}
	return best
}

// value is the figure of a system, as it is printed.
func (g glance) value(system string) string {
	v, ok := g.of[system]
	switch {
	case !ok:
		return "–"
	case g.metric == Rate:
		return count(v) + "/s"
	}
	return duration(v)
}

// beside is what a system has with how many times as good ours is.
func (g glance) beside(ours, theirs string) string {
	t, ok := g.times(ours, theirs)
	if !ok {
		return "–"
	}
	mark := ""
	if t >= 1 {
		mark = "**"
	}
	return fmt.Sprintf("%s%.2f ×%s (%s)", mark, t, mark, g.value(theirs))
}

// Glance prints the first table, and in words who is faster at what.
func Glance(w io.Writer, samples []driver.Sample) {
	all := glances(samples)
	if len(all) == 0 {
		return
	}
	fmt.Fprint(w, "\n## At a glance\n\nMedians: what was carried a second, or a latency where the line says so (p99: one request of a hundred takes longer). ")
	fmt.Fprint(w, "\"1.5 ×\" is one and a half times as good as what is in brackets: more a second, or less time; **bold** where Arke is ahead. ")
	fmt.Fprint(w, "Arke encrypts between nodes, its peers do not, but where their name says TLS.\n\n")
	fmt.Fprintln(w, "| work | Arke, embedded | beside NATS | beside the fastest peer | Arke, two relays | beside NATS, two servers |")
	fmt.Fprintln(w, "|---|---|---|---|---|---|")
	for _, g := range all {
		g.row(w)
	}
	fmt.Fprintln(w)
	near := func(g glance) string { near, _ := ours(g.work); return near }
	far := func(g glance) string { _, far := ours(g.work); return far }
	sentence(w, all, "Embedded, beside NATS with one server", near, func(glance) string { return oneServer })
	sentence(w, all, "Embedded, beside the fastest peer of each work", near, glance.best)
	sentence(w, all, "Through two relays, beside NATS with two servers", far, func(glance) string { return twoServers })
	losses(w, samples)
}

func (g glance) row(w io.Writer) {
	near, far := ours(g.work)
	about := g.work.About
	if g.metric != Rate {
		about += ": " + string(g.metric)
	}
	switch {
	case g.work.Database != nil:
		fmt.Fprintf(w, "| %s | – | – | – | %s | direct: %s |\n", about, g.value(carried), g.beside(carried, uncarried))
	case g.value(near) != "–" || g.value(far) != "–":
		best := g.best()
		fastest := g.beside(near, best)
		if fastest != "–" {
			fastest = best + ": " + fastest
		}
		value := g.value(near)
		if g.work.Served {
			value = "one relay: " + value
		}
		fmt.Fprintf(w, "| %s | %s | %s | %s | %s | %s |\n", about,
			value, g.beside(near, oneServer), fastest, g.value(far), g.beside(far, twoServers))
	}
}

// sentence says in which works a system is ahead, and in which behind.
func sentence(w io.Writer, all []glance, about string, ours, theirs func(glance) string) {
	var ahead, behind []string
	for _, g := range all {
		other := theirs(g)
		t, ok := g.times(ours(g), other)
		if !ok {
			continue
		}
		words := fmt.Sprintf("%s (%.2f × %s)", g.work.Name, t, other)
		if t >= 1 {
			ahead = append(ahead, words)
		} else {
			behind = append(behind, words)
		}
	}
	if len(ahead)+len(behind) == 0 {
		return
	}
	list := func(words []string) string {
		if len(words) == 0 {
			return "nothing"
		}
		return strings.Join(words, ", ")
	}
	fmt.Fprintf(w, "- %s, Arke is ahead in %d of %d: %s. **Behind: %s.**\n", about, len(ahead), len(ahead)+len(behind), list(ahead), list(behind))
}

// losses says who lost messages, and who of them without a word.
func losses(w io.Writer, samples []driver.Sample) {
	var told, untold, other, failed []string
	for _, system := range names(samples, func(s driver.Sample) string { return s.System }) {
		var sum driver.Sample
		fails := 0
		for _, s := range only(samples, func(s driver.Sample) bool { return s.System == system }) {
			sum.Expected += s.Expected
			sum.Lost += s.Lost
			sum.Told += min(s.Told, s.Lost)
			sum.Duplicated += s.Duplicated
			sum.Disordered += s.Disordered
			sum.Damaged += s.Damaged
			if s.Failed != "" {
				fails++
			}
		}
		share := fmt.Sprintf("%s (%s of %s)", system, count(float64(sum.Lost)), count(float64(sum.Expected)))
		switch {
		case sum.Lost > sum.Told:
			untold = append(untold, fmt.Sprintf("%s (%s of %s, %s told)", system, count(float64(sum.Lost)), count(float64(sum.Expected)), count(float64(sum.Told))))
		case sum.Lost > 0:
			told = append(told, share)
		}
		if n := sum.Duplicated + sum.Disordered + sum.Damaged; n > 0 {
			other = append(other, fmt.Sprintf("%s (%d)", system, n))
		}
		if fails > 0 {
			failed = append(failed, fmt.Sprintf("%s (%d runs)", system, fails))
		}
	}
	say := func(what string, who []string) {
		if len(who) == 0 {
			who = []string{"nobody"}
		}
		fmt.Fprintf(w, "- %s: %s.\n", what, strings.Join(who, ", "))
	}
	say("Lost messages and said each one", told)
	say("Lost messages and did not say so", untold)
	say("Repeated, reordered or damaged messages", other)
	say("Failed in a whole run", failed)
}
