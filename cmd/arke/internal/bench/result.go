// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/arke-mesh/arke/patterns"
)

// Result is what a run found.
type Result struct {
	Sent     int  // requests that began
	Unsent   int  // requests whose turn never came
	Stopped  bool // the run was ended early
	Outcomes [patterns.OutcomeCount]int
	Members  map[string]int // replies of each member
	Elapsed  time.Duration
	Latency  Latency // of replies, from the intended start

	Delivery *Delivery // what came at subscribers; nil = nobody was to get anything
}

// Latency is the summary of a histogram, in microseconds.
type Latency struct {
	P50   int64 `json:"p50"`
	P90   int64 `json:"p90"`
	P99   int64 `json:"p99"`
	P999  int64 `json:"p99.9"`
	P9999 int64 `json:"p99.99"`
	Max   int64 `json:"max"`
}

// Summarize reads the summary off a histogram of microseconds. An empty one
// gives zeros.
func Summarize(h *hdrhistogram.Histogram) Latency {
	return Latency{
		P50:   h.ValueAtQuantile(50),
		P90:   h.ValueAtQuantile(90),
		P99:   h.ValueAtQuantile(99),
		P999:  h.ValueAtQuantile(99.9),
		P9999: h.ValueAtQuantile(99.99),
		Max:   h.Max(),
	}
}

// String returns the summary as one line of a table.
func (l Latency) String() string {
	return fmt.Sprintf("p50 %d  p90 %d  p99 %d  p99.9 %d  p99.99 %d  max %d µs", l.P50, l.P90, l.P99, l.P999, l.P9999, l.Max)
}

// MarshalJSON gives one flat object: sent, ok, unsent, the count of each
// other outcome by its name, percentiles in microseconds, replies per second,
// the share of each member in the replies, and the delivery, if there is one.
func (r Result) MarshalJSON() ([]byte, error) {
	object := struct {
		Sent         int     `json:"sent"`
		OK           int     `json:"ok"`
		Unsent       int     `json:"unsent"`
		RemoteError  int     `json:"remote_error"`
		NoMembers    int     `json:"no_members"`
		Overloaded   int     `json:"overloaded"`
		Unreachable  int     `json:"unreachable"`
		Deadline     int     `json:"deadline"`
		Interrupted  int     `json:"interrupted"`
		Unauthorized int     `json:"unauthorized"`
		TooLarge     int     `json:"too_large"`
		Cancelled    int     `json:"cancelled"`
		Closed       int     `json:"closed"`
		TooMany      int     `json:"too_many"`
		Other        int     `json:"other"`
		Seconds      float64 `json:"seconds"`
		PerSecond    float64 `json:"per_second"`
		Latency
		Members  map[string]float64 `json:"members"`
		Delivery *Delivery          `json:"delivery,omitempty"`
	}{
		r.Sent, r.OK(), r.Unsent,
		r.Outcomes[patterns.OutcomeRemoteError], r.Outcomes[patterns.OutcomeNoMembers], r.Outcomes[patterns.OutcomeOverloaded],
		r.Outcomes[patterns.OutcomeUnreachable], r.Outcomes[patterns.OutcomeDeadline], r.Outcomes[patterns.OutcomeInterrupted],
		r.Outcomes[patterns.OutcomeUnauthorized], r.Outcomes[patterns.OutcomeTooLarge], r.Outcomes[patterns.OutcomeCancelled],
		r.Outcomes[patterns.OutcomeClosed], r.Outcomes[patterns.OutcomeTooMany],
		r.Outcomes[patterns.OutcomeOther] + r.Outcomes[patterns.OutcomeTopic] + r.Outcomes[patterns.OutcomeWouldBlock],
		r.Elapsed.Seconds(), r.PerSecond(), r.Latency, Shares(r.Members, r.OK()), r.Delivery,
	}
	return json.Marshal(object)
}

// OK returns the number of replies.
func (r Result) OK() int { return r.Outcomes[patterns.OutcomeReply] }

// PerSecond returns the rate of replies.
func (r Result) PerSecond() float64 {
	if r.Elapsed <= 0 {
		return 0
	}
	return float64(r.OK()) / r.Elapsed.Seconds()
}

// Shares returns each member's part of so many replies, between 0 and 1.
func Shares(members map[string]int, of int) map[string]float64 {
	shares := make(map[string]float64, len(members))
	for m, n := range members {
		shares[m] = float64(n) / float64(max(of, 1))
	}
	return shares
}

// Commonest returns the most frequent outcome; a reply if there was none.
func (r Result) Commonest() patterns.Outcome {
	best := patterns.OutcomeReply
	for o, n := range r.Outcomes {
		if n > r.Outcomes[best] {
			best = patterns.Outcome(o)
		}
	}
	return best
}

// Write prints the result for people.
func (r Result) Write(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(t, "sent\t%d in %.1f s\n", r.Sent, r.Elapsed.Seconds())
	fmt.Fprintf(t, "succeeded\t%d, %.0f per second\n", r.OK(), r.PerSecond())
	if r.Unsent > 0 {
		why := "the cluster could not keep up"
		if r.Stopped {
			why = "stopped before their turn"
		}
		fmt.Fprintf(t, "unsent\t%d: %s\n", r.Unsent, why)
	}
	for o, n := range r.Outcomes {
		if n > 0 && patterns.Outcome(o) != patterns.OutcomeReply {
			fmt.Fprintf(t, "%s\t%d\n", patterns.Outcome(o), n)
		}
	}
	if r.OK() > 0 {
		fmt.Fprintf(t, "latency\t%s\n", r.Latency)
	}
	for _, m := range slices.Sorted(maps.Keys(r.Members)) {
		fmt.Fprintf(t, "member %s\t%d, %.1f %%\n", m, r.Members[m], 100*float64(r.Members[m])/float64(r.OK()))
	}
	if err := t.Flush(); err != nil || r.Delivery == nil {
		return err
	}
	return r.Delivery.Write(w)
}
