// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package check

import (
	"time"

	"github.com/arke-mesh/arke/sim/history"
)

// probe is the name of the work that the liveness phase adds.
const probe = "probe"

// answered says whether it came to what it is for: an answer, a queue that has
// it, or somebody who was asked.
func answered(r *history.Request) bool {
	switch r.Outcome {
	case "reply", "refused", "accepted", "complete", "partial":
		return r.Ended >= 0
	}
	return false
}

// succeeded is answered by everybody.
func succeeded(r *history.Request) bool { return answered(r) && r.Outcome != "partial" }

// pending says that a request had no outcome yet when the run ended, rightly.
func (f *facts) pending(r *history.Request) bool {
	return r.Ended < 0 && r.Outcomes == 0 && f.latest(r) >= f.h.End
}

// latest is when a request must have ended.
func (f *facts) latest(r *history.Request) time.Duration {
	late := f.rules.Outcome
	if f.skewed(r.Caller, span{r.Sent, r.Deadline}) {
		late = plus(late, max(0, minus(r.Deadline, r.Sent))/100)
	}
	return plus(r.Deadline, late)
}

// skewed says whether the node's clock may have been wrong in s.
func (f *facts) skewed(node string, s span) bool {
	return f.calm.skew[node].touches(s)
}
