// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package scenario

import (
	"fmt"
	"io"
	"slices"
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
	p := &page{x: &expander{s: x, index: NewIndex(x)}}
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
	x *expander
	strings.Builder
}

// entry writes a line, with a title before the first of several.
func (p *page) entry(title, format string, args ...any) {
	fmt.Fprintf(p, "%-11s%s\n", title, strings.TrimRight(fmt.Sprintf(format, args...), " "))
}

func (p *page) head() {
	s := p.x.s
	fmt.Fprintf(p, "%s\n", s.Name)
	for _, line := range wrap(s.About, 100) {
		fmt.Fprintf(p, "%s\n", line)
	}
	fmt.Fprintln(p)
	p.entry("Run", "%v, then everything is healed and has %v to settle; seed %d; levels %s",
		s.Duration, s.Settle, s.Seed, strings.Join(s.Levels, ", "))
}

func (p *page) network() {
	s, title := p.x.s, "Network"
	for _, g := range s.Nodes {
		text := p.x.index.people(g.Names())
		if len(s.Nodes) == 1 && g.Count > 1 {
			text = fmt.Sprintf("%s1..%s%d", g.Name, g.Name, g.Count)
		}
		text += fmt.Sprintf(" (%d)", max(g.Count, 1))
		if g.Attach != "" {
			text += ", clients of " + p.x.index.relays(g)
		}
		if g.Zone != "" {
			text += ", zone " + g.Zone
		}
		if g.Key != "" {
			text += ", network key " + g.Key
		}
		if g.Start > 0 || g.Every > 0 {
			text += fmt.Sprintf(", from %v on", g.Start)
		}
		if g.Every > 0 {
			text += fmt.Sprintf(", one each %v", g.Every)
		}
		p.entry(title, "%s", text)
		title = ""
	}
	title = "Links"
	for _, l := range s.Links {
		between := selected(l.Between)
		if l.everywhere() && title == "" {
			between = "all others"
		} else if l.everywhere() {
			between = "everybody"
		}
		p.entry(title, "%s: %s", between, l.model())
		title = ""
	}
}

func (p *page) service() {
	title := "Clusters"
	for _, c := range p.x.s.Clusters {
		p.entry(title, "%s: %s; %s", c.Name, p.x.index.people(c.Members), c.Handler.does())
		title = ""
		labels := map[string][]string{}
		for _, name := range p.x.index.Names() {
			if label := c.Keys[name]; label != "" {
				labels[label] = append(labels[label], name)
			}
		}
		for _, label := range sortedKeys(labels) {
			p.entry("", "  key %s: %s", label, p.x.index.people(labels[label]))
		}
	}
	title = "Subscribed"
	for _, sub := range p.x.s.Subscriptions {
		p.entry(title, "%s: %s", sub.Name, p.x.index.listens(sub))
		title = ""
	}
	title = "Workload"
	for _, w := range p.x.s.Workload {
		text := p.x.index.sends(w)
		if w.Start > 0 || w.Stop < p.x.s.Duration {
			text += fmt.Sprintf(", from %v to %v", w.Start, w.Stop)
		}
		p.entry(title, "%s: %s", w.Name, text)
		title = ""
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
	p.entry("Timeline", "%s", times)
	p.entry("", "%s", ticks)
	kinds := map[string][]bar{}
	for _, b := range bars {
		kinds[b.Do] = append(kinds[b.Do], b)
	}
	var done []string
	for _, b := range bars {
		crowded := kinds[b.Do]
		switch {
		case len(crowded) <= maxBars:
			p.entry("", "%s %v %s", b.draw(d), b.At, p.x.index.happens(b.Action))
		case !slices.Contains(done, b.Do):
			done = append(done, b.Do)
			p.entry("", "%s %v %s, %d times; the bar counts", crowd(crowded, d), b.At, b.Do, len(crowded))
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
	title := "Actions"
	for i, b := range merged {
		if i == maxLines {
			p.entry("", "… and %d more", len(merged)-maxLines)
			break
		}
		if i == 0 {
			fmt.Fprintln(p)
		}
		p.entry(title, "%8v  %s", b.At, p.x.index.happens(b.Action))
		title = ""
	}
}

func (p *page) claims() {
	for _, part := range []struct {
		title  string
		claims []Assertion
	}{{"Must hold", p.x.s.Assert}, {"Must occur", p.x.s.Sometimes}} {
		title := part.title
		for i, a := range part.claims {
			if i == 0 {
				fmt.Fprintln(p)
			}
			p.entry(title, "%s", a)
			title = ""
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
