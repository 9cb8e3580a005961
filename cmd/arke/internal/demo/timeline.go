// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package demo

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// columnTime is how much time a column of the picture stands for.
const columnTime = 250 * time.Millisecond

// timeline counts what happened in each piece of time.
type timeline struct {
	begin   time.Time
	columns int
	rows    map[string][]int // by member: replies
	retried []int
	lost    []int
}

func newTimeline(begin time.Time) *timeline {
	return &timeline{begin: begin, rows: make(map[string][]int)}
}

// column returns where a moment belongs.
func (l *timeline) column(at time.Time) int { return max(0, int(at.Sub(l.begin)/columnTime)) }

func (l *timeline) add(a answer) {
	at := l.column(a.end)
	l.columns = max(l.columns, at+1)
	if a.err != nil {
		l.lost = count(l.lost, at)
		return
	}
	l.rows[a.member] = count(l.rows[a.member], at)
	if a.attempts > 1 {
		l.retried = count(l.retried, at)
	}
}

func count(row []int, at int) []int {
	for len(row) <= at {
		row = append(row, 0)
	}
	row[at]++
	return row
}

// picture draws one line for each member, one for what was asked again, one for
// what was lost, and below them when the relay of the victim was killed and
// started again. Moments that are zero did not come.
func (l *timeline) picture(victim string, killed, restart time.Time) []string {
	most := 1
	for _, row := range l.rows {
		most = max(most, slices.Max(row))
	}
	lines := []string{fmt.Sprintf("\neach column is %s, a full one %d replies", columnTime, most)}
	for _, name := range slices.Sorted(maps.Keys(l.rows)) {
		lines = append(lines, l.line(name, l.rows[name], most))
	}
	lines = append(lines, l.line("retried", l.retried, most), l.line("lost", l.lost, most))
	marks := l.marks(map[time.Time]string{killed: "^ killed", restart: "^ back"})
	return append(lines, fmt.Sprintf("%-*s%s", labelWidth, victim, marks))
}

// labelWidth is the width of what stands before the columns.
const labelWidth = 10

// line draws one row: a dot is nothing, the rest is eighths of most.
func (l *timeline) line(name string, row []int, most int) string {
	bars := []rune("·▁▂▃▄▅▆▇█")
	var b strings.Builder
	fmt.Fprintf(&b, "%-*s", labelWidth, name)
	for at := range l.columns {
		n := 0
		if at < len(row) {
			n = row[at]
		}
		b.WriteRune(bars[(n*(len(bars)-1)+most-1)/most])
	}
	return b.String()
}

// marks writes each text below the column of its moment, one behind the other.
func (l *timeline) marks(at map[time.Time]string) string {
	line := ""
	for _, moment := range slices.SortedFunc(maps.Keys(at), time.Time.Compare) {
		if moment.IsZero() {
			continue
		}
		line += strings.Repeat(" ", max(0, l.column(moment)-len(line))) + at[moment]
	}
	return line
}
