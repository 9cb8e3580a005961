// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package runner

import (
	"slices"

	"github.com/arke-mesh/arke/sim/history"
)

// likeness is what a smaller scenario must share with a failure to count as
// the same one. The name of the checker alone is not enough: "lost == 0" fails
// in any network whose members were left out.
type likeness struct {
	cause     Cause
	sometimes map[string]bool // what the run reached
	bad       map[string]bool // how requests ended that got no answer
}

func likenessOf(c Cause, r Result) likeness {
	l := likeness{cause: c, sometimes: map[string]bool{}}
	if r.Outcome == nil {
		return l
	}
	for _, text := range reached(r.Outcome) {
		l.sometimes[text] = true
	}
	if c.Kind == "assert" {
		l.bad = unanswered(r.Outcome.History)
	}
	return l
}

// fits returns the cause for which a candidate's run fails like the failure,
// if it does.
func (l likeness) fits(r Result) (Cause, bool) {
	cause, ok := r.FailsLike(l.cause)
	if !ok || r.Outcome == nil {
		return cause, ok
	}
	still := 0
	for _, text := range reached(r.Outcome) {
		if l.sometimes[text] {
			still++
		}
	}
	if still < len(l.sometimes) {
		return Cause{}, false
	}
	if len(l.bad) == 0 {
		return cause, true
	}
	for outcome := range unanswered(r.Outcome.History) {
		if l.bad[outcome] {
			return cause, true
		}
	}
	return Cause{}, false
}

// reached lists the "sometimes" assertions that hold.
func reached(o *Findings) []string {
	var texts []string
	if o.Verdict == nil {
		return nil
	}
	for _, a := range o.Verdict.Assertions {
		if a.Kind == "sometimes" && a.OK {
			texts = append(texts, a.Text)
		}
	}
	return texts
}

// unanswered is the set of outcomes that are no answer of a handler.
func unanswered(h *history.History) map[string]bool {
	bad := map[string]bool{}
	good := []string{"reply", "refused", "accepted", "complete"}
	if h == nil {
		return bad
	}
	for _, r := range h.Requests {
		if !r.Lost && r.Work != "probe" && !slices.Contains(good, r.Outcome) {
			bad[r.Outcome] = true
		}
	}
	return bad
}
