// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/arke-mesh/arke/sim/check"
	"github.com/arke-mesh/arke/sim/history"
)

// Outcome names that the report gives.
const (
	reply = "reply"
	none  = "none" // the request never ended
)

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

// tally collects what a Work is made of.
type tally struct {
	work         Work
	calm, faulty []time.Duration
}

func (t *tally) add(r *history.Request, calm bool) {
	if r.Lost {
		t.work.CallerLost++
		return
	}
	t.work.Requests++
	t.work.Outcomes[outcome(r)]++
	if r.Attempts > 1 {
		t.work.Retried++
	}
	t.work.Attempts = max(t.work.Attempts, r.Attempts)
	if !good(outcome(r)) {
		return
	}
	if calm {
		t.calm = append(t.calm, r.Ended-r.Sent)
	} else {
		t.faulty = append(t.faulty, r.Ended-r.Sent)
	}
}

func (t *tally) sum() Work {
	slices.Sort(t.calm)
	slices.Sort(t.faulty)
	all := slices.Concat(t.calm, t.faulty)
	slices.Sort(all)
	t.work.Calm, t.work.Faulty, t.work.Latency = latency(t.calm), latency(t.faulty), latency(all)
	return t.work
}

// works returns the row of all requests, then one for each workload, the
// probes of the liveness phase last.
func works(h *history.History, calmly check.Calm) []Work {
	if len(h.Requests) == 0 {
		return nil
	}
	all := &tally{work: Work{Work: All, Outcomes: map[string]int{}}}
	each := map[string]*tally{}
	for i := range h.Requests {
		r := &h.Requests[i]
		t := each[r.Work]
		if t == nil {
			t = &tally{work: Work{Work: r.Work, Outcomes: map[string]int{}}}
			each[r.Work] = t
		}
		calm := calmly.Between(r.Sent, max(r.Sent, r.Ended))
		t.add(r, calm)
		all.add(r, calm)
	}
	rows := []Work{all.sum()}
	for _, t := range each {
		rows = append(rows, t.sum())
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

// outcome is how a request ended.
func outcome(r *history.Request) string {
	if r.Outcome == "" || r.Ended < 0 {
		return none
	}
	return r.Outcome
}

// good says whether an outcome is what was wanted: a reply, a queue that has
// the message, or everybody.
func good(outcome string) bool {
	return outcome == reply || outcome == "accepted" || outcome == "complete"
}

// latency sums up sorted durations.
func latency(sorted []time.Duration) Latency {
	if len(sorted) == 0 {
		return Latency{}
	}
	return Latency{
		Count: len(sorted),
		P50MS: millis(rank(sorted, 500)), P90MS: millis(rank(sorted, 900)), P99MS: millis(rank(sorted, 990)),
		P999MS: millis(rank(sorted, 999)), MaxMS: millis(sorted[len(sorted)-1]),
	}
}

// rank returns the value that so many of a thousand do not exceed.
func rank[T any](sorted []T, thousandths int) T {
	i := (len(sorted)*thousandths+999)/1000 - 1
	return sorted[max(i, 0)]
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
