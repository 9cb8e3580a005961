// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/arke-mesh/arke/sim/check"
	"github.com/arke-mesh/arke/sim/history"
	"github.com/arke-mesh/arke/sim/scenario"
)

// Schema is the number of the JSON format. Fields may be added under the same
// number; none changes its meaning.
const Schema = 1

// Report is a run as `arke sim run --json` prints it. The page needs the
// history, too, so a report that was read back from JSON has no page.
type Report struct {
	Schema    int    `json:"schema"`
	Name      string `json:"name"`
	About     string `json:"about,omitempty"`
	OK        bool   `json:"ok"`              // it came to its end, every assertion holds, nothing was violated
	Error     string `json:"error,omitempty"` // why it did not come to its end
	Started   bool   `json:"started"`         // the network stood and the workload began
	Judged    bool   `json:"judged"`          // there is a verdict
	Level     string `json:"level"`
	Seed      uint64 `json:"seed"`
	Commit    string `json:"commit"`
	GoVersion string `json:"go_version"`
	Host      string `json:"host,omitempty"`
	TraceHash string `json:"trace_hash"` // "" where the level has none
	Replay    string `json:"replay"`     // the command that runs it again

	Events          uint64  `json:"events"`
	EventsPerSecond float64 `json:"events_per_second"` // of real time
	VirtualSeconds  float64 `json:"virtual_seconds"`
	RealSeconds     float64 `json:"real_seconds"`
	VirtualPerReal  float64 `json:"virtual_per_real"`
	MemoryPeakBytes uint64  `json:"memory_peak_bytes"`
	StartSeconds    float64 `json:"start_seconds"`  // when the workload began
	SafetySeconds   float64 `json:"safety_seconds"` // when it ended and everything was healed
	EndSeconds      float64 `json:"end_seconds"`    // when the liveness phase was over

	Nodes      int            `json:"nodes"`       // different names
	Lives      int            `json:"lives"`       // of them: a restart is a further life
	Requests   int            `json:"requests"`    // of all workloads and probes, without those in caller_lost
	CallerLost int            `json:"caller_lost"` // requests whose own caller was stopped or lost meanwhile
	Outcomes   map[string]int `json:"outcomes"`    // how the requests ended; "none" = one did not

	Works   []Work   `json:"works"`   // "all" first, then each workload
	Members []Member `json:"members"` // by cluster and node

	Assertions []check.Result          `json:"assertions"`
	Violations []Violation             `json:"violations"`
	Lost       []Lost                  `json:"lost"`       // the first messages that did not come to what they are for
	LostCount  int                     `json:"lost_count"` // how many there are; metrics count each work, without probes
	Metrics    map[string]check.Metric `json:"metrics"`
	Faults     []Fault                 `json:"faults"`

	Checkpoints []string `json:"checkpoints,omitempty"` // the running hash after each 1,000 events

	scenario scenario.Scenario
	history  *history.History
}

// Violation is a broken promise.
type Violation struct {
	Checker   string  `json:"checker"`
	AtSeconds float64 `json:"at_seconds"`
	Text      string  `json:"text"`
}

// Lost is a message or a tunnel that was lost: check.Lost.
type Lost struct {
	AtSeconds float64 `json:"at_seconds"`
	check.Lost
}

// Fault is something that was done to the network.
type Fault struct {
	AtSeconds    float64  `json:"at_seconds"`
	UntilSeconds *float64 `json:"until_seconds"` // null = it was never undone
	Do           string   `json:"do"`
	Nodes        []string `json:"nodes"`
	Text         string   `json:"text"`
}

// New makes the report of a run. A history or a verdict may be nil if the run
// broke. The report keeps h, which must not be changed any more.
func New(info Info, s scenario.Scenario, h *history.History, v *check.Verdict) *Report {
	if h == nil {
		h = &history.History{}
	}
	judged := v != nil
	if !judged {
		v = &check.Verdict{}
	}
	r := &Report{
		Schema: Schema, Name: cmp.Or(info.Name, s.Name), About: strings.TrimSpace(s.About),
		OK: v.OK && info.Error == "", Error: info.Error, Started: info.Started, Judged: judged, Level: info.Level, Seed: info.Seed, Commit: info.Commit,
		GoVersion: info.GoVersion, Host: info.Host, TraceHash: info.TraceHash, Replay: info.Replay(),
		Events: info.Events, VirtualSeconds: seconds(info.Virtual), RealSeconds: seconds(info.Real), MemoryPeakBytes: info.MemoryPeak,
		StartSeconds: seconds(h.Start), SafetySeconds: seconds(h.Safety), EndSeconds: seconds(h.End),
		Lives: len(h.Nodes), Outcomes: map[string]int{},
		Assertions: slices.Clone(v.Assertions), Metrics: v.Metrics,
		scenario: s, history: h,
	}
	if real := info.Real.Seconds(); real > 0 {
		r.EventsPerSecond = rounded(float64(info.Events)/real, 10)
		r.VirtualPerReal = rounded(info.Virtual.Seconds()/real, 1000)
	}
	r.Nodes = len(names(h))
	r.Works = works(h, check.NewCalm(h, check.LevelRules(info.Level)))
	if len(r.Works) > 0 {
		all := r.Works[0]
		r.Requests, r.CallerLost, r.Outcomes = all.Requests, all.CallerLost, all.Outcomes
	}
	r.Members = members(h)
	for _, x := range v.Violations {
		r.Violations = append(r.Violations, Violation{Checker: x.Checker, AtSeconds: seconds(x.At), Text: x.Text})
	}
	for _, l := range v.Lost {
		r.Lost = append(r.Lost, Lost{seconds(l.At), l})
	}
	r.LostCount = v.LostCount
	r.Faults = faults(h)
	for _, c := range info.Checkpoints {
		r.Checkpoints = append(r.Checkpoints, strconv.FormatUint(c, 16))
	}
	return r.filled()
}

// filled replaces nil slices and maps, which JSON would print as null.
func (r *Report) filled() *Report {
	r.Works, r.Members, r.Faults = some(r.Works), some(r.Members), some(r.Faults)
	r.Assertions, r.Violations, r.Lost = some(r.Assertions), some(r.Violations), some(r.Lost)
	if r.Metrics == nil {
		r.Metrics = map[string]check.Metric{}
	}
	return r
}

// WriteJSON writes the report as one line of JSON.
func (r *Report) WriteJSON(w io.Writer) error {
	return writeJSON(w, r)
}

func writeJSON(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}

func faults(h *history.History) []Fault {
	var all []Fault
	for _, f := range h.Faults {
		one := Fault{AtSeconds: seconds(f.At), Do: f.Do, Nodes: some(slices.Clone(f.Nodes)), Text: f.Text}
		if f.Until >= 0 {
			until := seconds(f.Until)
			one.UntilSeconds = &until
		}
		all = append(all, one)
	}
	return all
}

func some[T any](s []T) []T {
	if s == nil {
		return []T{}
	}
	return s
}

// seconds are d's, to the microsecond.
func seconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1e6 }

// millis are d's, to the microsecond.
func millis(d time.Duration) float64 { return float64(d.Microseconds()) / 1e3 }

// rounded keeps so many parts of one.
func rounded(v, parts float64) float64 { return float64(int64(v*parts+0.5)) / parts }

// Info is what is known about a run besides its history: who ran what, and
// what it took. The zero value of every field means "not known".
type Info struct {
	Name        string        `json:"name"`        // of the scenario
	File        string        `json:"file"`        // it came from; for the command that runs it again
	Level       string        `json:"level"`       // sim, stack or net
	Seed        uint64        `json:"seed"`        // the run's, not the file's
	Commit      string        `json:"commit"`      // of this program
	GoVersion   string        `json:"go_version"`  // that built it
	TraceHash   string        `json:"trace_hash"`  // hexadecimal; "" where the level has none
	Checkpoints []uint64      `json:"checkpoints"` // the running hash after each 1,000 events
	Events      uint64        `json:"events"`      // of the trace
	Virtual     time.Duration `json:"virtual_ns"`  // how long the run took for the nodes
	Real        time.Duration `json:"real_ns"`     // how long it took for us
	MemoryPeak  uint64        `json:"memory_peak"` // bytes of the process that ran it
	Started     bool          `json:"started"`     // the network stood and the workload began
	Error       string        `json:"error"`       // why the run did not come to its end; "" = it did
	Command     string        `json:"command"`     // runs it again; "" = made from the other fields
	Host        string        `json:"host"`        // operating system and architecture, "linux/amd64"
}

// Replay returns the command that runs it again.
func (i Info) Replay() string {
	if i.Command != "" {
		return i.Command
	}
	command := fmt.Sprintf("arke sim run %s --seed %d", cmp.Or(i.File, i.Name), i.Seed)
	if i.Level != "" && i.Level != "sim" {
		command += " --level " + i.Level
	}
	return command
}

// All is the name of the row that sums up every workload.
const All = "all"

// Work is how the requests of one workload came out.
type Work struct {
	Work       string         `json:"work"`
	Requests   int            `json:"requests"`
	CallerLost int            `json:"caller_lost"` // besides Requests
	Outcomes   map[string]int `json:"outcomes"`
	Retried    int            `json:"retried"`       // requests with more than one attempt
	Attempts   int            `json:"attempts_max"`  // the largest number of them
	Latency    Latency        `json:"latency"`       // of replies, the whole run
	Calm       Latency        `json:"latency_calm"`  // of those that no fault was near
	Faulty     Latency        `json:"latency_fault"` // of the others
}

// Latency sums up how long replies took. It is exact: percentiles are real
// values, by nearest rank.
type Latency struct {
	Count  int     `json:"count"`
	P50MS  float64 `json:"p50_ms"`
	P90MS  float64 `json:"p90_ms"`
	P99MS  float64 `json:"p99_ms"`
	P999MS float64 `json:"p999_ms"`
	MaxMS  float64 `json:"max_ms"`
}

// workOf is what was counted of a workload.
func workOf(name string, t *check.Tally) Work {
	return Work{
		Work: name, Requests: t.Requests, CallerLost: t.Excused, Outcomes: t.Outcomes, Retried: t.Retried, Attempts: t.Attempts,
		Latency: latency(slices.Concat(t.Calm, t.Faulty)), Calm: latency(t.Calm), Faulty: latency(t.Faulty),
	}
}

// works returns the row of all requests, then one for each workload, the
// probes of the liveness phase last.
func works(h *history.History, calmly check.Calm) []Work {
	if len(h.Requests) == 0 {
		return nil
	}
	all, each := &check.Tally{}, map[string]*check.Tally{}
	for i := range h.Requests {
		r := &h.Requests[i]
		if each[r.Work] == nil {
			each[r.Work] = &check.Tally{}
		}
		each[r.Work].Add(r, calmly)
		all.Add(r, calmly)
	}
	rows := []Work{workOf(All, all)}
	for name, t := range each {
		rows = append(rows, workOf(name, t))
	}
	slices.SortFunc(rows[1:], func(a, b Work) int {
		return cmp.Or(probes(a.Work)-probes(b.Work), natural(a.Work, b.Work))
	})
	return rows
}

func probes(work string) int {
	if work == "probe" {
		return 1
	}
	return 0
}

// latency sums up durations, which it sorts.
func latency(all []time.Duration) Latency {
	if len(all) == 0 {
		return Latency{}
	}
	slices.Sort(all)
	return Latency{
		Count: len(all),
		P50MS: millis(check.Rank(all, 500)), P90MS: millis(check.Rank(all, 900)), P99MS: millis(check.Rank(all, 990)),
		P999MS: millis(check.Rank(all, 999)), MaxMS: millis(check.Rank(all, 1000)),
	}
}

// natural compares names so that m2 comes before m10.
func natural(a, b string) int {
	wordA, numA := split(a)
	wordB, numB := split(b)
	return cmp.Or(strings.Compare(wordA, wordB), cmp.Compare(len(numA), len(numB)), strings.Compare(numA, numB))
}

// split cuts the digits off the end of a name.
func split(name string) (word, digits string) {
	i := len(name)
	for i > 0 && name[i-1] >= '0' && name[i-1] <= '9' {
		i--
	}
	return name[:i], name[i:]
}
