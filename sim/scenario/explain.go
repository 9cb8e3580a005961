// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package scenario

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
)

// maxLines is how many actions Explain tells one by one.
const maxLines = 60

// Explain writes what the scenario is, expanded, for people: in words and as a
// timeline of bars. The error is that of Expand, or of w.
func (s Scenario) Explain(w io.Writer) error {
	x, err := s.Expand()
	if err != nil {
		return err
	}
	p := &page{x: &network{x, NewIndex(x)}}
	p.head()
	p.network()
	p.service()
	p.timeline()
	p.actions()
	p.claims()
	_, err = io.WriteString(w, p.String())
	return err
}

// page is the text that Explain writes.
type page struct {
	x     *network
	title string // before the next line, which begins a part
	strings.Builder
}

// entry writes a line.
func (p *page) entry(format string, args ...any) {
	fmt.Fprintf(p, "%-11s%s\n", p.title, strings.TrimRight(fmt.Sprintf(format, args...), " "))
	p.title = ""
}

// sentence is what is said about one thing.
type sentence string

// also goes on if there is more to say.
func (s *sentence) also(more bool, format string, args ...any) {
	if more {
		*s += sentence(fmt.Sprintf(format, args...))
	}
}

func (p *page) head() {
	s := p.x.s
	fmt.Fprintf(p, "%s\n", s.Name)
	for _, line := range wrap(s.About, 100) {
		fmt.Fprintf(p, "%s\n", line)
	}
	fmt.Fprintln(p)
	p.title = "Run"
	p.entry("%v, then everything is healed and has %v to settle; seed %d; levels %s",
		s.Duration, s.Settle, s.Seed, strings.Join(s.Levels, ", "))
}

func (p *page) network() {
	s := p.x.s
	p.title = "Network"
	for _, g := range s.Nodes {
		text := sentence(p.x.index.people(g.Names()))
		if len(s.Nodes) == 1 && g.Count > 1 {
			text = sentence(fmt.Sprintf("%s1..%s%d", g.Name, g.Name, g.Count))
		}
		text.also(true, " (%d)", max(g.Count, 1))
		text.also(g.Attach != "", ", clients of %s", p.x.index.relays(g))
		text.also(g.Network != "", ", network %s", g.Network)
		text.also(g.Token != "", ", with token %s", g.Token)
		text.also(g.Policy != "", ", whose policy says what clients may do")
		text.also(g.Zone != "", ", zone %s", g.Zone)
		text.also(g.Prefix != "", ", addresses %s.*", g.Prefix)
		text.also(g.Key != "", ", network key %s", g.Key)
		text.also(g.Start > 0 || g.Every > 0, ", from %v on", g.Start)
		text.also(g.Every > 0, ", one each %v", g.Every)
		p.entry("%s", text)
	}
	p.gateways()
	p.title = "Links"
	for i, l := range s.Links {
		between := selected(l.Between)
		if l.everywhere() && i > 0 {
			between = "all others"
		} else if l.everywhere() {
			between = "everybody"
		}
		p.entry("%s: %s", between, l.model())
	}
}

func (p *page) service() {
	p.title = "Clusters"
	for _, c := range p.x.s.Clusters {
		p.entry("%s: %s; %s", c.Name, p.x.index.people(c.Members), c.Handler.does())
		labels := map[string][]string{}
		for _, name := range p.x.index.Names() {
			if label := c.Keys[name]; label != "" {
				labels[label] = append(labels[label], name)
			}
		}
		for _, label := range sortedKeys(labels) {
			p.entry("  key %s: %s", label, p.x.index.people(labels[label]))
		}
	}
	p.title = "Subscribed"
	for _, sub := range p.x.s.Subscriptions {
		p.entry("%s: %s", sub.Name, listens(p.x.index, sub))
	}
	p.title = "Workload"
	for _, w := range p.x.s.Workload {
		text := sends(p.x.index, w)
		text.also(w.Start > 0 || w.Stop < p.x.s.Duration, ", from %v to %v", w.Start, w.Stop)
		p.entry("%s: %s", w.Name, text)
	}
}

func (p *page) timeline() {
	d := p.x.s.Duration
	bars := p.x.bars(p.x.s.Timeline)
	if len(bars) == 0 {
		return
	}
	times, ticks := ruler(d)
	fmt.Fprintln(p)
	p.title = "Timeline"
	p.entry("%s", times)
	p.entry("%s", ticks)
	kinds := map[string][]bar{}
	for _, b := range bars {
		kinds[b.Do] = append(kinds[b.Do], b)
	}
	var done []string
	for _, b := range bars {
		crowded := kinds[b.Do]
		switch {
		case len(crowded) <= maxBars:
			p.entry("%s %v %s", b.draw(d), b.At, p.x.index.happens(b.Action))
		case !slices.Contains(done, b.Do):
			done = append(done, b.Do)
			p.entry("%s %v %s, %d times; the bar counts", crowd(crowded, d), b.At, b.Do, len(crowded))
		}
	}
}

// actions tells the timeline line by line; what happens to several nodes at
// once is one line.
func (p *page) actions() {
	var merged []bar
	for _, a := range p.x.s.Timeline {
		merged = append(merged, bar{Action: a})
	}
	merged = together(merged)
	p.title = "Actions"
	for i, b := range merged {
		if i == maxLines {
			p.entry("… and %d more", len(merged)-maxLines)
			break
		}
		if i == 0 {
			fmt.Fprintln(p)
		}
		p.entry("%8v  %s", b.At, p.x.index.happens(b.Action))
	}
}

func (p *page) claims() {
	for _, part := range []struct {
		title  string
		claims []Assertion
	}{{"Must hold", p.x.s.Assert}, {"Must occur", p.x.s.Sometimes}} {
		p.title = part.title
		for i, a := range part.claims {
			if i == 0 {
				fmt.Fprintln(p)
			}
			p.entry("%s", a)
		}
	}
}

// wrap breaks a text into lines.
func wrap(text string, width int) []string {
	var lines []string
	line := ""
	for _, word := range strings.Fields(text) {
		if line != "" && len(line)+1+len(word) > width {
			lines = append(lines, line)
			line = ""
		}
		if line != "" {
			line += " "
		}
		line += word
	}
	if line != "" {
		lines = append(lines, line)
	}
	return lines
}

// people writes a list of nodes for people: "m1..m5, c1". A whole group is a
// range, too.
func (x *Index) people(names []string) string {
	if len(names) == len(x.names) && len(names) > 1 {
		return "everybody"
	}
	var parts []string
	for i := 0; i < len(names); {
		j := i + 1
		for j < len(names) && x.follows(names[j-1], names[j]) {
			j++
		}
		if j-i > 2 {
			parts = append(parts, names[i]+".."+names[j-1])
		} else {
			parts = append(parts, names[i:j]...)
		}
		i = j
	}
	if len(parts) > 8 {
		parts = append(parts[:6], fmt.Sprintf("… (%d nodes)", len(names)))
	}
	return strings.Join(parts, ", ")
}

// relays says to whom the clients of a group attach.
func (x *Index) relays(g Nodes) string {
	nodes, _ := x.Select(g.Attach)
	if len(nodes) > 1 {
		return x.people(nodes) + ", in turn"
	}
	return x.people(nodes)
}

// follows says whether b is the next node of a's group.
func (x *Index) follows(a, b string) bool {
	i, ok := x.at[a]
	j, ok2 := x.at[b]
	return ok && ok2 && j == i+1 && x.group[i] == x.group[j]
}

// selected writes selectors of links for people.
func selected(selectors []string) string {
	words := slices.Clone(selectors)
	for i, w := range words {
		if w == "*" {
			words[i] = "everybody"
		}
	}
	return strings.Join(words, " and ")
}

// model writes the model of a link for people.
func (l Link) model() string {
	text := sentence(l.Latency.String())
	text.also(l.Jitter > 0, " to %v", l.Latency+l.Jitter)
	text.also(true, " one way")
	text.also(l.Loss > 0, ", %v of packets lost", l.Loss)
	text.also(l.Mbps > 0, ", %d Mbit/s with a queue of %v", l.Mbps, l.Queue)
	text.also(l.Kbps > 0, ", %d kbit/s with a queue of %v", l.Kbps, l.Queue)
	return string(text)
}

// does says what a handler does.
func (h Handler) does() string {
	switch h.Kind {
	case "slow":
		if h.Jitter > 0 {
			return fmt.Sprintf("answers after %v to %v", h.Work, h.Work+h.Jitter)
		}
		return fmt.Sprintf("answers after %v", h.Work)
	case "failing":
		if h.Every > 1 {
			return fmt.Sprintf("refuses one of %d with code %d", h.Every, h.Code)
		}
		return fmt.Sprintf("refuses everything with code %d", h.Code)
	case "go":
		return "is the program's handler " + strconv.Quote(h.Name)
	}
	return "echoes"
}

// happens says what a primitive action does to whom, for people.
func (x *Index) happens(a Action) string {
	who := x.people(a.Nodes)
	var from, to string
	if len(a.Between) == 2 {
		from, to = x.people(a.Between[0]), x.people(a.Between[1])
	}
	switch a.Do {
	case "restart":
		if a.Identity != "" {
			return "start again, as other peers: " + who
		}
	case "slow":
		if a.Factor <= 1 {
			return "handlers of " + who + " take as long as before"
		}
		return fmt.Sprintf("handlers of %s take %d times as long", who, a.Factor)
	case "degrade":
		return fmt.Sprintf("links between %s and %s: %s", from, to, a.Link.model())
	case "skew":
		if a.Offset == 0 && a.Drift == 0 {
			return "clocks right again: " + who
		}
		return fmt.Sprintf("clocks off by %v, drifting by %d ppm: %s", a.Offset, a.Drift, who)
	case "router":
		if a.Mode == "" {
			return "told rightly again who is near: " + who
		}
		return fmt.Sprintf("%s answers about who is near: %s", a.Mode, who)
	case "attack":
		return a.attacks(who)
	case "ban", "rotate", "revoke":
		return rotates(a, who)
	case "flood":
		return a.Work.Name + ": " + string(sends(x, *a.Work))
	}
	phrases := map[string]string{
		"start":   "start: " + who,
		"restart": "start again: " + who,
		"move":    "get another address: " + who,
		"stop":    "shut down: " + who,
		"crash":   "killed: " + who,
		"silence": "lost their power: " + who,
		"pause":   "stand still: " + who,
		"resume":  "go on: " + who,
		"cut":     "nothing passes from " + from + " to " + to,
		"mend":    "messages pass again from " + from + " to " + to,
		"clog":    "messages wait on the way from " + from + " to " + to,
		"unclog":  "what waited arrives, from " + from + " to " + to,
		"corrupt": "a bit flips on the way from " + from + " to " + to,
		"break":   "connections are reset between " + from + " and " + to,
		"heal":    "everything is healed",
	}
	return phrases[a.Do]
}

// columns is how wide the bars of a timeline are.
const columns = 60

// maxBars is how many bars one kind of action has before they become one that
// counts.
const maxBars = 12

// bar is a fault from when it strikes until it ends.
type bar struct {
	Action          // with everybody that it hits
	until  Duration // of the scenario if nothing ends it
}

// bars finds the faults of an expanded timeline and when they end.
func (x *network) bars(timeline []Action) []bar {
	var all []bar
	var open []int
	for _, a := range timeline {
		open = slices.DeleteFunc(open, func(i int) bool {
			if !x.ends(a, all[i]) {
				return false
			}
			all[i].until = a.At
			return true
		})
		if !x.strikes(a) {
			continue
		}
		b := bar{a, x.s.Duration}
		switch a.Do {
		case "corrupt", "break", "heal":
			b.until = a.At
		case "flood":
			b.until = a.At + a.For
		case "rotate", "revoke":
			b.until = a.At + SpreadTakes(a)
		default:
			open = append(open, len(all))
		}
		all = append(all, b)
	}
	return together(all)
}

// strikes says whether an action begins something.
func (x *network) strikes(a Action) bool {
	switch a.Do {
	case "start", "restart", "resume", "mend", "unclog":
		return false
	case "slow":
		return a.Factor > 1
	case "router", "attack":
		return a.Mode != ""
	case "skew":
		return a.Offset != 0 || a.Drift != 0
	case "degrade":
		return !x.normal(a)
	}
	return true
}

// normal says whether an action gives links the model that they have in the
// file.
func (x *network) normal(a Action) bool {
	return !slices.ContainsFunc(x.byLink(a.Between), func(p part) bool { return !a.Link.like(x.s.Links[p.link]) })
}

// ends says whether an action ends a fault.
func (x *network) ends(a Action, b bar) bool {
	switch b.Do {
	case "stop", "crash", "silence":
		return (a.Do == "start" || a.Do == "restart") && slices.Equal(a.Nodes, b.Nodes)
	case "pause":
		return slices.Contains([]string{"resume", "stop", "crash", "silence"}, a.Do) && slices.Equal(a.Nodes, b.Nodes)
	case "attack":
		return a.Do == b.Do && a.Mode == "" && slices.Equal(a.Nodes, b.Nodes)
	case "slow", "router", "skew":
		return a.Do == b.Do && slices.Equal(a.Nodes, b.Nodes)
	case "cut":
		return a.Do == "heal" || a.Do == "mend" && sameSides(a.Between, b.Between)
	case "clog":
		return a.Do == "heal" || a.Do == "unclog" && sameSides(a.Between, b.Between)
	case "degrade":
		return a.Do == "heal" || a.Do == "degrade" && within(a.Between, b.Between) && x.normal(a)
	}
	return false
}

func sameSides(a, b [][]string) bool {
	return slices.Equal(a[0], b[0]) && slices.Equal(a[1], b[1])
}

func within(a, b [][]string) bool {
	for side := range 2 {
		if slices.ContainsFunc(a[side], func(name string) bool { return !slices.Contains(b[side], name) }) {
			return false
		}
	}
	return true
}

// likeness is what bars have in common that differ in their nodes only.
type likeness struct {
	do, mode, on      string
	at, until, offset Duration
	factor, drift     int
}

// together joins bars that differ in their nodes only.
func together(all []bar) []bar {
	var joined []bar
	first := map[likeness]int{}
	for _, b := range all {
		if len(b.Nodes) == 0 {
			joined = append(joined, b)
			continue
		}
		k := likeness{b.Do, b.Mode, b.On, b.At, b.until, b.Offset, b.Factor, b.Drift}
		if i, ok := first[k]; ok {
			joined[i].Nodes = append(joined[i].Nodes, b.Nodes...)
			continue
		}
		first[k] = len(joined)
		b.Nodes = slices.Clone(b.Nodes)
		joined = append(joined, b)
	}
	return joined
}

// column is where a time is drawn.
func column(at, duration Duration) int {
	return min(int(int64(at)*columns/max(int64(duration), 1)), columns-1)
}

// draw draws a bar.
func (b bar) draw(duration Duration) string {
	from, until := column(b.At, duration), column(b.until, duration)
	if b.until == duration {
		until = columns
	}
	mark := "#"
	if b.until == b.At {
		mark = "|"
	}
	n := max(until-from, 1)
	return strings.Repeat(" ", from) + strings.Repeat(mark, n) + strings.Repeat(" ", columns-from-n)
}

// crowd draws many bars of a kind as one, with how many stand at a time.
func crowd(all []bar, duration Duration) string {
	var standing [columns]int
	for _, b := range all {
		from, until := column(b.At, duration), column(b.until, duration)
		for c := from; c <= until; c++ {
			standing[c]++
		}
	}
	var line strings.Builder
	for _, n := range standing {
		switch {
		case n == 0:
			line.WriteByte(' ')
		case n > 9:
			line.WriteByte('+')
		default:
			fmt.Fprint(&line, n)
		}
	}
	return line.String()
}

// ruler is the axis of the timeline: two lines, the times and the ticks.
func ruler(duration Duration) (times, ticks string) {
	var b strings.Builder
	for i := range 4 {
		fmt.Fprintf(&b, "%-*s", columns/4, Duration(int64(duration)*int64(i)/4))
	}
	return b.String() + duration.String(), strings.Repeat("+"+strings.Repeat("-", columns/4-1), 4) + "+"
}
