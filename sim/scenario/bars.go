// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package scenario

import (
	"fmt"
	"slices"
	"strings"
)

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
func (x *expander) bars(timeline []Action) []bar {
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
		default:
			open = append(open, len(all))
		}
		all = append(all, b)
	}
	return together(all)
}

// strikes says whether an action begins something.
func (x *expander) strikes(a Action) bool {
	switch a.Do {
	case "start", "restart", "resume", "mend", "unclog":
		return false
	case "slow":
		return a.Factor > 1
	case "router":
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
func (x *expander) normal(a Action) bool {
	for _, p := range x.byLink(a.Between) {
		if !a.Link.like(x.s.Links[p.link]) {
			return false
		}
	}
	return true
}

// ends says whether an action ends a fault.
func (x *expander) ends(a Action, b bar) bool {
	switch b.Do {
	case "stop", "crash", "silence":
		return (a.Do == "start" || a.Do == "restart") && slices.Equal(a.Nodes, b.Nodes)
	case "pause":
		return slices.Contains([]string{"resume", "stop", "crash", "silence"}, a.Do) && slices.Equal(a.Nodes, b.Nodes)
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
		for _, name := range a[side] {
			if !slices.Contains(b[side], name) {
				return false
			}
		}
	}
	return true
}

// likeness is what bars have in common that differ in their nodes only.
type likeness struct {
	do, mode          string
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
		k := likeness{b.Do, b.Mode, b.At, b.until, b.Offset, b.Factor, b.Drift}
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
