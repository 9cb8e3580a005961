// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/arke-mesh/arke/sim/history"
)

// drawing is what the page's script draws (page/page.js): charts of rows on one
// axis of time. Times are in milliseconds since the run began.
type drawing struct {
	EndMS    float64          `json:"end_ms"`
	BucketMS float64          `json:"bucket_ms"`
	Phases   []moment         `json:"phases"` // of the run
	Faults   []row            `json:"faults"` // stand above charts that have them
	Shade    [][2]float64     `json:"shade"`  // times of faults, apart from one another
	Charts   map[string]chart `json:"charts"` // by the section of the page
}

type moment struct {
	At   float64 `json:"at"`
	Text string  `json:"text"`
}

// chart is rows, one below the other.
type chart struct {
	About   string `json:"about"`            // what a screen reader says
	Faults  bool   `json:"faults,omitempty"` // faults stand above it, and their times are shaded in its rows
	Rows    []row  `json:"rows"`
	Caption string `json:"-"` // what it shows and what it leaves out, for the page
}

// Kinds of rows.
const (
	heading  = "heading" // has a label only
	lines    = "latency" // percentiles on a logarithmic scale, over cells; 0 = no reply
	area     = "area"    // a value over time
	marks    = "marks"   // a value that is rare and bad
	share    = "share"   // of a hundred
	life     = "life"    // bands over a dashed line
	incident = "faults"  // bands that are labelled
)

// row is one plot with words beside it. A series has a value for each bucket,
// or for each time that the row names; it holds until the next one.
type row struct {
	Kind     string       `json:"kind"`
	Label    string       `json:"label,omitempty"` // on its left
	Under    string       `json:"under,omitempty"` // below the label
	Note     string       `json:"note,omitempty"`  // on its right
	Unit     string       `json:"unit,omitempty"`  // of its values: ms, %, /s, B/s, or a count
	Look     string       `json:"look,omitempty"`  // the colour of its area
	Height   int          `json:"height,omitempty"`
	Low      float64      `json:"low,omitempty"`       // of the scale
	High     float64      `json:"high,omitempty"`      // of the scale; 0 = the largest value
	CellRows int          `json:"cell_rows,omitempty"` // into which the scale is cut
	Cells    []int        `json:"cells,omitempty"`     // for each that has any: its bucket, its row from below, how many replies
	At       numbers      `json:"at,omitempty"`
	Series   []series     `json:"series,omitempty"`
	Bands    []stretch    `json:"bands,omitempty"`
	Shade    [][2]float64 `json:"shade,omitempty"` // instead of the drawing's
}

type series struct {
	Name   string  `json:"name,omitempty"`
	Values numbers `json:"values"`
}

// stretch is a stretch of time with a look of its own.
type stretch struct {
	From  float64 `json:"from"`
	To    float64 `json:"to"`
	Look  string  `json:"look"`            // away, frozen, links, back, other; life, death, tenure
	Label string  `json:"label,omitempty"` // stands in it, if there is room
	Text  string  `json:"text,omitempty"`  // all that there is to say
	Part  int     `json:"part,omitempty"`  // 1 the upper half of the row, 2 the lower one
	Room  float64 `json:"room,omitempty"`  // until when a label may stand behind it
}

// numbers are written with six digits.
type numbers []float64

func (n numbers) MarshalJSON() ([]byte, error) {
	b := []byte{'['}
	for i, v := range n {
		if i > 0 {
			b = append(b, ',')
		}
		b = strconv.AppendFloat(b, v, 'g', 6, 64)
	}
	return append(b, ']'), nil
}

// one is the series of a row that has only one.
func one(values []float64) []series { return []series{{Values: values}} }

// draw sums the history up for the script.
func draw(h *history.History, members []Member) drawing {
	a := newAxis(h)
	all := bands(h)
	d := drawing{
		EndMS: millis(a.end), BucketMS: millis(a.bucket), Phases: []moment{},
		Faults: some(faultRows(a, all)), Shade: some(shade(a, all)), Charts: map[string]chart{},
	}
	for _, p := range []struct {
		at   time.Duration
		text string
	}{{h.Start, "workload begins"}, {h.Safety, "all healed: liveness phase"}} {
		if p.at > 0 && p.at <= a.end {
			d.Phases = append(d.Phases, moment{millis(p.at), p.text})
		}
	}
	for id, c := range map[string]chart{
		"latency": latencyChart(a, h), "topics": topicChart(a, h), "tunnels": tunnelChart(a, h),
		"members": memberChart(a, h, members, all), "nodes": nodeChart(a, h, all), "views": viewChart(a, h),
	} {
		if len(c.Rows) > 0 {
			d.Charts[id] = c
		}
	}
	return d
}

// excerpt says that a chart does not show everything, if so.
func excerpt(most, all int, what string) string {
	if all <= most {
		return ""
	}
	return " " + grouped(most) + " of " + grouped(all) + " " + what + " are shown."
}

// atMost says the largest of the values.
func atMost(values []float64, unit string) string {
	if unit == "B/s" {
		return "at most " + size(slices.Max(values)) + "/s"
	}
	return "at most " + amount(slices.Max(values)) + unit
}

// latencyRange widens the range of latencies to 1, 2 or 5 times a power of ten.
func latencyRange(low, high float64) (float64, float64) {
	if high <= 0 {
		return 1, 100
	}
	round := func(v float64, fits func(nice float64) bool, factors ...float64) float64 {
		base := math.Pow(10, math.Floor(math.Log10(v)))
		for _, f := range factors {
			if fits(f * base) {
				return f * base
			}
		}
		return 10 * base
	}
	from := round(low, func(nice float64) bool { return nice <= low }, 5, 2, 1)
	to := round(high, func(nice float64) bool { return high <= nice*1.0000001 }, 1, 2, 5)
	return from, max(to, from*10)
}

// shade returns the times of faults. A node that never comes back disturbs only
// at first.
func shade(a axis, all []band) [][2]float64 {
	var out [][2]float64
	for _, b := range all {
		from, to := a.until(b.from), a.until(b.disturbed)
		if n := len(out); n > 0 && from <= out[n-1][1] {
			out[n-1][1] = max(out[n-1][1], to)
			continue
		}
		out = append(out, [2]float64{from, to})
	}
	return out
}

// maxLabelled is up to how many faults are drawn one by one.
const maxLabelled = 24

// faultRows are the faults, one by one with their labels, or if there are many
// a row for each kind.
func faultRows(a axis, all []band) []row {
	if len(all) == 0 {
		return nil
	}
	if len(all) <= maxLabelled {
		r := row{Kind: incident, Label: "faults"}
		for _, b := range all {
			r.Bands = append(r.Bands, stretch{From: a.until(b.from), To: a.until(b.to), Look: looks(b.Do), Label: label(b.Fault), Text: label(b.Fault) + ": " + when(b)})
		}
		return []row{r}
	}
	var order []string
	groups := map[string][]band{}
	for _, b := range all {
		if groups[b.Do] == nil {
			order = append(order, b.Do)
		}
		groups[b.Do] = append(groups[b.Do], b)
	}
	var rows []row
	for _, do := range order {
		values := a.inEffect(groups[do])
		rows = append(rows, row{
			Kind: area, Label: do + " × " + grouped(len(groups[do])), Note: atMost(values, " at once"), Look: looks(do), Height: 15, Series: one(values),
		})
	}
	return rows
}

// label is what stands beside a fault.
func label(f history.Fault) string {
	if f.Text != "" {
		return f.Text
	}
	return strings.TrimSpace(f.Do + " " + strings.Join(f.Nodes, ","))
}
