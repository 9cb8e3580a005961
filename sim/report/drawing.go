// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/arke-mesh/arke/internal/plural"
	"github.com/arke-mesh/arke/sim/check"
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

// maxBuckets is into how many stretches of time a run is cut at most, in each
// of which events are summed up.
const maxBuckets = 160

// axis is the run's time, cut into buckets.
type axis struct {
	end    time.Duration
	bucket time.Duration
	n      int // buckets
}

func newAxis(h *history.History) axis {
	end := max(h.End, h.Safety, time.Second)
	bucket := step(end, maxBuckets)
	return axis{end: end, bucket: bucket, n: int((end + bucket - 1) / bucket)}
}

// step returns a readable stretch of time that goes at most n times into a span.
func step(span time.Duration, n int) time.Duration {
	for unit := time.Millisecond; unit < time.Second; unit *= 10 {
		for _, f := range []time.Duration{1, 2, 5} {
			if span/(f*unit) <= time.Duration(n) {
				return f * unit
			}
		}
	}
	for unit := time.Second; unit <= time.Hour; unit *= 60 {
		for _, f := range []time.Duration{1, 2, 5, 10, 15, 30} {
			if span/(f*unit) <= time.Duration(n) {
				return f * unit
			}
		}
	}
	return span / time.Duration(n)
}

// index returns the bucket of a time.
func (a axis) index(t time.Duration) int {
	return min(max(int(t/a.bucket), 0), a.n-1)
}

// until returns a time in milliseconds; "never", which is negative, is the end.
func (a axis) until(t time.Duration) float64 {
	if t < 0 || t > a.end {
		return millis(a.end)
	}
	return millis(t)
}

// perSecond returns what each bucket has as a rate.
func (a axis) perSecond(values []float64) []float64 {
	out := make([]float64, len(values))
	for i, v := range values {
		out[i] = v / a.bucket.Seconds()
	}
	return out
}

// spread adds an amount to the buckets of a stretch of time.
func (a axis) spread(buckets []float64, from, to time.Duration, amount float64) {
	if amount <= 0 {
		return
	}
	first, last := a.index(from), a.index(to)
	if first == last || to <= from {
		buckets[last] += amount
		return
	}
	for i := first; i <= last; i++ {
		lo, hi := max(from, time.Duration(i)*a.bucket), min(to, time.Duration(i+1)*a.bucket)
		buckets[i] += amount * float64(max(hi-lo, 0)) / float64(to-from)
	}
}

// inEffect returns how many bands there were at once, at most, in each bucket.
func (a axis) inEffect(all []band) []float64 {
	type edge struct {
		at   time.Duration
		step float64
	}
	var edges []edge
	for _, b := range all {
		edges = append(edges, edge{b.from, 1}, edge{max(b.to, b.from+1), -1})
	}
	slices.SortFunc(edges, func(x, y edge) int { return cmp.Or(cmp.Compare(x.at, y.at), cmp.Compare(x.step, y.step)) })
	values, now := make([]float64, a.n), 0.0
	for i, e := range edges {
		now += e.step
		if i+1 == len(edges) || edges[i+1].at == e.at {
			continue
		}
		for b := a.index(e.at); b <= a.index(edges[i+1].at-1); b++ {
			values[b] = max(values[b], now)
		}
	}
	return values
}

// shortly is for how long a fault disturbs that takes a node away for good.
const shortly = 5 * time.Second

// band is a fault as it is drawn, from when to when.
type band struct {
	history.Fault
	from, to  time.Duration
	disturbed time.Duration // until when it disturbs others
}

func (b band) point() bool { return b.to <= b.from }

// bands returns the faults to draw. An action that ends another one is not
// drawn: it is where the other one's band ends.
func bands(h *history.History) []band {
	type end struct {
		at   time.Duration
		node string
	}
	over := map[end]bool{}
	for _, f := range h.Faults {
		if f.Until > f.At {
			for _, n := range f.Nodes {
				over[end{f.Until, n}] = true
			}
		}
	}
	var all []band
	for _, f := range h.Faults {
		if check.Undoes(f) && f.Until <= f.At && len(f.Nodes) > 0 &&
			!slices.ContainsFunc(f.Nodes, func(n string) bool { return !over[end{f.At, n}] }) {
			continue
		}
		over := check.Over(h, f)
		b := band{f, f.At, over, over}
		if f.Until < 0 && over == f.At && !check.Undoes(f) {
			b.to, b.disturbed = max(f.At, h.End), min(f.At+shortly, max(f.At, h.End))
		}
		all = append(all, b)
	}
	slices.SortStableFunc(all, func(a, b band) int { return cmp.Compare(a.from, b.from) })
	return all
}

// looks sorts actions into those that look alike.
func looks(do string) string {
	switch do {
	case "crash", "silence", "stop":
		return "away"
	case "pause":
		return "frozen"
	case "cut", "clog", "degrade", "corrupt", "break":
		return "links"
	case "start", "restart", "resume", "mend", "unclog", "heal":
		return "back"
	}
	return "other"
}

// when says in words when a fault was in effect.
func when(b band) string {
	switch {
	case b.point():
		return "at " + clock(b.from)
	case b.Until < 0:
		return "from " + clock(b.from) + ", never undone"
	}
	return "from " + clock(b.from) + " to " + clock(b.to)
}

// inMillis writes a number of milliseconds as a person would: "250 µs",
// "1.5 ms", "2 s".
func inMillis(ms float64) string {
	switch {
	case ms <= 0:
		return "0"
	case ms < 0.9995:
		return trim(fmt.Sprintf("%.3g", ms*1000)) + " µs"
	case ms < 999.5:
		return trim(fmt.Sprintf("%.3g", ms)) + " ms"
	case ms < 999_500:
		return trim(fmt.Sprintf("%.3g", ms/1000)) + " s"
	}
	return trim(fmt.Sprintf("%.1f", ms/60000)) + " min"
}

// amount writes a number with few digits: "950", "12.4 k", "3.1 M".
func amount(v float64) string {
	switch {
	case v < 999.5:
		return trim(fmt.Sprintf("%.3g", v))
	case v < 999_500:
		return trim(fmt.Sprintf("%.1f", v/1e3)) + " k"
	case v < 999_500_000:
		return trim(fmt.Sprintf("%.1f", v/1e6)) + " M"
	}
	return trim(fmt.Sprintf("%.1f", v/1e9)) + " G"
}

// size writes a number of bytes: "812 B", "14.2 KB". A KB has 1,000 bytes.
func size(bytes float64) string {
	if bytes < 999.5 {
		return trim(fmt.Sprintf("%.0f", bytes)) + " B"
	}
	return strings.Replace(amount(bytes), "k", "K", 1) + "B"
}

// grouped writes a whole number with its thousands apart: "200,000".
func grouped(n int) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// several writes how many there are of something.
func several(n int, noun string) string { return grouped(n) + " " + plural.Noun(n, noun) }

// clock writes a time of the run.
func clock(t time.Duration) string { return fmt.Sprintf("%.3f s", t.Seconds()) }

// ended writes an end, or that there was none.
func ended(t time.Duration) string {
	if t < 0 {
		return "the end"
	}
	return clock(t)
}

// trim takes the zeros off the end of a decimal fraction.
func trim(s string) string {
	if !strings.ContainsRune(s, '.') || strings.ContainsRune(s, 'e') {
		return s
	}
	return strings.TrimRight(strings.TrimRight(s, "0"), ".")
}

// words writes an outcome's name for people.
func words(outcome string) string {
	if outcome == check.None {
		return "no outcome"
	}
	return strings.ReplaceAll(outcome, "_", " ")
}

// meaning explains an outcome.
func meaning(outcome string) string {
	return map[string]string{
		"reply":        "the handler's reply arrived",
		"accepted":     "a member's queue has the message",
		"complete":     "every member answered, or has the message",
		"partial":      "some members did, and the others are named",
		"refused":      "the handler ran and returned an error",
		"no_members":   "the cluster had no member that the caller knew",
		"overloaded":   "every member that was asked had its queue full",
		"unreachable":  "no member could be reached; the handler did not run",
		"interrupted":  "the link broke when the handler may have run; not sent again",
		"deadline":     "the caller's deadline passed",
		"cancelled":    "the caller gave up",
		"unauthorized": "the keys do not fit",
		"too_large":    "the message is over the limit",
		"closed":       "the caller's node was shutting down",
		"wrong_reply":  "the reply belongs to another request: a bug",
		check.None:     "the request never ended: a bug",
	}[outcome]
}
