// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package scenario

import (
	"cmp"
	"fmt"
	"strconv"
)

// sends says what a workload sends.
func sends(x *Index, w Work) sentence {
	what := cmp.Or(map[string]string{
		"survey": "surveys/s", "push": "pushes/s", "broadcast": "broadcasts/s", "publish": "publications/s", "tunnel": "tunnels/s",
	}[w.Kind], "requests/s")
	to := w.To
	if w.Topics > 0 {
		to = fmt.Sprintf("%s.1 to .%d", to, w.Topics)
	}
	of := sentence(w.Size.String())
	if w.Kind == "tunnel" {
		of = sentence(fmt.Sprintf("%d messages of %v", w.Messages, w.Size))
		of.also(w.Every > 0, ", one each %v,", w.Every)
	}
	text := sentence(fmt.Sprintf("%s %s of %s from %s to %s, deadline %v", rate(w.Rate), what, of, x.people(w.From), to, w.Deadline))
	text.also(w.Idempotent, ", may be repeated")
	text.also(w.Retries > 0, ", up to %d times again by the program", w.Retries)
	return text
}

// listens says what a subscription is.
func listens(x *Index, s Subscription) string {
	text := sentence(fmt.Sprintf("%s on %s", s.Pattern, x.people(s.Nodes)))
	text.also(s.Count > 1, ", %d times each", s.Count)
	text.also(s.Queue != "", ", one of queue %s gets each message", s.Queue)
	text.also(s.Work > 0, ", takes %v for each", s.Work)
	text.also(s.QueueLength > 0, ", %d may wait", s.QueueLength)
	text.also(s.Overflow != "" && s.Overflow != Overflows()[0], ", full: %s", s.Overflow)
	text.also(s.NoEcho, ", without echo")
	text.also(s.Signed, ", signed")
	text.also(s.Start > 0, ", from %v", s.Start)
	text.also(s.Stop > 0, ", until %v", s.Stop)
	return string(text)
}

func rate(r float64) string { return strconv.FormatFloat(r, 'f', -1, 64) }
