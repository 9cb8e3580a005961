// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package scenario

import (
	"fmt"
	"strconv"
)

// sends says what a workload sends.
func sends(x *Index, w Work) string {
	what := map[string]string{
		"survey": "surveys/s", "push": "pushes/s", "broadcast": "broadcasts/s", "publish": "publications/s", "tunnel": "tunnels/s",
	}[w.Kind]
	if what == "" {
		what = "requests/s"
	}
	to := w.To
	if w.Topics > 0 {
		to = fmt.Sprintf("%s.1 to .%d", to, w.Topics)
	}
	of := w.Size.String()
	if w.Kind == "tunnel" {
		of = fmt.Sprintf("%d messages of %v", w.Messages, w.Size)
		if w.Every > 0 {
			of += fmt.Sprintf(", one each %v,", w.Every)
		}
	}
	text := fmt.Sprintf("%s %s of %s from %s to %s, deadline %v", rate(w.Rate), what, of, x.people(w.From), to, w.Deadline)
	if w.Idempotent {
		text += ", may be repeated"
	}
	return text
}

// listens says what a subscription is.
func listens(x *Index, s Subscription) string {
	text := fmt.Sprintf("%s on %s", s.Pattern, x.people(s.Nodes))
	if s.Count > 1 {
		text += fmt.Sprintf(", %d times each", s.Count)
	}
	if s.Queue != "" {
		text += ", one of queue " + s.Queue + " gets each message"
	}
	if s.Work > 0 {
		text += fmt.Sprintf(", takes %v for each", s.Work)
	}
	if s.QueueLength > 0 {
		text += fmt.Sprintf(", %d may wait", s.QueueLength)
	}
	if s.Overflow != "" && s.Overflow != Overflows()[0] {
		text += ", full: " + s.Overflow
	}
	if s.NoEcho {
		text += ", without echo"
	}
	if s.Signed {
		text += ", signed"
	}
	if s.Start > 0 {
		text += fmt.Sprintf(", from %v", s.Start)
	}
	if s.Stop > 0 {
		text += fmt.Sprintf(", until %v", s.Stop)
	}
	return text
}

func rate(r float64) string { return strconv.FormatFloat(r, 'f', -1, 64) }
